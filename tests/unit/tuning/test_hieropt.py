"""HierOPT against its pseudo-code, the exact search against all choices one by one, and both against each other."""

from dataclasses import dataclass, replace
from itertools import product
from math import inf, nan
import time

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.theory.constants import Constants
from hiermo.tuning.hieropt import exact, hieropt, multi_start, search, walk
from hiermo.tuning.objective import BoundObjective, Times

CONSTANTS = Constants(
    eta=0.01, gamma=0.5, gamma_a=0.5, rho=0.5, beta=3.0, mu=0.9, omega=0.1, sigma=0.8,
    delta_edges=(0.2, 0.6), shares=(0.25, 0.75), divergences=(0.35, 0.15),
)  # fmt: skip
TIMES = Times(budget_s=20.0, theta_w=0.1, upper=(0.5, 2.0))
LONG = Times(budget_s=1e4, theta_w=0.1, upper=(0.5, 2.0))


def bound(times=TIMES, **changed):
    return BoundObjective(times=times, constants=replace(CONSTANTS, **changed))


@dataclass(frozen=True)
class Bowl:
    """Least at `centre`; its signs are those of the differences."""

    centre: tuple

    @property
    def n_periods(self):
        return len(self.centre)

    def value(self, periods):
        return float(sum((period - c) ** 2 for period, c in zip(periods, self.centre, strict=True)))

    def slope(self, periods, k):
        return 2.0 * (periods[k] - self.centre[k])


@dataclass(frozen=True)
class TwoBowls(Bowl):
    """A shallow one at 60 and a deep one at 10, along the first period."""

    def value(self, periods):
        x, y = periods
        return min((x - 10) ** 2, (x - 60) ** 2 + 5.0) + (y - 3.0) ** 2

    def slope(self, periods, k):
        x, y = periods
        return 2 * (y - 3.0) if k else 2.0 * (x - 10 if (x - 10) ** 2 < (x - 60) ** 2 + 5 else x - 60)


@dataclass(frozen=True)
class Signs:
    """Any signs at all, the same each time."""

    seed: int
    n_periods: int

    def value(self, periods):
        return float(sum(periods))

    def slope(self, periods, k):
        return float(np.random.default_rng([self.seed, k, *periods]).integers(-1, 2))


def algorithm_2(slope, tau, pi):
    """As printed, with what it leaves open settled."""
    visited = []
    while True:
        r_tau, r_pi = slope((tau, pi), 0), slope((tau, pi), 1)
        tau_next, pi_next = tau, pi
        if r_tau > 0:
            tau_next = max(tau - 1, 1)
        elif r_tau < 0:
            tau_next = tau + 1
        if r_pi > 0:
            pi_next = max(pi - 1, 1)
        elif r_pi < 0:
            pi_next = pi + 1
        if (tau, pi) in visited:
            return (tau, pi), [*visited, (tau, pi)]
        visited.append((tau, pi))
        tau, pi = tau_next, pi_next


def all_choices(objective, times):
    """(value, periods) of each that fits, by plain loops."""
    most = [next(p for p in range(1, 10**6) if not times.fits([p if i == k else 1 for i in range(objective.n_periods)]))
            for k in range(objective.n_periods)]  # fmt: skip
    choices = product(*(range(1, each) for each in most))
    return [(objective.value(choice), choice) for choice in choices if times.fits(choice)]


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12))
def test_walk_is_algorithm_2_on_any_signs(seed, tau, pi):
    objective = Signs(seed, 2)
    found = walk(objective, (tau, pi))
    periods, path = algorithm_2(objective.slope, tau, pi)
    assert (found.periods, list(found.path), found.trouble) == (periods, path, "")
    assert found.value == objective.value(periods)


