"""The objective of HierOPT: the paper's formulas for time and bound, their derivatives, and many at once."""

from dataclasses import replace
from itertools import product
from math import inf, sqrt

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.theory.bounds import f_hierfavg, f_hiermo, j
from hiermo.theory.constants import Constants
from hiermo.tuning.objective import BoundObjective, Floored, Objective, Times, Vectorised

CONSTANTS = Constants(
    eta=0.01, gamma=0.5, gamma_a=0.5, rho=0.5, beta=3.0, mu=0.9, omega=0.1, sigma=0.8,
    delta_edges=(0.2, 0.6), shares=(0.25, 0.75), divergences=(0.35, 0.15),
)  # fmt: skip
TIMES = Times(budget_s=400.0, theta_w=0.1, upper=(0.5, 2.0))
OBJECTIVE = BoundObjective(times=TIMES, constants=CONSTANTS)
DEEP = BoundObjective(times=replace(TIMES, upper=(0.5, 2.0, 7.0)), constants=CONSTANTS, printed=False)
FLAT = BoundObjective(times=replace(TIMES, upper=(0.5,)), constants=CONSTANTS)


@given(st.floats(1, 100), st.floats(1, 100))
def test_time_is_the_printed_one(tau, pi):
    """Psi = P (tau pi Theta_w + pi (Theta_e + Phi_w2e) + Theta_c + Phi_e2c), P = T / (tau pi)."""
    round_s = tau * pi * 0.1 + pi * 0.5 + 2.0
    assert TIMES.round_s((tau, pi)) == pytest.approx(round_s)
    assert TIMES.iterations((tau, pi)) == pytest.approx(400.0 / round_s * tau * pi)
    assert 1 / TIMES.iterations((tau, pi)) == pytest.approx(0.5 / (400 * tau) + 2.0 / (400 * tau * pi) + 0.1 / 400)


def test_a_round_fits_or_does_not():
    assert TIMES.fits((1, 1)) and TIMES.fits((3975, 1)) and not TIMES.fits((3976, 1))


def test_value_is_the_bound_with_the_iterations_that_the_budget_allows():
    gain, gap = 0.1 * CONSTANTS.alpha * 0.8**2, j((10, 3), CONSTANTS)
    q = (0.5 / 10 + 2.0 / 30 + 0.1) / (2 * 400 * gain)
    assert OBJECTIVE.value((10, 3)) == pytest.approx(q + 0.5 * gap + sqrt(q**2 + 0.5 * gap / (gain * 30)))
    assert OBJECTIVE.value((10, 3)) == f_hiermo(TIMES.iterations((10, 3)), (10, 3), CONSTANTS)


@pytest.mark.parametrize(
    "objective", [OBJECTIVE, DEEP, FLAT, replace(OBJECTIVE, constants=replace(CONSTANTS, rho=0.0))]
)
def test_slope_is_the_derivative(objective):
    for periods in product([1.5, 20.0], [2.25, 7.0], [1.25, 3.0]):
        here = list(periods[: objective.n_periods])
        for k in range(objective.n_periods):
            step = 1e-4 * here[k]
            away = [
                objective.value([p + (i == k) * sign * step for i, p in enumerate(here)]) for sign in (-2, -1, 1, 2)
            ]
            wanted = (away[0] - 8 * away[1] + 8 * away[2] - away[3]) / (12 * step)
            assert objective.slope(here, k) == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("objective", [OBJECTIVE, DEEP, FLAT])
def test_many_at_once(objective):
    choices = np.random.default_rng(0).integers(1, 30, size=(100, objective.n_periods))
    np.testing.assert_allclose(
        objective.values(choices), [objective.value(tuple(c)) for c in choices.tolist()], rtol=1e-9
    )


@pytest.mark.parametrize("changed", [{"rho": 0.0}, {"delta_edges": (0.0, 0.0)}, {"beta": 0.0}, {"eta": 1e-9}])
def test_many_at_once_where_terms_vanish(changed):
    objective = replace(OBJECTIVE, constants=replace(CONSTANTS, **changed))
    choices = np.array([[1, 1], [7, 3], [300, 100]])
    np.testing.assert_allclose(
        objective.values(choices), [objective.value(tuple(c)) for c in choices.tolist()], rtol=1e-9
    )


@settings(max_examples=60)
@given(st.tuples(st.integers(1, 80), st.integers(1, 20)), st.tuples(st.integers(0, 80), st.integers(0, 20)))
def test_the_floor_is_below_all_that_is_longer(periods, more):
    longer = tuple(period + add for period, add in zip(periods, more, strict=True))
    assert OBJECTIVE.floor(periods) <= OBJECTIVE.value(longer)
    assert OBJECTIVE.floor(periods) <= OBJECTIVE.floor(longer)


def test_overflow_is_infinity():
    far = (100_000, 100)
    assert OBJECTIVE.value(far) == OBJECTIVE.slope(far, 0) == OBJECTIVE.slope(far, 1) == inf
    assert OBJECTIVE.values(np.array([far, (1, 1)]))[0] == inf


def test_it_offers_all_that_searches_ask_for():
    assert isinstance(OBJECTIVE, Objective) and isinstance(OBJECTIVE, Floored) and isinstance(OBJECTIVE, Vectorised)


def test_refusals():
    with pytest.raises(UserError, match="theta_w must be finite and above 0, not 0"):
        replace(TIMES, theta_w=0.0).check()
    with pytest.raises(UserError, match="budget_s must be finite"):
        replace(OBJECTIVE, times=replace(TIMES, budget_s=inf)).value((2, 2))
    with pytest.raises(UserError, match="upper must have"):
        replace(TIMES, upper=()).check()
    with pytest.raises(UserError, match="alpha must be above 0"):
        replace(OBJECTIVE, constants=replace(CONSTANTS, mu=4.0)).slope((2, 2), 0)
    with pytest.raises(UserError, match="3 periods need 2 measured divergences, not 0"):
        replace(DEEP, constants=replace(CONSTANTS, divergences=())).value((2, 2, 2))


def test_without_any_momentum_it_is_the_bound_of_hierfavg():
    plain = BoundObjective(times=TIMES, constants=replace(CONSTANTS, gamma=0.0, gamma_a=0.0, mu=0.0))
    for periods in ((1, 1), (7, 3), (40, 2)):
        expected = f_hierfavg(TIMES.iterations(periods), periods, CONSTANTS)
        assert plain.value(periods) == pytest.approx(expected, rel=1e-12)
        assert plain.values(np.array([periods]))[0] == pytest.approx(expected, rel=1e-9)
    assert plain.slope((2, 1), 0) == pytest.approx(
        (plain.value((2 + 1e-6, 1)) - plain.value((2 - 1e-6, 1))) / 2e-6, rel=1e-4
    )
