"""The distance an algorithm covers per iteration on a constant gradient, in units of eta: its effective step."""

from bench import ETA, FLAT, THREE_EDGES, TWO_EDGES, Slope, last
import pytest

from helpers import ENGINES
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
    HierAdMo,
    HierFAVG,
    HierMo,
    LocalSGD,
    Mime,
    MimeLite,
    SlowMo,
)

ROUNDS = 200
TAU = 4


def domo(mu_s, mu_l, tau=TAU):
    local = sum((1 - mu_l**q) / (1 - mu_l) for q in range(1, tau + 1)) / tau
    return local / (1 - mu_s)


def prox(mu):
    return (1 - (1 - ETA * mu) ** TAU) / (ETA * mu * TAU)


def cfl(n_edges, alpha):
    """Every arrival undoes, by alpha, a part of what the other edges did since the pull."""
    return n_edges * alpha / (1 + (n_edges - 1) * alpha)


TWO_TIERS = [
    (FedAvg(eta=ETA), 1),
    (SCAFFOLD(eta=ETA), 1),
    (SCAFFOLD(eta=ETA, option=1), 1),
    (Mime(eta=ETA, form="ema"), 1),
    (MimeLite(eta=ETA, form="ema"), 1),
    (Mime(eta=ETA, beta=0.6), 1 / 0.4),
    (MimeLite(eta=ETA, beta=0.6), 1 / 0.4),
    (FedNAG(eta=ETA, gamma=0.6), 1 / 0.4),
    (FedMom(eta=ETA, beta=0.6), 1 / 0.4),
    (FedMom(eta=ETA, beta=0.6, eta_s=0.8), 0.8 / 0.4),
    (FedAvgM(eta=ETA, beta=0.6), 1 / 0.4),  # a sum: with a factor (1 - beta) it would be 1
    (FedAvgM(eta=ETA, beta=0.6, nesterov=True), 1 / 0.4),
    (SlowMo(eta=ETA, beta=0.6), 1 / 0.4),
    (SlowMo(eta=ETA, beta=0.6, alpha=0.8), 0.8 / 0.4),
    (SlowMo(eta=ETA, beta=0.6, base="nag", gamma=0.5, buffer="maintain"), 1 / (0.4 * 0.5)),
    (FedADC(eta=ETA, beta=0.6), 1 / 0.4),
    (FedADC(eta=ETA, beta=0.6, beta_l=0.2, variant="nesterov"), 1 / 0.4),
    (DOMO(eta=ETA), domo(0.5, 0.5)),
    (DOMO(eta=ETA, mu_s=0.6, mu_l=0.3), domo(0.6, 0.3)),
    (DOMO(eta=ETA, mu_s=0.6, mu_l=0.3, variant="intra"), domo(0.6, 0.3)),
    (DiLoCo(eta=ETA, inner="sgd", outer_momentum=0.8), 0.7 / 0.2),
    (DiLoCo(eta=ETA, outer_momentum=0.8), 0.7 / 0.2 / (1 + 1e-8)),  # AdamW divides by the gradient, 1, plus epsilon
    (FedProx(eta=ETA, mu=1), prox(1)),
    (FedProx(eta=ETA, mu=0.01), prox(0.01)),
    (FastSlowMo(eta=ETA, gamma=0.3, gamma_a=0.4), 1 / (0.7 * 0.6)),
    (FastSlowMo(eta=ETA, gamma=0.3, gamma_a=0.4, form="position"), 1 / 0.3),
    # both moments of a constant step are itself: eta_s / (1 + epsilon / step) per round
    (FedAdam(eta=ETA, beta1=0.6, beta2=0.6), 0.1 / (1 + 1e-3 / (TAU * ETA)) / (TAU * ETA)),
]

THREE_TIERS = [
    (HierFAVG(eta=ETA), 1),
    (LocalSGD(eta=ETA), 1),
    (HierMo(eta=ETA, gamma=0.3, gamma_a=0.3), 1 / (0.7 * 0.7)),
    (HierMo(eta=ETA, gamma=0.5, gamma_a=0.5), 4),
    (HierMo(eta=ETA, gamma=0.9, gamma_a=0.2), 1 / (0.1 * 0.8)),
    (HierMo(eta=ETA, gamma=0.3, gamma_a=0.3, form="position"), 1 / 0.4),
    (HierMo(eta=ETA, gamma=0.5, gamma_a=0.2, form="position"), 1 / 0.3),
    (HierMo(eta=ETA, gamma=0, gamma_a=0.5, form="position"), 2),
    (HierAdMo(eta=ETA, gamma=0.3, fixed=0.4), 1 / (0.7 * 0.6)),
    # gradients and velocities agree fully, so the cap is the edge momentum
    (HierAdMo(eta=ETA, gamma=0.3, cap=0.6), 1 / (0.7 * 0.4)),
    (HierAdMo(eta=ETA, gamma=0.3, cap=0.6, agree="edge"), 1 / (0.7 * 0.4)),
    (HierAdMo(eta=ETA, gamma=0.3, cap=0.4, form="position"), 1 / 0.3),
]