@settings(max_examples=15)
@given(st.integers(1, 100), st.integers(1, 100), st.floats(0.01, 10), st.floats(0, 0.9))
def test_walk_is_algorithm_2_on_the_bound(tau, pi, rho, gamma_a):
    objective = bound(LONG, rho=rho, gamma_a=gamma_a)
    assert walk(objective, (tau, pi)).path == tuple(algorithm_2(objective.slope, tau, pi)[1])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_any_number_of_periods(n):
    centre = tuple(range(3, 3 + n))
    assert hieropt(Bowl(centre), seed=5).periods == centre
    assert exact(Bowl(centre), Times(budget_s=1e5, theta_w=100.0, upper=(0.0,) * n)).periods == centre


def test_a_flat_place_is_the_end():
    assert walk(Bowl((4, 4)), (4, 4)).path == ((4, 4), (4, 4))


def test_periods_stay_at_least_one():
    assert walk(Bowl((-5, 1)), (2, 1)).periods == (1, 1)


def test_the_start_is_uniform_in_1_to_100_and_of_the_seed():
    starts = np.array([hieropt(Bowl((50, 50)), seed).path[0] for seed in range(300)])
    assert starts.min() >= 1 and starts.max() <= 100
    assert 40 < starts.mean() < 61
    assert hieropt(Bowl((50, 50)), 3) == hieropt(Bowl((50, 50)), 3)


def test_a_walk_without_end_says_so():
    found = walk(Bowl((10**6, 1)), (1, 1), most_steps=50)
    assert found.trouble == "still on its way after 50 steps"
    assert len(found.path) == 51


def test_a_walk_without_direction_says_so():
    class Nowhere(Bowl):
        def slope(self, periods, k):
            return nan

    assert walk(Nowhere((4, 4)), (2, 3)).trouble == "the objective has no slope at (2, 3)"


def test_a_walk_comes_back_from_infinity():
    objective = bound(LONG, eta=0.2)
    assert objective.value((90, 90)) == inf
    found = walk(objective, (90, 90))
    assert found.value < inf and not found.trouble


def test_several_starts_find_at_least_as_much():
    objective = TwoBowls((0, 0))
    one, several = hieropt(objective, 0), multi_start(objective, 0)
    assert several.value <= one.value
    assert multi_start(objective, 0, starts=1) == one


@pytest.mark.parametrize(
    "objective",
    [
        bound(),
        bound(rho=3.0, eta=0.1),
        bound(rho=0.01),
        bound(gamma_a=0.0, delta_edges=(0.0, 0.0)),
        bound(replace(TIMES, upper=(0.01, 0.01)), gamma_a=0.0, delta_edges=(0.0, 0.0)),
        bound(replace(TIMES, upper=(0.3,))),
        replace(bound(replace(TIMES, upper=(0.3, 1.0, 2.0))), printed=False),
    ],
)
def test_exact_is_the_best_of_all(objective):
    found, all_of_them = exact(objective, objective.times), all_choices(objective, objective.times)
    least = min(all_of_them)
    assert found.value == pytest.approx(least[0], rel=1e-9)
    assert objective.value(found.periods) == pytest.approx(found.value, rel=1e-9)
    assert found.periods == least[1]
    assert found.n_choices <= len(all_of_them)


@settings(max_examples=25)
@given(st.floats(0.5, 60), st.floats(0.01, 2), st.floats(0, 5), st.floats(0, 5), st.integers(0, 10**6))
def test_exact_looks_at_all_that_fit(budget_s, theta_w, edge_s, cloud_s, seed):
    times = Times(budget_s=budget_s, theta_w=max(theta_w, budget_s / 40), upper=(edge_s, cloud_s))
    if not times.fits((1, 1)):
        return
    values = np.random.default_rng(seed).permutation(50 * 50).reshape(50, 50).astype(float)

    class Table(Bowl):
        def value(self, periods):
            return float(values[periods])

    found, all_of_them = exact(Table((0, 0)), times), all_choices(Table((0, 0)), times)
    assert (found.value, found.periods, found.n_choices) == (*min(all_of_them), len(all_of_them))


