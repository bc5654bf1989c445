from by_hand import PROBLEM, X0, P, grad
import numpy as np
import pytest

from helpers import ENGINES, difference
from hiermo import SCAFFOLD, Tree, run

FLAT = Tree.branching(6)


def states(engine, rounds=5, **parameters):
    options = {"periods": (3,), "iterations": 3 * rounds, "engine": engine}
    return list(run(SCAFFOLD(eta=0.05, **parameters), FLAT, PROBLEM, **options))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("eta_g", [1.0, 0.8])
@pytest.mark.parametrize("option", [1, 2])
def test_the_clouds_control_stays_the_mean_of_the_workers(option, eta_g, engine):
    for state in states(engine, option=option, eta_g=eta_g):
        assert difference(np.array(P) @ state.tiers[0].ci, state.tiers[-1].c[0]) < 1e-14
    assert np.ptp(state.tiers[0].ci, axis=0).min() > 1e-2  # each worker has kept its own


@pytest.mark.parametrize("engine", ENGINES)
def test_option_1_is_the_full_gradient_at_the_model_of_the_rounds_start(engine):
    models = [X0, *(state.model for state in states(engine, option=1))]
    for before, state in zip(models, states(engine, option=1), strict=False):
        assert difference(state.tiers[0].ci, [grad(i, before) for i in range(6)]) < 1e-14


@pytest.mark.parametrize("engine", ENGINES)
def test_option_2_is_the_mean_gradient_of_the_round(engine):
    """Of the worker's own, uncorrected gradients; an offset common to all controls would not show in the models."""
    start, c, own = X0, 0 * X0, [0 * X0] * 6
    for state in states(engine):
        for i in range(6):
            x, gradients = start, []
            for _ in range(3):
                gradients.append(grad(i, x))
                x = x - 0.05 * (gradients[-1] - own[i] + c)
            assert difference(state.tiers[0].ci[i], np.mean(gradients, axis=0)) < 1e-12  # models' rounding over eta
        start, c, own = state.model, state.tiers[-1].c[0], state.tiers[0].ci
