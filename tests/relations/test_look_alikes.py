"""Algorithms that look the same and are not: each pair must be told apart."""

from bench import ONE_EDGE, OWN_EDGES, THREE_EDGES, TWO_EDGES, SharedEdgeMomentum, go
import pytest

from helpers import ENGINES, difference
from hiermo import (
    CFL,
    DOMO,
    SCAFFOLD,
    FastSlowMo,
    FedADC,
    FedAvg,
    FedAvgM,
    FedMom,
    FedNAG,
    HierAdMo,
    HierFAVG,
    HierMo,
    Mime,
    MimeLite,
    SlowMo,
)

BOTH = {"gamma": 0.4, "gamma_a": 0.3}

PAIRS = {
    "HierFAVG and FedAvg(tau pi)": (go(HierFAVG, (2, 3), THREE_EDGES), go(FedAvg, (6,))),
    "HierFAVG and FedAvg(tau) seen every pi rounds": (go(HierFAVG, (2, 3), THREE_EDGES), go(FedAvg, (2,), seen=3)),
    **{
        f"HierMo's position and velocity form at {gamma} and {gamma_a}": (
            go(HierMo, (2, 3), THREE_EDGES, gamma=gamma, gamma_a=gamma_a, form="position"),
            go(HierMo, (2, 3), THREE_EDGES, gamma=gamma, gamma_a=gamma_a),
        )
        for gamma, gamma_a in ((0.4, 0.4), (0.1, 0.5), (0.5, 0.1))
    },
    **{
        f"HierMo with one momentum ({gamma}, {gamma_a}) and HierFAVG": (
            go(HierMo, (2, 3), THREE_EDGES, gamma=gamma, gamma_a=gamma_a),
            go(HierFAVG, (2, 3), THREE_EDGES),
        )
        for gamma, gamma_a in ((0, 0.7), (0.7, 0))
    },
    **{
        f"HierMo ({form}) with its edge momentum kept and averaged, pi = 3": (
            go(HierMo, (2, 3), THREE_EDGES, **BOTH, form=form),
            go(SharedEdgeMomentum, (2, 3), THREE_EDGES, **BOTH, form=form),
        )
        for form in ("velocity", "position")
    },
    "HierMo and FastSlowMo(tau pi), three edges": (
        go(HierMo, (2, 3), THREE_EDGES, **BOTH),
        go(FastSlowMo, (6,), **BOTH),
    ),
    "HierMo and FastSlowMo(tau pi), two edges": (go(HierMo, (2, 3), TWO_EDGES, **BOTH), go(FastSlowMo, (6,), **BOTH)),
    "HierMo with one worker per edge and FastSlowMo(tau pi)": (
        go(HierMo, (2, 3), OWN_EDGES, **BOTH),
        go(FastSlowMo, (6,), **BOTH),
    ),
    "HierAdMo by its workers and by its edges": (
        go(HierAdMo, (2, 3), THREE_EDGES),
        go(HierAdMo, (2, 3), THREE_EDGES, agree="edge"),
    ),
    "HierAdMo and HierMo with its cap": (
        go(HierAdMo, (2, 3), THREE_EDGES, cap=0.9),
        go(HierMo, (2, 3), THREE_EDGES, gamma_a=0.9),
    ),
    "SlowMo and FedMom: heavy ball and Nesterov": (go(SlowMo, (4,), beta=0.6), go(FedMom, (4,), beta=0.6)),
    "SlowMo's buffers reset and maintained": (
        go(SlowMo, (4,), base="nag", gamma=0.5, buffer="reset"),
        go(SlowMo, (4,), base="nag", gamma=0.5, buffer="maintain"),
    ),
    "SlowMo's buffers maintained and averaged": (
        go(SlowMo, (4,), base="nag", gamma=0.5, buffer="maintain"),
        go(SlowMo, (4,), base="nag", gamma=0.5, buffer="average"),
    ),
    "SlowMo's bases": (
        go(SlowMo, (4,), base="nag", gamma=0.5, buffer="average"),
        go(SlowMo, (4,), base="hb", gamma=0.5, buffer="average"),
    ),
    "FedAvgM with and without Nesterov": (go(FedAvgM, (4,), nesterov=True), go(FedAvgM, (4,))),
    "FedNAG and FedMom, tau > 1": (go(FedNAG, (4,), gamma=0.6), go(FedMom, (4,), beta=0.6)),
    "Mime and MimeLite": (go(Mime, (4,)), go(MimeLite, (4,))),
    "Mime's ema and hb at the same eta": (go(Mime, (4,), form="ema"), go(Mime, (4,), form="hb")),
    "Mime without momentum and FedAvg": (go(Mime, (4,), beta=0), go(FedAvg, (4,))),
    "DOMO and DOMO-S": (go(DOMO, (4,)), go(DOMO, (4,), variant="intra")),
    "DOMO and FedMom's model": (go(DOMO, (4,), mu_s=0.6, mu_l=0), go(FedMom, (4,), beta=0.6)),
    "FedADC's hb and nesterov": (go(FedADC, (4,)), go(FedADC, (4,), variant="nesterov")),
    "SCAFFOLD's options": (go(SCAFFOLD, (12,), option=1), go(SCAFFOLD, (12,), option=2)),
    "CFL and HierFAVG, three edges": (go(CFL, (2, 3), THREE_EDGES, seen=3), go(HierFAVG, (2, 3), THREE_EDGES)),
    "CFL and HierFAVG, two edges": (go(CFL, (2, 3), TWO_EDGES, seen=2), go(HierFAVG, (2, 3), TWO_EDGES)),
    "CFL's schedules": (
        go(CFL, (2, 3), THREE_EDGES, order="fixed"),
        go(CFL, (2, 3), THREE_EDGES, order="fixed", schedule="sequential"),
    ),
    "HierMo with one edge and HierMo": (go(HierMo, (2, 3), ONE_EDGE, **BOTH), go(HierMo, (2, 3), THREE_EDGES, **BOTH)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("left", "right"), PAIRS.values(), ids=PAIRS)
def test_not_the_same_algorithm(left, right, engine):
    assert difference(left(engine), right(engine)) > 1e-3
