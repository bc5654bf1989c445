"""Every algorithm in every variant, with hyper-parameters away from 0, 1 and one another."""

from typing import Any

import by_hand

from hiermo import (
    CFL,
    DOMO,
    SCAFFOLD,
    DiLoCo,
    FastSlowMo,
    FedAdagrad,
    FedAdam,
    FedADC,
    FedAvg,
    FedAvgM,
    FedMom,
    FedNAG,
    FedProx,
    FedYogi,
    HierAdMo,
    HierFAVG,
    HierMo,
    LocalSGD,
    Mime,
    MimeLite,
    SlowMo,
    Tree,
)

ETA = 0.07

# algorithm -> its transcription, its parameters in each variant
TABLE: dict[Any, tuple[Any, list[dict[str, Any]]]] = {
    HierMo: (
        by_hand.hiermo,
        [{"gamma": 0.4, "gamma_a": 0.3, "form": form} for form in ("velocity", "position")],
    ),
    HierFAVG: (by_hand.hierfavg, [{}]),
    CFL: (
        by_hand.cfl,
        [
            {"order": "fixed", "schedule": schedule, **more}
            for schedule in ("async", "sequential")
            for more in ({}, {"alpha": 0.4}, {"a": 2, "b": 0.7}, {"a": 0})
        ],
    ),
    HierAdMo: (
        by_hand.hieradmo,
        [
            *(
                {"gamma": 0.4, "cap": cap, "agree": agree, "form": form}
                for agree in ("worker", "edge")
                for form, cap in (("velocity", 0.95), ("position", 0.55))
            ),
            {"gamma": 0.4, "fixed": 0.3, "form": "velocity"},
        ],
    ),
    LocalSGD: (by_hand.local_sgd, [{}]),
    FedAvg: (by_hand.fedavg, [{}]),
    FedProx: (by_hand.fedprox, [{"mu": 0.3}]),
    SCAFFOLD: (by_hand.scaffold, [{"eta_g": eta_g, "option": option} for eta_g in (1.0, 0.8) for option in (1, 2)]),
    FedMom: (by_hand.fedmom, [{"beta": 0.6, "eta_s": eta_s} for eta_s in (1.0, 0.8)]),
    SlowMo: (
        by_hand.slowmo,
        [
            {"beta": 0.6, "alpha": 0.8, "base": base, "gamma": 0.4, "buffer": buffer}
            for base in ("sgd", "hb", "nag")
            for buffer in ("reset", "maintain", "average")
        ],
    ),
    FedAvgM: (by_hand.fedavgm, [{"beta": 0.6, "eta_s": 0.8, "nesterov": nesterov} for nesterov in (False, True)]),
    **{
        kind: (
            by_hand.fedopt(name),
            [{"eta_s": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3, "s0": s0} for s0 in (None, 0.02)],
        )
        for kind, name in ((FedAdam, "adam"), (FedYogi, "yogi"), (FedAdagrad, "adagrad"))
    },
    DiLoCo: (
        by_hand.diloco,
        [
            {"outer_lr": 0.7, "outer_momentum": 0.6, "inner": inner, "weight_decay": decay}
            for inner in ("adamw", "sgd")
            for decay in (0.0, 0.2)
        ],
    ),
    FedNAG: (by_hand.fednag, [{"gamma": 0.6}]),
    FastSlowMo: (
        by_hand.fastslowmo,
        [{"gamma": 0.4, "gamma_a": 0.3, "form": form} for form in ("velocity", "position")],
    ),
    Mime: (
        by_hand.mime,
        [{"beta": 0.6, "form": form, "eta_s": 0.8, "lite": lite} for form in ("hb", "ema") for lite in (False, True)],
    ),
    MimeLite: (by_hand.mime, [{"beta": 0.6, "form": form, "eta_s": 1.0, "lite": True} for form in ("hb", "ema")]),
    DOMO: (
        by_hand.domo,
        [
            {"mu_s": 0.6, "mu_l": 0.4, "alpha": 0.8, "beta": beta, "variant": variant}
            for beta in (None, 0.3)
            for variant in ("pre", "intra")
        ],
    ),
    FedADC: (
        by_hand.fedadc,
        [
            {"beta": 0.6, "beta_l": beta_l, "alpha": 0.8, "variant": variant}
            for beta_l in (None, 0.3)
            for variant in ("hb", "nesterov")
        ],
    ),
}

TREES = {
    2: Tree.branching(6),
    3: Tree.from_groups(by_hand.GROUPS),
    4: Tree.from_parents(Tree.from_groups(by_hand.GROUPS).parents[0], (0, 1, 1), (0, 0)),
}
PERIODS = {2: (4,), 3: (2, 2), 4: (2, 2, 2)}


def tiers_of(algorithm: Any) -> int:
    """Three where it may choose, but for the one that is about many levels."""
    return 4 if isinstance(algorithm, LocalSGD) else algorithm.tiers or 3


# (algorithm, transcription, parameters), and the algorithms alone
ROWS = [
    (kind(eta=ETA, **parameters), transcription, {"eta": ETA, **parameters})
    for kind, (transcription, variants) in TABLE.items()
    for parameters in variants
]
VARIANTS = [*(algorithm for algorithm, *_ in ROWS), CFL(eta=ETA)]  # in random order, too
