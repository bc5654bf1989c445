"""Momentum at the cloud: what the first rounds must be, after mistakes seen elsewhere."""

from by_hand import PROBLEM, X0, N, mean, sgd
import pytest

from helpers import ENGINES, difference, models
from hiermo import DOMO, DiLoCo, FedADC, FedAvgM, FedMom, SlowMo, Tree, run

ETA, TAU, BETA = 0.05, 4, 0.6
FLAT = Tree.branching(6)

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def go(algorithm, rounds, engine):
    return models(run(algorithm, FLAT, PROBLEM, periods=(TAU,), iterations=TAU * rounds, engine=engine))


def delta(x):
    """What a round of plain averaging takes off x."""
    return x - mean([sgd(i, x, TAU, ETA) for i in N])


@pytest.mark.parametrize(
    "algorithm",
    [
        FedAvgM(eta=ETA, beta=BETA),
        SlowMo(eta=ETA, beta=BETA),
        FedADC(eta=ETA, beta=BETA),
        FedADC(eta=ETA, beta=BETA, variant="nesterov"),
        DOMO(eta=ETA, mu_s=BETA, mu_l=0),
        DOMO(eta=ETA, mu_s=BETA, mu_l=0, variant="intra"),
    ],
    ids=repr,
)
def test_the_first_round_is_that_of_plain_averaging(algorithm, engine):
    """It neither waits for a second one nor is scaled by 1 - beta."""
    (x,) = go(algorithm, 1, engine)
    assert difference(X0 - x, delta(X0)) < 1e-13
    assert difference(x, X0) > 0.1


@pytest.mark.parametrize(
    ("algorithm", "scale"),
    [
        (FedMom(eta=ETA, beta=BETA), 1 + BETA),
        (FedAvgM(eta=ETA, beta=BETA, nesterov=True), 1 + BETA),
        (DiLoCo(eta=ETA, inner="sgd", outer_lr=0.7, outer_momentum=BETA), 0.7 * (1 + BETA)),
    ],
    ids=repr,
)
def test_nesterov_looks_ahead_in_the_first_round_already(algorithm, scale, engine):
    (x,) = go(algorithm, 1, engine)
    assert difference(X0 - x, scale * delta(X0)) < 1e-13


def test_the_momentum_of_fedavgm_is_a_sum_without_1_minus_beta(engine):
    first, second, third = go(FedAvgM(eta=ETA, beta=BETA, eta_s=0.8), 3, engine)
    momentum = delta(X0)
    assert difference(X0 - first, 0.8 * momentum) < 1e-13
    momentum = BETA * momentum + delta(first)
    assert difference(first - second, 0.8 * momentum) < 1e-13
    momentum = BETA * momentum + delta(second)
    assert difference(second - third, 0.8 * momentum) < 1e-13
