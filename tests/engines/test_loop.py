"""The loop under `hiermo.run`: one state after each act of a plan."""

import pytest

from helpers import quadratic
from hiermo import HierMo, Tree
from hiermo.core.plan import Merge, Setting, Spread, Step
from hiermo.engine.loop import Loop, acts, begin
from hiermo.engine.stacked import Stacked

EVENTS = [
    *(Spread(1, 2), Step(1), Step(2), Merge(2, 1)),
    *(Spread(3, 1), Step(3), Step(4), Merge(4, 1), Merge(4, 2)),
]


def test_a_spread_and_the_steps_in_a_row_after_it_are_one_act():
    found = [[event.t for event in act] for act, _ in acts(iter(EVENTS), fine=False)]
    assert found == [[1, 1, 2], [2], [3, 3, 4], [4], [4]]
    assert all(len(act) == 1 for act, _ in acts(iter(EVENTS), fine=True))


def test_steps_of_different_workers_are_not_one_act():
    first, second = (0, 1), (2,)
    events = [Step(1, first), Step(2, first), Step(1, second), Step(2, second)]
    assert [act for act, _ in acts(iter(events), fine=False)] == [events[:2], events[2:]]


def test_a_spread_to_some_workers_is_an_act_of_its_own():
    for events in ([Spread(1, 1, (0,)), Step(1, (0,))], [Spread(1, 1), Step(1, (0,))], [Spread(1, 1, (0,)), Step(1)]):
        assert [act for act, _ in acts(iter(events), fine=False)] == [events[:1], events[1:]]


def test_an_act_closes_its_iteration_unless_a_merge_follows():
    assert [closing for _, closing in acts(iter(EVENTS), fine=False)] == [False, True, False, False, True]


@pytest.mark.parametrize(
    ("fine", "t", "position"),
    [(False, [2, 2, 4, 4, 4], [3, 4, 7, 8, 9]), (True, [0, 1, 2, 2, 2, 3, 4, 4, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9])],
)
def test_t_counts_iterations_done_so_a_spread_does_not_move_it(fine, t, position):
    algorithm, tree, problem, engine = HierMo(), Tree.branching(2, 2), quadratic(n=4), Stacked()
    state = begin(algorithm, tree, problem, engine, Setting(tree, (2, 2), 4))
    assert (state.t, state.position) == (0, 0)
    states = [s for s, _ in Loop(algorithm, tree, problem, engine, seed=0).states(state, iter(EVENTS), fine=fine)]
    assert [s.t for s in states] == t
    assert [s.position for s in states] == position
    assert [s.event for s in states][-1] == Merge(4, 2)
