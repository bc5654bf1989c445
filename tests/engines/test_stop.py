"""`until` ends a run at the first cloud merge where its targets are met."""

import numpy as np
import pytest

from helpers import ENGINES, quadratic
from hiermo import HierMo, Tree, UserError, run

TREE, PROBLEM = Tree.branching(2, 2), quadratic(n=4)


def go(**options):
    return list(run(HierMo(), TREE, PROBLEM, periods=(2, 2), iterations=40, **options))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_ends_the_run_with_the_state_that_meets_it(engine):
    whole = go(engine=engine)
    losses = [PROBLEM.evaluate(state.model)["loss"] for state in whole]
    target = (losses[3] + losses[4]) / 2  # met for the first time in round 5
    assert min(losses[:4]) > target
    stopped = go(engine=engine, until={"loss": target})
    assert [state.rounds for state in stopped] == [1, 2, 3, 4, 5]
    assert np.array_equal(stopped[-1].model, whole[4].model)


def test_a_function_of_the_state_ends_the_run():
    assert [state.t for state in go(until=lambda state: state.t >= 10)] == [4, 8, 12]


def test_it_is_asked_at_cloud_merges_only():
    asked = []
    found = go(until=lambda state: asked.append(state.t) or state.t >= 8, every="iteration")
    assert asked == [4, 8]
    assert [state.t for state in found] == list(range(1, 9))


def test_a_target_that_is_never_met_changes_nothing():
    assert [state.rounds for state in go(until={"loss": -1e9})] == list(range(1, 11))


def test_an_unknown_metric_is_refused():
    with pytest.raises(UserError, match="there is no metric 'accuracy'; this problem has loss"):
        go(until={"accuracy": 0.9})
