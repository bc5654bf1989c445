"""Where two algorithms are the same one: every relation, numbered, with the reason, on unequal edges and unequal data.

Compared are the cloud models; "seen every pi rounds" compares every pi-th of them.
"""

from itertools import product

from bench import (
    ALIKE,
    ETA,
    EVEN,
    ONE_EDGE,
    OWN_EDGES,
    PROBLEM,
    THREE_EDGES,
    TREES,
    TWO_EDGES,
    SharedEdgeMomentum,
    go,
    gradient_descent,
    heavy_ball,
    moving_average,
    nesterov,
    rebased_buffers,
    unweighted_local_sgd,
)
import pytest

from helpers import ENGINES, ROUNDING, difference
from hiermo import (
    CFL,
    DOMO,
    SCAFFOLD,
    DiLoCo,
    FastSlowMo,
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

FORMS = ({"form": "velocity"}, {"form": "position"})
BOTH = {"gamma": 0.4, "gamma_a": 0.3}  # stable in both forms
PERIODS = ((4, 1), (2, 3), (1, 4))
SHARED_TREES = (THREE_EDGES, TWO_EDGES)
FOUR_TIERS = Tree.from_parents(THREE_EDGES.parents[0], (0, 1, 1), (0, 0))
ROUNDS = ((1,), (2,), (6,))
UNIT = {"beta2": 1, "s0": 1, "epsilon": 0}  # an adaptive cloud whose second moment stays 1

# number, what is the same, why, [(left, right), ...]
TABLE = [
    (
        1,
        "HierFAVG with pi = 1 and any edges is FedAvg",
        "D_l / D times D_i / D_l is D_i / D",
        [(go(HierFAVG, (tau, 1), tree), go(FedAvg, (tau,))) for tree in TREES for tau in (1, 4)],
    ),
    (
        2,
        "HierFAVG with one edge is FedAvg seen every pi rounds",
        "the cloud's step is the identity",
        [(go(HierFAVG, (tau, pi), ONE_EDGE), go(FedAvg, (tau,), seen=pi)) for tau, pi in PERIODS],
    ),
    (
        3,
        "HierFAVG with one worker per edge is FedAvg(tau pi)",
        "the edges' step is the identity",
        [(go(HierFAVG, (tau, pi), OWN_EDGES), go(FedAvg, (tau * pi,))) for tau, pi in PERIODS],
    ),
    (
        4,
        "FedAvg with tau = 1 is gradient descent",
        "all gradients are taken at one point",
        [(go(FedAvg, (1,)), gradient_descent)],
    ),
    (
        5,
        "LocalSGD is HierFAVG, and with equal data the unweighted one",
        "levels with periods tau and tau pi",
        [
            *((go(LocalSGD, periods, tree), go(HierFAVG, periods, tree)) for tree in TREES for periods in PERIODS),
            (go(LocalSGD, (2, 3, 2), FOUR_TIERS), go(HierFAVG, (2, 3, 2), FOUR_TIERS)),
            *(
                (go(kind, periods, THREE_EDGES, problem=EVEN), unweighted_local_sgd(*periods))
                for kind in (LocalSGD, HierFAVG)
                for periods in PERIODS
            ),
        ],
    ),
    (
        6,
        "CFL with one edge is FedAvg seen every pi rounds",
        "alpha = 1 and nothing is stale",
        [
            (go(CFL, (tau, pi), ONE_EDGE, schedule=schedule), go(FedAvg, (tau,), seen=pi))
            for tau, pi in PERIODS
            for schedule in ("async", "sequential")
        ],
    ),
    (
        7,
        "HierMo without momenta is HierFAVG",
        "x_i = y_i, and an edge's model is its mean",
        [
            (go(HierMo, periods, tree, gamma=0, gamma_a=0, **form), go(HierFAVG, periods, tree))
            for tree, periods, form in product(SHARED_TREES, PERIODS, FORMS)
        ],
    ),
    (
        8,
        "HierMo with pi = 1 and any edges is FastSlowMo of its form",
        "only the mean of the edges' momenta enters",
        [
            (go(HierMo, (tau, 1), tree, **BOTH, **form), go(FastSlowMo, (tau,), **BOTH, **form))
            for tree, tau, form in product(TREES, (1, 4), FORMS)
        ],
    ),
    (
        9,
        "HierMo with one edge is FastSlowMo seen every pi rounds",
        "the cloud's step is the identity",
        [
            (go(HierMo, (tau, pi), ONE_EDGE, **BOTH, **form), go(FastSlowMo, (tau,), seen=pi, **BOTH, **form))
            for (tau, pi), form in product(PERIODS, FORMS)
        ],
    ),
    (
        10,
        "HierMo with gamma_a = 0, pi = 1 and any edges is FedNAG",
        "averaging is linear, x = y + gamma v survives it",
        [
            (go(HierMo, (tau, 1), tree, gamma=0.7, gamma_a=0, **form), go(FedNAG, (tau,), gamma=0.7))
            for tree, tau, form in product(TREES, (1, 4), FORMS)
        ],
    ),
    (
        11,
        "HierMo with gamma_a = 0 and one edge is FedNAG seen every pi rounds",
        "the cloud's step is the identity",
        [
            (go(HierMo, (tau, pi), ONE_EDGE, gamma=0.7, gamma_a=0, **form), go(FedNAG, (tau,), seen=pi, gamma=0.7))
            for (tau, pi), form in product(PERIODS, FORMS)
        ],
    ),
    (
        12,
        "HierMo with gamma_a = 0 and one worker per edge is FedNAG(tau pi)",
        "the edges' step is the identity",
        [
            (go(HierMo, (tau, pi), OWN_EDGES, gamma=0.7, gamma_a=0, **form), go(FedNAG, (tau * pi,), gamma=0.7))
            for (tau, pi), form in product(PERIODS, FORMS)
        ],
    ),
    (
        13,
        "HierMo with gamma = 0, pi = 1 and any edges is FedMom",
        "edge momentum alone, and only its mean enters",
        [
            (go(HierMo, (tau, 1), tree, gamma=0, gamma_a=0.7, **form), go(FedMom, (tau,), beta=0.7))
            for tree, tau, form in product(TREES, (1, 4), FORMS)
        ],
    ),
    (
        14,
        "HierMo with gamma_a = 0 and tau = pi = 1 is Nesterov's method",
        "all gradients are taken at one point",
        [(go(HierMo, (1, 1), tree, gamma=0.7, gamma_a=0, **form), nesterov(0.7)) for tree in TREES for form in FORMS],
    ),
    (
        15,
        "HierMo's two forms are one where either momentum is 0",
        "x = y + gamma v survives an edge that does not extrapolate, and means nothing where gamma = 0",
        [
            (
                go(HierMo, periods, tree, gamma=gamma, gamma_a=gamma_a, form="position"),
                go(HierMo, periods, tree, gamma=gamma, gamma_a=gamma_a),
            )
            for tree, periods in product(SHARED_TREES, PERIODS)
            for gamma, gamma_a in ((0, 0.7), (0.7, 0))
        ],
    ),
    (
        16,
        "HierMo's position form is torch's Nesterov with buffers re-based to v = (x - y) / gamma",
        "position and velocity tell the same if x = y + gamma v is restored after every redistribution",
        [
            (go(HierMo, periods, THREE_EDGES, **BOTH, form="position"), rebased_buffers(*periods, **BOTH))
            for periods in PERIODS
        ],
    ),
    (
        17,
        "HierMo with pi = 1 is HierMo whose edges' momenta the cloud averages",
        "with pi = 1 only their mean matters",
        [
            (go(HierMo, (tau, 1), tree, **BOTH, **form), go(SharedEdgeMomentum, (tau, 1), tree, **BOTH, **form))
            for tree, tau, form in product(SHARED_TREES, (1, 4), FORMS)
        ],
    ),
    (
        18,
        "HierAdMo with a fixed edge momentum is HierMo",
        "the cosine is not used",
        [
            (
                go(HierAdMo, periods, tree, gamma=0.4, fixed=0.3, agree=agree, **form),
                go(HierMo, periods, tree, **BOTH, **form),
            )
            for tree, periods, agree, form in product(SHARED_TREES, PERIODS[1:], ("worker", "edge"), FORMS)
        ],
    ),
    (
        19,
        "FastSlowMo with one momentum is FedNAG or FedMom",
        "the other one is what is left",
        [
            *(
                (go(FastSlowMo, rounds, gamma=0.7, gamma_a=0, **form), go(FedNAG, rounds, gamma=0.7))
                for rounds, form in product(ROUNDS, FORMS)
            ),
            *(
                (go(FastSlowMo, rounds, gamma=0, gamma_a=0.7, **form), go(FedMom, rounds, beta=0.7))
                for rounds, form in product(ROUNDS, FORMS)
            ),
        ],
    ),
    (
        20,
        "FedNAG with gamma = 0 is FedAvg, with tau = 1 Nesterov's method",
        "no momentum; all gradients at one point",
        [
            *((go(FedNAG, rounds, gamma=0), go(FedAvg, rounds)) for rounds in ROUNDS),
            (go(FedNAG, (1,), gamma=0.7), nesterov(0.7)),
        ],
    ),
    (
        21,
        "FedMom with beta = 0 is FedAvg, with tau = 1 FedNAG",
        "no momentum; one step is its own mean",
        [
            *((go(FedMom, rounds, beta=0), go(FedAvg, rounds)) for rounds in ROUNDS),
            (go(FedMom, (1,), beta=0.7), go(FedNAG, (1,), gamma=0.7)),
        ],
    ),
    (
        22,
        "SlowMo with beta = 0 is FedAvg",
        "eta cancels",
        [(go(SlowMo, rounds, beta=0), go(FedAvg, rounds)) for rounds in ROUNDS],
    ),
    (
        23,
        "SlowMo with tau = 1 is the heavy ball",
        "a round's step is the mean gradient",
        [(go(SlowMo, (1,), beta=0.7), heavy_ball(0.7))],
    ),
    (
        24,
        "SlowMo is FedAvgM with eta_s = alpha",
        "eta u = m while eta is constant",
        [
            (go(SlowMo, rounds, beta=0.6, alpha=alpha), go(FedAvgM, rounds, beta=0.6, eta_s=alpha))
            for rounds, alpha in product(ROUNDS, (1.0, 0.8, 1.3))
        ],
    ),
    (
        25,
        "SlowMo with beta = 0 around Nesterov with averaged buffers is FedNAG",
        "b = -v / eta",
        [
            (go(SlowMo, rounds, beta=0, base="nag", gamma=0.7, buffer="average"), go(FedNAG, rounds, gamma=0.7))
            for rounds in ROUNDS
        ],
    ),
    (
        26,
        "FedAvgM(nesterov) is FedMom",
        "y - y_old is minus the decaying sum",
        [(go(FedAvgM, rounds, beta=0.6, nesterov=True), go(FedMom, rounds, beta=0.6)) for rounds in ROUNDS],
    ),
    (
        27,
        "DiLoCo with SGD inside is FedMom, and with (1, 0) FedAvg",
        "y - y_old is minus eta_s times the outer momentum",
        [
            *(
                (
                    go(DiLoCo, rounds, inner="sgd", outer_lr=0.7, outer_momentum=0.6),
                    go(FedMom, rounds, eta_s=0.7, beta=0.6),
                )
                for rounds in ROUNDS
            ),
            *((go(DiLoCo, rounds, inner="sgd", outer_lr=1, outer_momentum=0), go(FedAvg, rounds)) for rounds in ROUNDS),
        ],
    ),
    (
        28,
        "FedAdam with beta1 = 0 and a second moment of 1 is FedAvg",
        "it adds the mean step",
        [(go(FedAdam, rounds, beta1=0, eta_s=1, **UNIT), go(FedAvg, rounds)) for rounds in ROUNDS],
    ),
    (
        29,
        "FedAdam with a second moment of 1 is FedAvgM with eta_s (1 - beta1)",
        "a mean is (1 - beta1) times a decaying sum",
        [
            (go(FedAdam, rounds, beta1=0.6, eta_s=0.9, **UNIT), go(FedAvgM, rounds, beta=0.6, eta_s=0.9 * 0.4))
            for rounds in ROUNDS
        ],
    ),
    (
        30,
        "FedYogi with beta2 = 1 is FedAdam with beta2 = 1",
        "neither changes the second moment",
        [
            (go(FedYogi, rounds, beta2=1, s0=s0), go(FedAdam, rounds, beta2=1, s0=s0))
            for rounds, s0 in product(ROUNDS, (None, 0.5))
        ],
    ),
    (
        31,
        "DOMO without momenta is FedAvg",
        "the mean of the gradients times tau is their sum",
        [
            (go(DOMO, rounds, mu_s=0, mu_l=0, variant=variant), go(FedAvg, rounds))
            for rounds, variant in product(ROUNDS, ("pre", "intra"))
        ],
    ),
    (
        32,
        "DOMO with mu_l = 0 and no fusion is SlowMo",
        "u = tau m",
        [
            (go(DOMO, rounds, mu_s=0.6, mu_l=0, beta=0, alpha=alpha), go(SlowMo, rounds, beta=0.6, alpha=alpha))
            for rounds, alpha in product(ROUNDS, (1.0, 0.8))
        ],
    ),
    (
        33,
        "DOMO without fusion is SlowMo around a heavy ball that is reset",
        "u = tau m",
        [
            (
                go(DOMO, rounds, mu_s=0.6, mu_l=0.3, beta=0, alpha=alpha),
                go(SlowMo, rounds, beta=0.6, alpha=alpha, base="hb", gamma=0.3, buffer="reset"),
            )
            for rounds, alpha in product(ROUNDS, (1.0, 0.8))
        ],
    ),
    (
        34,
        "DOMO with mu_l = 0 and beta = mu_s has the y of FedMom as its model",
        "Nesterov's method seen before and after its look-ahead",
        [
            (go(DOMO, rounds, mu_s=0.6, mu_l=0, beta=beta), go(FedMom, rounds, beta=0.6, field="y"))
            for rounds, beta in product(ROUNDS, (0.6, None))
        ],
    ),
    (
        35,
        "DOMO-S without fusion is DOMO without fusion",
        "nothing is left to fuse",
        [
            (
                go(DOMO, rounds, mu_s=0.6, mu_l=0.3, beta=0, variant="intra"),
                go(DOMO, rounds, mu_s=0.6, mu_l=0.3, beta=0),
            )
            for rounds in ROUNDS
        ],
    ),
    (
        36,
        "DOMO-S with mu_l = 0 and beta = mu_s is FedADC",
        "a sum over tau steps is tau times their mean",
        [
            (go(DOMO, rounds, mu_s=0.6, mu_l=0, beta=0.6, variant="intra"), go(FedADC, rounds, beta=0.6, beta_l=0.6))
            for rounds in ROUNDS
        ],
    ),
    (
        37,
        "FedADC without momenta is FedAvg, with beta_l = 0 SlowMo",
        "nothing is embedded in the local steps",
        [
            *(
                (go(FedADC, rounds, beta=0, beta_l=0, variant=variant), go(FedAvg, rounds))
                for rounds, variant in product(ROUNDS, ("hb", "nesterov"))
            ),
            *(
                (
                    go(FedADC, rounds, beta=0.6, beta_l=0, alpha=alpha, variant=variant),
                    go(SlowMo, rounds, beta=0.6, alpha=alpha),
                )
                for rounds, alpha, variant in product(ROUNDS, (1.0, 0.8), ("hb", "nesterov"))
            ),
        ],
    ),
    (
        38,
        "FedADC(hb) with tau = 1 and any beta_l is SlowMo",
        "the gradient is taken before the move",
        [
            (go(FedADC, (1,), beta=0.6, beta_l=beta_l, alpha=alpha), go(SlowMo, (1,), beta=0.6, alpha=alpha))
            for beta_l, alpha in product((None, 0, 0.3, 0.9), (1.0, 0.8))
        ],
    ),
    (
        39,
        "FedADC(nesterov) with tau = 1 is DOMO with mu_l = 0",
        "one step: the fused start is where the gradient is taken",
        [
            (
                go(FedADC, (1,), beta=0.6, beta_l=beta_l, alpha=alpha, variant="nesterov"),
                go(DOMO, (1,), mu_s=0.6, mu_l=0, beta=beta_l, alpha=alpha),
            )
            for beta_l, alpha in product((0.3, 0.6), (1.0, 0.8))
        ],
    ),
    (
        40,
        "MimeLite with beta = 0 is FedAvg",
        "no momentum, no correction",
        [(go(MimeLite, rounds, beta=0, form=form), go(FedAvg, rounds)) for rounds in ROUNDS for form in ("hb", "ema")],
    ),
    (
        41,
        "MimeLite(ema) with tau = 1 is a moving average of gradients, and Mime with tau = 1 is MimeLite",
        "the mean of the full gradients is that of the gradients",
        [
            (go(MimeLite, (1,), beta=0.7, form="ema"), moving_average(0.7)),
            *((go(Mime, (1,), beta=0.7, form=form), go(MimeLite, (1,), beta=0.7, form=form)) for form in ("hb", "ema")),
        ],
    ),
    (
        42,
        "Mime is MimeLite where all workers are alike",
        "the correction is zero",
        [
            (
                go(Mime, rounds, beta=0.7, form=form, problem=ALIKE),
                go(MimeLite, rounds, beta=0.7, form=form, problem=ALIKE),
            )
            for rounds in ROUNDS
            for form in ("hb", "ema")
        ],
    ),
    (
        43,
        "Mime(ema) is Mime(hb) with eta (1 - beta), and MimeLite(hb) with tau = 1 is SlowMo",
        "a mean is (1 - beta) times a decaying sum",
        [
            *(
                (go(kind, rounds, beta=0.7, form="ema"), go(kind, rounds, beta=0.7, eta=ETA * (1 - 0.7)))
                for kind in (Mime, MimeLite)
                for rounds in ROUNDS
            ),
            (go(MimeLite, (1,), beta=0.7), go(SlowMo, (1,), beta=0.7)),
        ],
    ),
    (
        44,
        "SCAFFOLD with tau = 1 is gradient descent, and with workers alike FedAvg",
        "the mean of the controls is the cloud's",
        [
            *((go(SCAFFOLD, (1,), option=option), gradient_descent) for option in (1, 2)),
            *(
                (go(SCAFFOLD, rounds, option=option, problem=ALIKE), go(FedAvg, rounds, problem=ALIKE))
                for rounds in ROUNDS
                for option in (1, 2)
            ),
        ],
    ),
    (
        45,
        "FedProx with mu = 0, or with tau = 1, is FedAvg",
        "the first step is taken where the proximal term is zero",
        [
            *((go(FedProx, rounds, mu=0), go(FedAvg, rounds)) for rounds in ROUNDS),
            *((go(FedProx, (1,), mu=mu), go(FedAvg, (1,))) for mu in (0.01, 1, 10)),
        ],
    ),
]


def test_no_relation_is_missing():
    assert [number for number, *_ in TABLE] == list(range(1, 46))


@pytest.mark.parametrize(
    ("left", "right", "engine"),
    [
        pytest.param(left, right, engine, id=f"{number} {title} ({k}, {engine})")
        for number, title, _, pairs in TABLE
        for k, (left, right) in enumerate(pairs)
        for engine in (ENGINES if k == 0 else ENGINES[:1])  # the slow engine once per relation
    ],
)
def test_the_same_algorithm(left, right, engine):
    found, expected = left(engine), right(engine)
    assert difference(found, expected) < ROUNDING
    assert difference(found[-1], PROBLEM.x0) > 1e-3  # something moved
