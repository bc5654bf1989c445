from math import prod

from hypothesis import given
from hypothesis import strategies as st
import pytest

from hiermo import Tree
from hiermo.core.plan import Merge, Setting, Spread, Step, Survey, synchronous

TREES = {1: Tree.branching(3), 2: Tree.branching(2, 2), 3: Tree.branching(2, 2, 2)}

periods_of_any_depth = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def events(periods, iterations, start=0, survey=False):
    setting = Setting(TREES[len(periods)], periods, iterations, start=start)
    return list(synchronous(setting, survey=survey))


def test_two_tiers():
    assert events((2,), 4) == [
        *(Spread(1, 1), Step(1), Step(2), Merge(2, 1)),
        *(Spread(3, 1), Step(3), Step(4), Merge(4, 1)),
    ]


def test_three_tiers():
    assert events((2, 2), 8) == [
        *(Spread(1, 2), Step(1), Step(2), Merge(2, 1)),
        *(Spread(3, 1), Step(3), Step(4), Merge(4, 1), Merge(4, 2)),
        *(Spread(5, 2), Step(5), Step(6), Merge(6, 1)),
        *(Spread(7, 1), Step(7), Step(8), Merge(8, 1), Merge(8, 2)),
    ]


def test_four_tiers():
    assert events((1, 2, 2), 4) == [
        *(Spread(1, 3), Step(1), Merge(1, 1)),
        *(Spread(2, 1), Step(2), Merge(2, 1), Merge(2, 2)),
        *(Spread(3, 2), Step(3), Merge(3, 1)),
        *(Spread(4, 1), Step(4), Merge(4, 1), Merge(4, 2), Merge(4, 3)),
    ]


def test_periods_count_from_the_start_of_the_setting():
    assert events((3,), 10, start=4) == [
        *(Spread(5, 1), Step(5), Step(6), Step(7), Merge(7, 1)),
        *(Spread(8, 1), Step(8), Step(9), Step(10), Merge(10, 1)),
    ]


def test_survey_follows_the_spread_from_the_root_only():
    assert events((1, 2), 4, survey=True) == [
        *(Spread(1, 2), Survey(1), Step(1), Merge(1, 1), Spread(2, 1), Step(2), Merge(2, 1), Merge(2, 2)),
        *(Spread(3, 2), Survey(3), Step(3), Merge(3, 1), Spread(4, 1), Step(4), Merge(4, 1), Merge(4, 2)),
    ]


@given(periods_of_any_depth, st.integers(1, 3))
def test_all_due_tiers_merge_bottom_up(periods, rounds):
    plan = events(periods, rounds * prod(periods))
    for t in range(1, rounds * prod(periods) + 1):
        due = [k for k in range(1, len(periods) + 1) if t % prod(periods[:k]) == 0]
        assert [event.tier for event in plan if isinstance(event, Merge) and event.t == t] == due


@given(periods_of_any_depth, st.integers(1, 3))
def test_nothing_follows_the_last_merge_at_the_root(periods, rounds):
    assert events(periods, rounds * prod(periods))[-1] == Merge(rounds * prod(periods), len(periods))


@pytest.mark.parametrize(("periods", "T"), [((5,), 20), ((2, 3), 24), ((3, 2, 2), 24)])
def test_each_link_carries_as_many_messages_down_as_up(periods, T):
    tree, plan = TREES[len(periods)], events(periods, T)
    for k in range(1, tree.tiers):  # the links between tier k - 1 and tier k
        up = sum(tree.counts[k - 1] for event in plan if isinstance(event, Merge) and event.tier == k)
        down = sum(tree.counts[k - 1] for event in plan if isinstance(event, Spread) and event.tier >= k)
        assert up == down == tree.counts[k - 1] * T // prod(periods[:k])  # for workers N * T / tau


@given(periods_of_any_depth, st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_a_longer_horizon_only_appends(periods, rounds, more, survey):
    short = events(periods, rounds * prod(periods), survey=survey)
    long = events(periods, (rounds + more) * prod(periods), survey=survey)
    assert long[: len(short)] == short
    assert len(long) > len(short)