def test_a_round_that_takes_just_the_budget_fits():
    """Where rounding makes the quotient too small."""
    times = Times(budget_s=36.92999999999999, theta_w=0.05, upper=(2.59, 2.94))
    assert times.round_s((10, 11)) == times.budget_s and (times.budget_s - 2.94) / (0.05 * 10 + 2.59) < 11
    assert exact(Bowl((10, 11)), times).periods == (10, 11)


def test_a_floor_spares_evaluations():
    with_floor = exact(bound(LONG), LONG)

    class Blind(Bowl):
        value, values = bound(LONG).value, bound(LONG).values

    without = exact(Blind((0, 0)), LONG)
    assert (with_floor.periods, with_floor.value) == (without.periods, without.value)
    assert 100 * with_floor.n_choices < without.n_choices


@pytest.mark.parametrize("changed", [{}, {"eta": 1e-8, "rho": 1e-3}, {"gamma_a": 0.0, "delta_edges": (0.0, 0.0)}])
def test_exact_is_quick_where_a_hundred_thousand_iterations_fit(changed):
    objective = bound(LONG, **changed)
    begin = time.perf_counter()
    exact(objective, LONG)
    assert time.perf_counter() - begin < 2


def test_exact_does_not_tabulate_what_is_ruled_out():
    begin = time.perf_counter()
    exact(bound(replace(LONG, budget_s=1e9)), replace(LONG, budget_s=1e9))
    assert time.perf_counter() - begin < 2


def test_what_is_not_a_number_is_no_minimum():
    class Holes(Bowl):
        def value(self, periods):
            return nan if periods == (1, 1) else super().value(periods)

    assert exact(Holes((1, 1)), TIMES).periods == (1, 2)


@pytest.mark.parametrize("seed", range(3))
def test_all_three_agree_where_there_is_one_minimum(seed):
    said = search(Bowl((12, 3)), TIMES, seed)
    assert said.disagreements == ()
    assert said.walk.periods == said.best_walk.periods == said.exact.periods == (12, 3)
    flat = bound(Times(budget_s=400.0, theta_w=0.1, upper=(0.5,)))
    said = search(flat, flat.times, seed)
    assert abs(said.walk.periods[0] - said.exact.periods[0]) <= 1


def test_disagreements_are_said():
    times = Times(budget_s=1000.0, theta_w=1.0, upper=(0.0, 0.0))
    seed = next(seed for seed in range(100) if hieropt(TwoBowls((0, 0)), seed).periods == (60, 3))
    said = search(TwoBowls((0, 0)), times, seed)
    assert said.exact.periods == said.best_walk.periods == (10, 3)
    first, second = said.disagreements
    assert first == "HierOPT ended at (60, 3) with 5, the exact minimum is (10, 3) with 0"
    assert second.startswith("HierOPT depends on its start: ")


def test_a_walk_beyond_the_budget_is_said():
    said = search(Bowl((50, 50)), TIMES, 0)
    assert "HierOPT ended at (50, 50), with which the root does not merge once within 20 s" in said.disagreements


def test_refusals():
    with pytest.raises(UserError, match=r"not one merge of the root fits into budget_s = 2: .* it takes 2\.6 s"):
        exact(bound(), replace(TIMES, budget_s=2.0))
    with pytest.raises(UserError, match=r"more than 200000 choices of periods fit.*`floor` and `values`"):
        exact(Bowl((3, 3)), replace(TIMES, budget_s=1e4))
    with pytest.raises(UserError, match="a walk starts with 2 whole periods"):
        walk(Bowl((3, 3)), (3,))
    with pytest.raises(UserError, match="starts must be at least 1, not 0"):
        multi_start(Bowl((3, 3)), 0, starts=0)
    with pytest.raises(UserError, match="theta_w must be"):
        exact(Bowl((3, 3)), replace(TIMES, theta_w=0.0))
