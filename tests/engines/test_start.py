import json

import numpy as np
import pytest

from helpers import ENGINES, ROUNDING, assert_same_bits, difference, fields, hiermo_by_hand, models, quadratic
from hiermo import HierFAVG, HierMo, Tree, UserError, run
from hiermo.engine.state import from_arrays, to_arrays

GROUPS = [[0, 3], [1], [2, 4]]
TREE, PROBLEM = Tree.from_groups(GROUPS), quadratic(n=5)
ALGORITHM = HierMo(eta=0.05, gamma=0.6, gamma_a=0.4)


def go(periods=(2, 2), iterations=12, algorithm=ALGORITHM, tree=TREE, **options):
    return run(algorithm, tree, PROBLEM, periods=periods, iterations=iterations, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("every", ["cloud", "edge", "iteration"])
def test_going_on_from_any_state_gives_the_same_bits(every, engine):
    whole = list(go(every=every, engine=engine))
    for done, state in enumerate(whole, start=1):
        rest = list(go(every=every, engine=engine, start=state))
        for after, expected in zip(rest, whole[done:], strict=True):
            assert_same_bits(after, expected)


@pytest.mark.parametrize("every", ["cloud", "edge", "iteration"])
def test_going_on_from_saved_arrays_gives_the_same_bits(every):
    whole = list(go(every=every))
    for done, state in enumerate(whole, start=1):
        arrays, place = to_arrays(state)
        again = from_arrays(ALGORITHM, PROBLEM.x0, TREE.tiers, arrays, json.loads(json.dumps(place)))
        assert_same_bits(again, state)
        for after, expected in zip(go(every=every, start=again), whole[done:], strict=True):
            assert_same_bits(after, expected)


def test_saved_arrays_of_another_algorithm_are_refused():
    state = next(go(algorithm=HierFAVG()))
    with pytest.raises(UserError, match=r"lacks 'tier0\.m': it was saved by another algorithm"):
        from_arrays(ALGORITHM, PROBLEM.x0, TREE.tiers, *to_arrays(state))


@pytest.mark.parametrize(("first", "second"), [ENGINES, ENGINES[::-1]])
def test_one_engine_goes_on_where_the_other_stopped(first, second):
    whole = list(go(every="iteration", engine=first))
    for after, expected in zip(go(every="iteration", engine=second, start=whole[4]), whole[5:], strict=True):
        for name, value in fields(after).items():
            assert np.abs(value - fields(expected)[name]).max() <= ROUNDING * np.abs(PROBLEM.x0).max(), name


def test_a_finished_run_can_be_made_longer():
    short, long = list(go(iterations=8)), list(go(iterations=16))
    for after, expected in zip(go(iterations=16, start=short[-1]), long[2:], strict=True):
        assert_same_bits(after, expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_periods_can_change_at_a_cloud_merge(engine):
    first = list(go(periods=(2, 2), iterations=8, engine=engine))
    second = list(go(periods=(3, 1), iterations=14, start=first[-1], engine=engine))
    assert [(state.t, state.rounds) for state in second] == [(11, 3), (14, 4)]
    by_hand = hiermo_by_hand(
        PROBLEM,
        GROUPS,
        eta=lambda t: 0.05,
        gamma=0.6,
        gamma_a=0.4,
        edges_at=[2, 4, 6, 8, 11, 14],
        cloud_at=[4, 8, 11, 14],
    )
    assert difference(models(first + second), by_hand) < ROUNDING


def test_going_on_after_a_change_of_periods_gives_the_same_bits():
    changed = list(go(periods=(3, 1), iterations=14, start=list(go(iterations=8))[-1], every="iteration"))
    for after, expected in zip(go((3, 1), 14, start=changed[1], every="iteration"), changed[2:], strict=True):
        assert_same_bits(after, expected)


@pytest.mark.parametrize("t", [1, 2, 6, 11])
def test_periods_cannot_change_between_two_cloud_merges(t):
    state = list(go(every="iteration"))[t - 1]
    with pytest.raises(UserError, match=f"at a cloud merge only; the state is at iteration {t}, between two"):
        go(periods=(3, 1), iterations=15, start=state)


def test_after_a_change_the_horizon_counts_from_it():
    with pytest.raises(UserError, match=r"iterations = 15 is not a multiple of 3 \* 1 = 3 after iteration 8; try 14"):
        go(periods=(3, 1), iterations=15, start=list(go(iterations=8))[-1])


def test_another_seed_is_refused():
    with pytest.raises(UserError, match="a run with seed 0; pass seed=0"):
        go(start=next(go()), seed=1)


def test_another_tree_is_refused():
    with pytest.raises(UserError, match=r"tree with \(5, 3, 1\) nodes per tier, this one has \(5, 2, 1\)"):
        go(start=next(go()), tree=Tree.from_groups([[0, 1], [2, 3, 4]]))