# (algorithm, tree, step); an edge is as stale as there are edges once all have come by
CFL_STEPS = [
    (CFL(eta=ETA, order="fixed"), TWO_EDGES, cfl(2, 1 - 1 / 6)),
    (CFL(eta=ETA, order="fixed"), THREE_EDGES, cfl(3, 1 - 2 / 6)),
    (CFL(eta=ETA, order="fixed", alpha=0.75), TWO_EDGES, 0.75 * 2 / 1.75),
    (CFL(eta=ETA, order="fixed", a=2), THREE_EDGES, cfl(3, (1 - 2 / 6) / 3)),
    (CFL(eta=ETA, order="fixed", a=2, b=0.5), THREE_EDGES, cfl(3, (1 - 2 / 6) / 3**0.5)),
    (CFL(eta=ETA, order="fixed", a=2, b=0), THREE_EDGES, cfl(3, 1 - 2 / 6)),
    (CFL(eta=ETA, order="fixed", schedule="sequential"), THREE_EDGES, 3 * (1 - 2 / 6)),
    (CFL(eta=ETA, order="fixed", schedule="sequential", a=0, b=2), THREE_EDGES, 3 * (1 - 2 / 6)),  # never stale
]

CASES = [(algorithm, FLAT, (TAU,), step) for algorithm, step in TWO_TIERS] + [
    (algorithm, THREE_EDGES, (TAU // 2, 2), step) for algorithm, step in THREE_TIERS
]


@pytest.mark.parametrize(("algorithm", "tree", "periods", "step"), CASES, ids=[repr(case[0]) for case in CASES])
def test_effective_step(algorithm, tree, periods, step):
    before, after = last(algorithm, tree, Slope(), periods, ROUNDS)[-2:, 0]
    # transients fall at least as 0.8^200 = 4e-20; positions of up to 500 round to 6e-14, the distances are above 0.09
    assert (before - after) / (TAU * ETA) == pytest.approx(step, rel=1e-11)


@pytest.mark.parametrize(("algorithm", "tree", "step"), CFL_STEPS, ids=[f"{a!r} on {tree}" for a, tree, _ in CFL_STEPS])
def test_effective_step_of_cfl(algorithm, tree, step):
    models = last(algorithm, tree, Slope(), (TAU, 1), 80)[
        :: -tree.counts[1], 0
    ]  # once per sweep of the edges, backwards
    # a sweep shrinks a transient to at most 0.7 of it: 0.7^80 = 4e-13
    assert (models[1] - models[0]) / (TAU * ETA) == pytest.approx(step, rel=1e-11)


def test_diloco_as_published():
    before, after = last(DiLoCo(eta=ETA, inner="sgd"), FLAT, Slope(), (TAU,), ROUNDS)[-2:, 0]
    assert (before - after) / (TAU * ETA) == pytest.approx(7, rel=1e-8)  # the transient is 0.9^201 = 6e-10


def test_domo_as_in_the_comparison():
    before, after = last(DOMO(eta=ETA), FLAT, Slope(), (20,), 60)[-2:, 0]
    assert (before - after) / (20 * ETA) == pytest.approx(domo(0.5, 0.5, tau=20), rel=1e-11)  # 0.5^60 = 9e-19
    assert domo(0.5, 0.5, tau=20) == pytest.approx(3.8, abs=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("gamma", "gamma_a"), [(0.5, 0.5), (0.2, 0.8)])
def test_the_position_form_gathers_speed_without_end_from_momenta_that_sum_to_one(gamma, gamma_a, engine):
    algorithm = FastSlowMo(eta=ETA, gamma=gamma, gamma_a=gamma_a, form="position")
    with pytest.warns(UserWarning, match="unstable"):
        x = last(algorithm, FLAT, Slope(), (4,), 60, engine)[:, 0]
    steps = x[:-1] - x[1:]
    assert steps[-1] - steps[-2] == pytest.approx(steps[-2] - steps[-3])  # a constant gain in every round
    assert steps[-1] > 1.4 * steps[len(steps) // 2]
