"""Times of a network, read off its clock."""

from math import floor

import pytest

from hiermo.core.problem import ModelSize
from hiermo.tuning.clocked import Clocked
from hiermo.tuning.objective import Times
from unit.tuning.recipes import CLOUD_S, CONSTANT, EDGE_S, small

SIZE = ModelSize(parameters=100, batches=[10.0] * 4)


def clocked(**tables):
    recipe = small(**tables)
    return Clocked(recipe, recipe.algorithms[0], SIZE)


def test_constants_come_back():
    times = clocked().times(100.0)
    assert times.theta_w == pytest.approx(0.5)
    assert times.upper == pytest.approx((EDGE_S, CLOUD_S))
    assert times.budget_s == 100


@pytest.mark.parametrize("periods", [(1, 1), (3, 2), (10, 1), (2, 7)])
def test_as_many_rounds_as_fit(periods):
    of = clocked()
    round_s = of.times(1.0).round_s(periods)
    assert of.seconds(periods, 3) == pytest.approx(3 * round_s)
    for budget in (0.5 * round_s, 1.01 * round_s, 777.0):
        for factor in (0.02, 1.0, 50.0):  # times that are wrong cost time and nothing else
            wrong = Times(budget_s=budget, theta_w=0.5 * factor, upper=(EDGE_S * factor, CLOUD_S * factor))
            assert of.rounds_within(periods, wrong) == floor(budget / round_s)


def test_two_tiers_have_one_period_and_a_flattened_tree_too():
    delays = {**CONSTANT}
    flat = clocked(tree={"edges": 2, "workers_per_edge": 2, "flatten": True}, algorithm="FedAvg", delays=delays)
    times = flat.times(100.0)
    assert (times.theta_w, times.upper) == (pytest.approx(0.5), pytest.approx((32.125,)))
    ready = flat.with_periods((7,), 3)
    assert (ready.periods, ready.train.iterations) == ((7, 1), 21)
    assert flat.recipe.placed(flat.part)[0].tiers == 2
    two = clocked(tree={"workers": 4}, periods=[5], algorithm="FedAvg")
    assert two.times(1.0).upper == pytest.approx((32.125,))


def test_four_tiers_have_three_periods():
    times = clocked(tree={"branching": [2, 2, 1]}, periods=[2, 2, 2]).times(100.0)
    assert times.upper == pytest.approx((EDGE_S, EDGE_S, CLOUD_S))


def test_an_asynchronous_algorithm_has_times_too():
    of = clocked(algorithm="CFL")
    times = of.times(500.0)
    rounds = of.rounds_within((4, 2), times)
    assert of.seconds((4, 2), rounds) <= 500 < of.seconds((4, 2), rounds + 1)


def test_varying_delays_give_means():
    noisy = {**CONSTANT, "theta_w": {"kind": "lognormal", "mean": 0.5, "cv": 0.2}}
    times = clocked(delays=noisy).times(1.0)
    assert 0.5 < times.theta_w < 0.7  # the slowest of two is slower than the mean


def test_iterations_stand_out_of_messages_that_vary():
    """Links that take a hundred times as long as an iteration, give or take a third."""
    varying = {"kind": "lognormal", "mean": 0.5, "cv": 0.3}
    times = clocked(delays={"theta_w": 0.005, "phi_w2e": varying, "phi_e2c": varying}).times(1.0)
    assert times.theta_w == pytest.approx(0.005, rel=0.15)
    assert times.upper == pytest.approx((0.55, 0.55), rel=0.25)  # the slowest of two is slower than the mean
