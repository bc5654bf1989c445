"""The paper's verification of HierOPT, reduced: chosen periods against a grid, for the same simulated time.

The paper reports gaps of 0.04 to 0.29 points to the best of its grids. Here: logistic regression on the embedded
digits, 3 classes per worker, 16 workers under 4 edges; training accuracy on all 4000 samples, so a sample is 0.025
points. The pilot is paid out of the budget. When this was written, the gaps were below 0, and 3 to 5 points with the
printed bound.
"""

from dataclasses import replace
import os

import pytest

from hiermo.clock.delays import Delays
from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.tuning.grid import reached_at
from hiermo.tuning.tune import tune

GRID = [(tau, pi) for tau in (1, 5, 20, 60, 160) for pi in (1, 2, 6)]
COMPUTE_HEAVY = Delays.of_table({"theta_w": 0.1, "phi_w2e": 0.2, "phi_e2c": 0.5})
CLOUD_HEAVY = Delays.of_table({"theta_w": 0.05, "phi_w2e": 0.2, "phi_e2c": 2.0})
THREE_CLASSES = 'data.partition={kind="classes", per_worker=3}'


def points_below_the_best(settings, delays, budget_s, grid):
    """Of the calibrated choice, and of the printed bound's."""
    recipe = replace(recipe_file.load("paper/hieropt-logistic", settings), delays=delays)
    problem, part = problem_of(recipe), recipe.algorithms[0]
    ours = tune(recipe, part, problem, budget_s)
    printed = tune(recipe, part, problem, budget_s, method="printed", pilots=[ours.pilot])
    assert ours.pilot_share <= 0.05
    reached = reached_at(ours.clocked, problem, grid, budget_s)
    best = max(each["train_accuracy"] for each in reached.values())
    own = [reached_at(ours.clocked, problem, [each.periods], each.times.budget_s) for each in (ours, printed)]
    return [100 * (best - each["train_accuracy"]) for found in own for each in found.values()]


@pytest.mark.parametrize("delays, budget_s", [(COMPUTE_HEAVY, 60.0), (CLOUD_HEAVY, 100.0)], ids=["compute", "cloud"])
def test_the_choice_is_as_good_as_the_best_of_a_grid(delays, budget_s):
    ours, printed = points_below_the_best(
        ["data.source=mnist-5k", THREE_CLASSES, "evaluate.train=true"], delays, budget_s, GRID
    )
    assert ours <= 0.3
    assert printed > 2  # periods that are far too short; docs/reproduction/hieropt.md


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set")
def test_and_on_the_full_mnist():
    settings = [THREE_CLASSES]
    ours, printed = points_below_the_best(settings, CLOUD_HEAVY, 77.0, [(10, 4), (20, 2), (20, 6), (28, 4), (40, 2)])
    assert ours <= 0.3
    assert printed > 2
