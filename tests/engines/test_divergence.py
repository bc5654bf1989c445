"""A number that stops being finite is named: what, which node, which iteration."""

from dataclasses import dataclass
from math import inf, isfinite, nan

import numpy as np
import pytest

from helpers import ENGINES, quadratic
import hiermo
from hiermo.core.vector import where

TREE = hiermo.Tree.from_groups([[0, 1], [2, 3]])


def diverged(algorithm, problem, engine, tree=TREE, periods=(4, 2), **options):
    """The error of a run that must diverge; numpy's own warnings of overflow are expected."""
    with np.errstate(all="ignore"), pytest.raises(hiermo.Diverged) as found:
        list(hiermo.run(algorithm, tree, problem, periods=periods, iterations=80, engine=engine, **options))
    return found.value


def first_not_finite(eta, curvature, tau, pi):
    """(what, worker, t) of the first number that is not finite in HierFAVG on equal data with d = 1, from x = 1."""
    x = [1.0] * 4
    for t in range(1, 81):
        g = [curvature[i] * x[i] for i in range(4)]
        x = [x[i] - eta * g[i] for i in range(4)]
        for i in range(4):
            if not isfinite(x[i]):
                return "the model" if isfinite(g[i]) else "the gradient", i, t
        if t % tau == 0:
            x = [(x[0] + x[1]) / 2] * 2 + [(x[2] + x[3]) / 2] * 2
        if t % (tau * pi) == 0:
            x = [sum(x) / 4] * 4
    raise AssertionError("nothing diverged")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("every", ["cloud", "iteration"])
@pytest.mark.parametrize(("tau", "pi"), [(40, 1), (4, 2), (1, 1), (1, 10)])
@pytest.mark.parametrize("worker", [0, 2, 3])
@pytest.mark.parametrize(("what", "eta", "steep"), [("the gradient", 1.0, 1e30), ("the model", 1e30, 1.0)])
def test_too_large_a_step_names_worker_and_first_iteration(what, eta, steep, worker, tau, pi, every, engine):
    curvature = [steep if i == worker else steep * 1e-30 for i in range(4)]
    expected = first_not_finite(eta, curvature, tau, pi)
    assert expected[:2] == (what, worker)
    problem = hiermo.Quadratic(A=[[[c]] for c in curvature], b=np.zeros((4, 1)), sizes=[1] * 4, x0=[1.0])
    error = diverged(hiermo.HierFAVG(eta=eta), problem, engine, periods=(tau, pi), every=every)
    assert (error.what, error.node, error.t, error.tier) == (*expected, 0)
    assert f"{what} of worker {worker} (tier 0) is not finite at iteration {expected[2]}" in str(error)


class NotANumberAt(hiermo.Quadratic):
    """The gradient of worker 1 at iteration 7 is not a number in its last entry."""

    def grad(self, seed, t, workers, x, buffers=None):
        g = super().grad(seed, t, workers, x)
        if t == 7 and 1 in list(workers):
            g[list(workers).index(1), -1] = nan
        return g


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("periods", [(4, 2), (1, 1), (10, 1)])
def test_a_gradient_that_is_not_a_number_is_named(engine, periods):
    some = quadratic(n=4)
    error = diverged(hiermo.HierMo(), NotANumberAt(some.A, some.b, some.sizes), engine, periods=periods)
    assert (error.what, error.tier, error.node, error.t) == ("the gradient", 0, 1, 7)


@dataclass(frozen=True, kw_only=True)
class Overflowing(hiermo.HierFAVG):
    """An aggregator whose model explodes as soon as it exceeds 2."""

    def explode(self, node, mean):
        return hiermo.Model(where(mean.x > 2, mean.x + inf, mean.x))

    def aggregators(self):
        return (self.explode,)


def pulled_to(*targets):
    """Half of the way to its target in each iteration with eta = 1/2, from 0."""
    n = len(targets)
    return hiermo.Quadratic(A=np.ones((n, 1, 1)), b=[[b] for b in targets], sizes=[1] * n)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_edge_rule_that_overflows_names_the_edge(engine):
    # edge 1 averages targets 1 and 5: 3 (1 - 2^-t) exceeds 2 for the first time at t = 2, and it merges at even t
    error = diverged(Overflowing(eta=0.5), pulled_to(0.0, 1.0, 1.0, 5.0), engine, periods=(2, 2))
    assert (error.what, error.tier, error.node, error.t) == ("the model", 1, 1, 2)
    assert "the model of edge 1 (tier 1)" in str(error)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cloud_rule_that_overflows_names_the_cloud(engine):
    error = diverged(Overflowing(eta=0.5), pulled_to(3.0, 3.0), engine, tree=hiermo.Tree.branching(2), periods=(2,))
    assert (error.tier, error.node, error.t) == (1, 0, 2)
    assert "the model of the cloud (tier 1)" in str(error)


@pytest.mark.parametrize("engine", ENGINES)
def test_large_numbers_that_are_finite_are_no_divergence(engine):
    # two entries of 1e308 sum to infinity, and are finite each
    problem = hiermo.Quadratic(A=np.zeros((4, 2, 2)), b=np.zeros((4, 2)), sizes=[1] * 4, x0=[1e308, 1e308])
    with np.errstate(all="ignore"):
        (state,) = hiermo.run(hiermo.HierFAVG(), TREE, problem, periods=(1, 1), iterations=1, engine=engine)
    assert np.array_equal(state.model, [1e308, 1e308])
