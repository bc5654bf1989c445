"""The corrected bounds hold where everything is measured, and are met on linear losses; there the printed ones fail."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from simulation_by_hand import random_quadratics, simulate

from hiermo.core.errors import UserError
from hiermo.theory.bounds import j, s, theorem_5
from hiermo.theory.constants import Constants
from hiermo.theory.corrected import cloud_gap, edge_gap, edge_gap_limit, f_corrected, total_gap
from hiermo.theory.drift import h

PAIRS = [[0, 1], [2, 3]]
LINEAR = np.zeros((4, 2, 2)), np.tile([1.0, -2.0], (4, 1))
TREES = [  # edges, periods, regions
    (PAIRS, (3, 2), None),
    ([[0], [1, 2], [3, 4]], (4, 3), None),
    ([[0, 1], [2], [3]], (2, 2, 2), [[0, 1], [2]]),
    ([[0, 1, 2]], (5,), None),
]
GOOD = Constants(
    eta=0.01, gamma=0.5, gamma_a=0.5, rho=2.0, beta=3.0, mu=0.9, omega=0.1, sigma=0.8,
    delta_edges=(0.2, 0.6), shares=(0.25, 0.75), divergences=(0.35, 0.15),
)  # fmt: skip
SLACK = 1 + 1e-9


def right_of_theorem_3(tau, pi, c):
    motion = {"eta": c.eta, "beta": c.beta, "gamma": c.gamma}
    return h(tau * pi, c.delta, **motion) + pi * (h(tau, c.delta, **motion) + s(tau, c))


@pytest.mark.parametrize("gamma_a", [0.3, 0.5, 0.9])
def test_the_printed_theorem_2_is_short_by_the_geometric_sum(gamma_a):
    measured, c, _, _ = simulate(*LINEAR, PAIRS, (4, 2), 70, eta=0.01, gamma=0.5, gamma_a=gamma_a)
    assert measured.gaps[-1] / s(4, c) == pytest.approx(1 / (1 - gamma_a), rel=1e-5)
    assert measured.gaps[-1] == pytest.approx(edge_gap(140, 4, 2, c), rel=1e-5)


@pytest.mark.parametrize(("pi", "theorem_3", "total"), [(2, 1.0, 4 / 3), (3, 4 / 3, 1.5), (5, 1.6, 5 / 3)])
def test_the_printed_theorem_3_and_j_are_short_too(pi, theorem_3, total):
    """On a linear loss (pi-1) / (pi (1-gamma_a)), and pi / ((pi+1) (1-gamma_a)) with the last extrapolation."""
    measured, c, _, _ = simulate(*LINEAR, PAIRS, (4, pi), 30, eta=0.01, gamma=0.5, gamma_a=0.5)
    assert measured.rounds[-1] / right_of_theorem_3(4, pi, c) == pytest.approx(theorem_3, rel=1e-6)
    assert measured.totals[-1] / j((4, pi), c) == pytest.approx(total, rel=1e-6)
    none = {"jump": 0.0, "worker_to_cloud": 0.0}
    assert measured.rounds[-1] == pytest.approx(cloud_gap((4, pi), c, edge_to_cloud=0.0, **none), rel=1e-6)
    assert measured.totals[-1] == pytest.approx(total_gap((4, pi), c, **none), rel=1e-6)


def test_the_printed_delta_does_not_see_what_edges_differ():
    Q, c = random_quadratics(1, 2, 3)
    measured, constants, workers, edges = simulate(
        Q[[0, 0, 1, 1]], c[[0, 0, 1, 1]], PAIRS, (3, 2), 3, eta=0.05, gamma=0.5, gamma_a=0.0
    )
    assert constants.delta == pytest.approx(0, abs=1e-12)
    assert max(measured.rounds) > 1000 * right_of_theorem_3(3, 2, constants)
    assert max(measured.rounds) <= cloud_gap((3, 2), constants, jump=0.0, worker_to_cloud=workers, edge_to_cloud=edges)


def test_jumps_of_unlike_edges_count():
    Q, c = LINEAR[0], np.array([[1.0, 0.0]] * 2 + [[-1.0, 0.0]] * 2)
    measured, constants, _, _ = simulate(Q, c, PAIRS, (2, 10), 6, eta=0.01, gamma=0.5, gamma_a=0.5)
    assert max(measured.gaps) > edge_gap_limit(2, 10, constants)
    for k, gap in enumerate(measured.gaps, 1):
        assert gap <= edge_gap(k, 2, 10, constants, max(measured.jumps)) * SLACK


@pytest.mark.parametrize("gammas", [(0.5, 0.5), (0.9, 0.3), (0.2, 0.8)])
@pytest.mark.parametrize(("edges", "periods", "regions"), TREES)
def test_they_hold_on_quadratics(edges, periods, regions, gammas):
    for seed in range(4):
        n = sum(map(len, edges))
        shares = np.random.default_rng(seed).dirichlet(np.full(n, 5.0))
        measured, c, workers, to_cloud = simulate(
            *random_quadratics(seed, n, 3), edges, periods, 4,
            eta=0.02, gamma=gammas[0], gamma_a=gammas[1], shares=shares, regions=regions,
        )  # fmt: skip
        jump, pi = max(measured.jumps), periods[1] if len(periods) > 1 else 1
        for k, gap in enumerate(measured.gaps, 1):
            assert gap <= edge_gap(k, periods[0], pi, c, jump) * SLACK
        asked = {"jump": jump, "worker_to_cloud": workers}
        assert max(measured.rounds) <= cloud_gap(periods, c, edge_to_cloud=to_cloud, **asked) * SLACK + 1e-12
        assert max(measured.totals) <= total_gap(periods, c, **asked) * SLACK


def test_the_loss_is_bounded_where_alpha_allows():
    """Quadratics are convex, so sigma = 1 is right."""
    bounded = 0
    for seed in range(12):
        measured, c, workers, _ = simulate(
            *random_quadratics(seed, 4, 3, spread=0.3), PAIRS, (3, 2), 4, eta=0.02, gamma=0.5, gamma_a=0.5
        )
        if c.alpha > 0:
            bound = f_corrected(24, (3, 2), c, jump=max(measured.jumps), worker_to_cloud=workers)
            assert min(measured.losses) <= bound
            bounded += 1
    assert bounded >= 6


def test_edge_gap_without_jumps_is_the_geometric_sum():
    for k in range(1, 6):
        assert edge_gap(k, 7, 2, GOOD) == pytest.approx(s(7, GOOD) * (1 - 0.5**k) / (1 - 0.5))
    assert edge_gap_limit(7, 2, GOOD) == pytest.approx(2 * s(7, GOOD))


@pytest.mark.parametrize("pi", [1, 2, 5])
def test_edge_gap_comes_to_its_limit_after_jumps(pi):
    gaps = [edge_gap(k, 7, pi, GOOD, jump=3.0) for k in range(1, 50 * pi + 2)]
    assert max(gaps) == pytest.approx(edge_gap_limit(7, pi, GOOD, jump=3.0))
    assert gaps.index(max(gaps)) % pi == 0
    assert max(gaps) <= edge_gap_limit(7, pi, GOOD, jump=3.0) * SLACK


def test_without_edge_momentum_it_is_the_drift_of_all():
    """One long walk: h with what workers differ from the cloud."""
    calm = replace(GOOD, gamma_a=0.0)
    drift = h(12, 0.7, eta=0.01, beta=3.0, gamma=0.5)
    for periods in [(12,), (4, 3), (2, 3, 2)]:
        assert total_gap(periods, calm, jump=0.0, worker_to_cloud=0.7) == pytest.approx(drift, rel=1e-12)
    assert cloud_gap((12, 1), calm, jump=0.0, worker_to_cloud=9.0, edge_to_cloud=0.7) == pytest.approx(drift, rel=1e-12)


def test_divergences_stand_in_for_what_was_not_measured():
    assert total_gap((5, 2), GOOD, jump=0.1) == total_gap((5, 2), GOOD, jump=0.1, worker_to_cloud=GOOD.delta + 0.35)
    given = {"worker_to_cloud": GOOD.delta + 0.35 + 0.15, "edge_to_cloud": 0.35 + 0.15}
    assert cloud_gap((5, 2, 2), GOOD, jump=0.1) == pytest.approx(cloud_gap((5, 2, 2), GOOD, jump=0.1, **given))


def test_on_two_tiers_edge_and_cloud_are_one():
    assert cloud_gap((5,), GOOD, jump=0.0) == 0
    wanted = h(5, GOOD.delta, eta=0.01, beta=3.0, gamma=0.5) + edge_gap_limit(5, 1, GOOD)
    assert total_gap((5,), GOOD, jump=9.0) == pytest.approx(wanted)


def test_theorem_5_with_the_corrected_gap():
    gap = total_gap((5, 2), GOOD, jump=0.1)
    assert f_corrected(1000, (5, 2), GOOD, jump=0.1) == theorem_5(1000, gap, (5, 2), GOOD)


def test_overflow_is_infinity():
    wild = replace(GOOD, beta=60.0)
    assert total_gap((10_000, 2), wild, jump=0.0) == f_corrected(1000, (10_000, 2), wild, jump=0.0) == inf
    assert cloud_gap((10_000, 2), wild, jump=0.0) == inf


def test_refusals():
    with pytest.raises(UserError, match="jump must be finite and at least 0, not -1"):
        edge_gap(3, 5, 2, GOOD, jump=-1.0)
    with pytest.raises(UserError, match=r"whole numbers of at least 1, not 5, 1\.5"):
        total_gap((5, 1.5), GOOD, jump=0.0)
    with pytest.raises(UserError, match="not none"):
        total_gap((), GOOD, jump=0.0)
    with pytest.raises(UserError, match="2 periods need 1 measured divergences, not 0"):
        total_gap((5, 2), replace(GOOD, divergences=()), jump=0.0)
    with pytest.raises(UserError, match="worker_to_cloud must be finite"):
        total_gap((5, 2), GOOD, jump=0.0, worker_to_cloud=inf)
    with pytest.raises(UserError, match="alpha must be above 0"):
        f_corrected(1000, (5, 2), replace(GOOD, mu=4.0), jump=0.0)
