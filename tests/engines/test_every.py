import numpy as np
import pytest

from helpers import ENGINES, assert_same_bits, quadratic
from hiermo import HierMo, Tree, run
from hiermo.algorithms.hiermo import Edge, Worker

TREE, PROBLEM = Tree.from_groups([[0, 2], [1], [3, 4]]), quadratic(n=5)


def states(every, engine="stacked"):
    return list(run(HierMo(), TREE, PROBLEM, periods=(2, 3), iterations=12, every=every, engine=engine))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("every", "t", "rounds"),
    [
        ("cloud", [6, 12], [1, 2]),
        ("edge", [2, 4, 6, 8, 10, 12], [0, 0, 1, 1, 1, 2]),
        ("iteration", list(range(1, 13)), [0] * 5 + [1] * 6 + [2]),
    ],
)
def test_when_states_come_and_none_at_the_start(every, t, rounds, engine):
    found = states(every, engine)
    assert [state.t for state in found] == t
    assert [state.rounds for state in found] == rounds


def test_where_several_tiers_merge_the_state_is_that_after_the_highest():
    for every in ("cloud", "edge", "iteration"):
        assert [state.event.tier for state in states(every) if state.t in (6, 12)] == [2, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_looking_more_often_changes_no_bit(engine):
    seldom, often = states("cloud", engine), states("iteration", engine)
    for state in seldom:
        assert_same_bits(state, often[state.t - 1])


@pytest.mark.parametrize("engine", ENGINES)
def test_model_is_a_flat_float64_vector(engine):
    model = np.asarray(states("cloud", engine)[-1].model)
    assert (model.dtype, model.shape) == (np.float64, (3,))


@pytest.mark.parametrize("engine", ENGINES)
def test_one_record_per_tier_with_one_row_per_node(engine):
    state = states("cloud", engine)[-1]
    assert [type(tier) for tier in state.tiers] == [Worker, Edge, Worker]
    for n, tier in zip((5, 3, 1), state.tiers, strict=True):
        assert {field.shape for field in tier} == {(n, 3)}
    assert {field.shape for field in state.down} == {(3, 3)}  # siblings share what they received
    assert state.buffers is None and state.model_buffers is None


def test_earlier_states_are_not_overwritten():
    kept = [state.model.copy() for state in run(HierMo(), TREE, PROBLEM, periods=(2, 3), iterations=12)]
    assert all(np.array_equal(a, b.model) for a, b in zip(kept, states("cloud"), strict=True))
    assert not np.array_equal(*kept)


def test_repr_of_a_state_is_one_line():
    assert repr(states("cloud")[0]) == "State(t=6, rounds=1, periods=(2, 3), tiers=3)"
