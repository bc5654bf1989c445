import pytest

from helpers import ENGINES, ROUNDING, assert_same_bits, difference, hiermo_by_hand, models, quadratic
from hiermo import HierMo, Tree, run

GROUPS = [[0, 3], [1], [2, 4]]
TREE, PROBLEM = Tree.from_groups(GROUPS), quadratic(n=5)


def go(algorithm, engine="stacked", schedule=None, start=None):
    options = {"engine": engine, "schedule": schedule, "start": start, "every": "edge"}
    return list(run(algorithm, TREE, PROBLEM, periods=(3, 2), iterations=12, **options))


def falling(t):
    return 0.1 / t


@pytest.mark.parametrize("engine", ENGINES)
def test_a_constant_schedule_changes_no_bit(engine):
    without = go(HierMo(eta=0.05), engine)
    constant = go(HierMo(eta=0.9), engine, schedule=lambda t: 0.05)  # the algorithm's own eta is not used
    for a, b in zip(without, constant, strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_iteration_has_its_own_step_size(engine):
    found = go(HierMo(gamma=0.6, gamma_a=0.4), engine, schedule=falling)
    by_hand = hiermo_by_hand(
        PROBLEM, GROUPS, eta=falling, gamma=0.6, gamma_a=0.4, edges_at=[3, 6, 9, 12], cloud_at=[6, 12]
    )
    assert difference(models(found)[1::2], by_hand) < ROUNDING


def test_going_on_keeps_the_place_in_the_schedule():
    whole = go(HierMo(), schedule=falling)
    for after, expected in zip(go(HierMo(), schedule=falling, start=whole[0]), whole[1:], strict=True):
        assert_same_bits(after, expected)
