"""How HierMo, HierFAVG and FedAvg relate: where they are the same algorithm, and where they only look it."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers import ENGINES, ROUNDING, difference, models, quadratic
from hiermo import FedAvg, HierFAVG, HierMo, Tree, run
from hiermo.algorithms.hiermo import Edge, Worker

ETA = 0.05
THREE_EDGES = Tree.from_groups([[0, 3], [1], [2, 4, 5]])
ONE_EDGE = Tree.branching(1, 6)
OWN_EDGES = Tree.branching(6, 1)
PROBLEM = quadratic(n=6)
SHARES = PROBLEM.sizes / PROBLEM.sizes.sum()

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def go(algorithm, tree, periods, engine, iterations=24):
    return models(run(algorithm, tree, PROBLEM, periods=periods, iterations=iterations, engine=engine))


def fedavg(tau, engine):
    return go(FedAvg(eta=ETA), THREE_EDGES.flatten(), (tau,), engine)


def mean_gradient(x):
    return SHARES @ PROBLEM.full_grad(range(6), np.tile(x, (6, 1)))


@pytest.mark.parametrize("tree", [THREE_EDGES, ONE_EDGE, OWN_EDGES])
def test_hierfavg_with_pi_1_is_fedavg(tree, engine):
    assert difference(go(HierFAVG(eta=ETA), tree, (4, 1), engine), fedavg(4, engine)) < ROUNDING


def test_hierfavg_with_one_edge_is_fedavg_seen_every_pi_rounds(engine):
    assert difference(go(HierFAVG(eta=ETA), ONE_EDGE, (2, 3), engine), fedavg(2, engine)[2::3]) < ROUNDING


def test_hierfavg_with_one_worker_per_edge_is_fedavg_with_tau_times_pi(engine):
    assert difference(go(HierFAVG(eta=ETA), OWN_EDGES, (2, 3), engine), fedavg(6, engine)) < ROUNDING


def test_hierfavg_is_neither_where_edges_have_several_workers(engine):
    three_tiers = go(HierFAVG(eta=ETA), THREE_EDGES, (2, 3), engine)
    assert difference(three_tiers, fedavg(6, engine)) > 1e-3
    assert difference(three_tiers, fedavg(2, engine)[2::3]) > 1e-3


def test_hierfavg_on_more_tiers_with_the_upper_period_1_is_hierfavg(engine):
    four = Tree.from_parents(THREE_EDGES.parents[0], (0, 1, 1), (0, 0))
    found = go(HierFAVG(eta=ETA), four, (2, 3, 1), engine)
    assert difference(found, go(HierFAVG(eta=ETA), THREE_EDGES, (2, 3), engine)) < ROUNDING


def test_fedavg_with_tau_1_is_centralised_gradient_descent(engine):
    x, expected = PROBLEM.x0, []
    for _ in range(24):
        x = x - ETA * mean_gradient(x)
        expected.append(x)
    assert difference(fedavg(1, engine), expected) < ROUNDING


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo_without_momenta_is_hierfavg(form, engine):
    found = go(HierMo(eta=ETA, gamma=0, gamma_a=0, form=form), THREE_EDGES, (2, 3), engine)
    assert difference(found, go(HierFAVG(eta=ETA), THREE_EDGES, (2, 3), engine)) < ROUNDING


def both_forms(gamma, gamma_a, engine):
    momenta = {"eta": ETA, "gamma": gamma, "gamma_a": gamma_a}
    return [go(HierMo(**momenta, form=form), THREE_EDGES, (2, 3), engine) for form in ("velocity", "position")]


@pytest.mark.parametrize(("gamma", "gamma_a"), [(0, 0.7), (0.7, 0)])
def test_both_forms_are_one_where_either_momentum_is_zero(gamma, gamma_a, engine):
    velocity, position = both_forms(gamma, gamma_a, engine)
    assert difference(position, velocity) < ROUNDING
    assert difference(velocity, go(HierFAVG(eta=ETA), THREE_EDGES, (2, 3), engine)) > 1e-3


@pytest.mark.parametrize(("gamma", "gamma_a"), [(0.4, 0.4), (0.1, 0.5), (0.5, 0.1)])
def test_the_forms_differ_where_neither_is_zero(gamma, gamma_a, engine):
    velocity, position = both_forms(gamma, gamma_a, engine)
    assert difference(position, velocity) > 1e-3


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo_without_edge_momentum_merging_always_is_centralised_nesterov(form, engine):
    x = y = PROBLEM.x0
    expected = []
    for _ in range(24):
        before, y = y, x - ETA * mean_gradient(x)
        x = y + 0.7 * (y - before)
        expected.append(x)
    found = go(HierMo(eta=ETA, gamma=0.7, gamma_a=0, form=form), THREE_EDGES, (1, 1), engine)
    assert difference(found, expected) < ROUNDING


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo_with_pi_1_is_hiermo_on_two_tiers(form, engine):
    algorithm = HierMo(eta=ETA, gamma=0.4, gamma_a=0.3, form=form)
    two_tiers = go(algorithm, THREE_EDGES.flatten(), (4,), engine)
    assert difference(go(algorithm, THREE_EDGES, (4, 1), engine), two_tiers) < ROUNDING
    assert difference(go(algorithm, THREE_EDGES, (2, 2), engine), two_tiers) > 1e-3


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo_with_one_edge_is_hiermo_on_two_tiers_seen_every_pi_rounds(form, engine):
    algorithm = HierMo(eta=ETA, gamma=0.4, gamma_a=0.3, form=form)
    two_tiers = go(algorithm, THREE_EDGES.flatten(), (2,), engine)
    assert difference(go(algorithm, ONE_EDGE, (2, 3), engine), two_tiers[2::3]) < ROUNDING


@dataclass(frozen=True, kw_only=True)
class SharedEdgeMomentum(HierMo):
    """HierMo as it is not: the cloud averages the edges' own momentum too."""

    up = down = (Worker, Edge)

    def init(self, x):
        worker, edge, _ = super().init(x)
        return worker, edge, edge


