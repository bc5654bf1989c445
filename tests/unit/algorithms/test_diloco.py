from by_hand import PROBLEM, grad
import numpy as np
import pytest

from helpers import ENGINES, difference
from hiermo import DiLoCo, Tree, run

TAU, ROUNDS = 3, 3
FLAT = Tree.branching(6)

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def states(engine, **parameters):
    algorithm = DiLoCo(eta=0.05, **parameters)
    options = {"periods": (TAU,), "iterations": TAU * ROUNDS, "every": "iteration", "engine": engine}
    return list(run(algorithm, FLAT, PROBLEM, **options))


def test_the_inner_state_is_neither_reset_nor_averaged(engine):
    """Both moments go on over the merges from each worker's own, with its own gradient at the model it got."""
    x, m, s = [PROBLEM.x0] * 6, np.zeros((6, 3)), np.zeros((6, 3))
    for state in states(engine):
        g = np.array([grad(i, x[i]) for i in range(6)])
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g**2
        assert difference(state.tiers[0].m, m) < 1e-14
        assert difference(state.tiers[0].s, s) < 1e-14
        assert state.tiers[0].k.tolist() == [[state.t]] * 6
        merged = state.t % TAU == 0
        x = [state.model] * 6 if merged else list(state.tiers[0].x)
    assert min(np.ptp(m, axis=0)) > 1e-2  # and they do differ


def test_only_the_model_travels(engine):
    assert states(engine)[0].down._fields == DiLoCo.up._fields == ("x",)


def test_weight_decay_is_apart_from_the_gradient(engine):
    """AdamW's first step has length eta whatever the gradient; the decay comes on top of it."""
    plain, decayed = (states(engine, weight_decay=decay)[0].tiers[0].x for decay in (0.0, 0.2))
    assert difference(decayed, plain - 0.05 * 0.2 * PROBLEM.x0) < 1e-14
