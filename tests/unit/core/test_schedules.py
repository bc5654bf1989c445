"""Schedules: their factors, and that the rules see them."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from helpers import models, quadratic
from hiermo import FedAvg, HierMo, SlowMo, Tree, run
from hiermo.core.schedule import SCHEDULES, Constant, Cosine, Step, eta_of

TREE = Tree.branching(4)
PROBLEM = quadratic(n=4)


def test_names():
    assert SCHEDULES.names() == ["constant", "step", "cosine"]


def test_a_constant_one_is_none_at_all():
    assert eta_of(Constant(), FedAvg(), (5,)) is None
    assert eta_of(Constant(warm_up=3), FedAvg(), (5,)) is not None


@given(
    schedule=st.one_of(
        st.builds(Constant, warm_up=st.integers(0, 50)),
        st.builds(Step, every=st.integers(1, 50), by=st.floats(0.5, 1), warm_up=st.integers(0, 50)),
        st.builds(Cosine, over=st.integers(1, 300), floor=st.floats(0.01, 1), warm_up=st.integers(0, 50)),
    ),
    t=st.integers(1, 300),
)
def test_a_factor_is_positive_and_at_most_one(schedule, t):
    assert 0 < schedule.factor(t) <= 1


@given(st.integers(1, 100))
def test_a_cosine_falls_and_stays(t):
    schedule = Cosine(over=50, floor=0.1)
    assert schedule.factor(t + 1) <= schedule.factor(t) + 1e-15  # rounding of the cosine
    assert t <= 50 or schedule.factor(t) == pytest.approx(0.1)


def by_hand(eta, rounds, tau):
    """FedAvg as a plain loop."""
    p = PROBLEM.sizes / PROBLEM.sizes.sum()
    x, t, found = PROBLEM.x0, 0, []
    for _ in range(rounds):
        workers = np.tile(x, (4, 1))
        for _ in range(tau):
            t += 1
            workers = workers - eta(t) * PROBLEM.full_grad(range(4), workers)
        x = p @ workers
        found.append(x)
    return np.array(found)


@pytest.mark.parametrize("schedule", [Step(every=7, by=0.5), Cosine(over=30, warm_up=4), Constant(warm_up=12)])
@pytest.mark.parametrize("per", ["iteration", "round"])
def test_a_run_follows_it(schedule, per):
    schedule = type(schedule)(**{**vars(schedule), "per": per})
    algorithm = FedAvg(eta=0.1)
    found = models(
        run(algorithm, TREE, PROBLEM, periods=(5,), iterations=40, schedule=eta_of(schedule, algorithm, (5,)))
    )

    def eta(t):
        return 0.1 * schedule.factor(t if per == "iteration" else (t - 1) // 5 * 5 + 1)

    assert np.allclose(found, by_hand(eta, 8, 5), rtol=1e-12, atol=0)


def test_algorithms_that_divide_by_eta_keep_it_for_a_round():
    """SlowMo without momentum is FedAvg, also while eta falls: its merge and its steps must use one eta."""
    schedule = Step(every=3, by=0.7)
    slow, plain = SlowMo(eta=0.1, beta=0.0), FedAvg(eta=0.1)
    per_round = Step(every=3, by=0.7, per="round")
    found = models(run(slow, TREE, PROBLEM, periods=(5,), iterations=40, schedule=eta_of(schedule, slow, (5,))))
    expected = models(run(plain, TREE, PROBLEM, periods=(5,), iterations=40, schedule=eta_of(per_round, plain, (5,))))
    assert np.allclose(found, expected, rtol=1e-12, atol=0)


def test_going_on_keeps_the_schedule():
    tree, algorithm = Tree.branching(2, 2), HierMo(eta=0.1)
    eta = eta_of(Cosine(over=25), algorithm, (2, 2))
    whole = list(run(algorithm, tree, PROBLEM, periods=(2, 2), iterations=40, schedule=eta))
    rest = list(run(algorithm, tree, PROBLEM, periods=(2, 2), iterations=40, schedule=eta, start=whole[3]))
    assert np.array_equal(models(whole[4:]), models(rest))