def test_the_edge_momentum_stays_at_the_edge(engine):
    kept, shared = (
        {pi: go(kind(eta=ETA), THREE_EDGES, (2, pi), engine) for pi in (1, 3)} for kind in (HierMo, SharedEdgeMomentum)
    )
    assert difference(kept[1], shared[1]) < ROUNDING  # with pi = 1 only the mean of the edges matters
    assert difference(kept[3], shared[3]) > 1e-3


class Slope:
    """F_i(x) = x for every worker: the gradient is 1 everywhere."""

    sizes = (1, 2, 3, 4, 5, 6)

    def initial(self, seed):
        return np.zeros(1)

    def initial_buffers(self):
        return None

    def grad(self, seed, t, workers, x, buffers=None):
        return np.ones_like(x)

    full_grad = grad


@pytest.mark.parametrize(
    ("algorithm", "step"),
    [
        (FedAvg(eta=ETA), 1),
        (HierFAVG(eta=ETA), 1),
        (HierMo(eta=ETA, gamma=0.3, gamma_a=0.3), 1 / (0.7 * 0.7)),
        (HierMo(eta=ETA, gamma=0.5, gamma_a=0.5), 4),
        (HierMo(eta=ETA, gamma=0.9, gamma_a=0.2), 1 / (0.1 * 0.8)),
        (HierMo(eta=ETA, gamma=0.3, gamma_a=0.3, form="position"), 1 / 0.4),
        (HierMo(eta=ETA, gamma=0.5, gamma_a=0.2, form="position"), 1 / 0.3),
        (HierMo(eta=ETA, gamma=0, gamma_a=0.5, form="position"), 2),
    ],
)
def test_effective_step_on_a_constant_gradient(algorithm, step, engine):
    tree, periods = (THREE_EDGES.flatten(), (10,)) if isinstance(algorithm, FedAvg) else (THREE_EDGES, (5, 2))
    found = run(algorithm, tree, Slope(), periods=periods, iterations=1000, engine=engine)
    *_, (before,), (after,) = models(found)
    # transients fall at least as 0.6^200 (edge rounds); positions of up to 625 round to 1e-13, steps are above 0.5
    assert (before - after) / (10 * ETA) == pytest.approx(step, rel=1e-11)
