"""h to 1e-9 of 60 digits, from the smallest steps to overflow, for whole and for real x."""

from itertools import product
from math import inf
import time

from appendix_by_hand import DIGITS, h_printed, h_printed_slope
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import diff, mp, mpf
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.theory.drift import h, h_slope, h_table

STEPS = [1e-8, 1e-6, 1e-4, 3e-3, 0.1, 1.0]  # eta * beta
GAMMAS = [0.0, 0.01, 0.5, 0.9, 0.99]
WHOLE = [2, 3, 10, 100, 1234, 20_000, 100_000]
REAL = [1.0000001, 1.5, 2.718, 33.3, 777.7, 99_999.5]
TOLERANCE = 1e-9
LARGEST = 1.79769e308

steps = st.floats(-8, 0).map(lambda exponent: 10.0**exponent)
momenta = st.floats(0.01, 0.99)


def is_close(found, wanted, scale):
    """`scale` is eta * delta, and what overflows is H."""
    if wanted > 0.999 * LARGEST * scale:
        return found == inf or wanted < 1.001 * LARGEST * scale
    return abs(found - wanted) <= TOLERANCE * wanted


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("eta_beta", STEPS)
def test_against_60_digits(eta_beta, gamma):
    eta, beta = 0.01, eta_beta / 0.01
    for x in WHOLE + REAL:
        assert is_close(h(x, 1.0, eta=eta, beta=beta, gamma=gamma), h_printed(x, 1.0, eta, beta, gamma), eta), x
        slope = h_slope(x, 1.0, eta=eta, beta=beta, gamma=gamma)
        assert is_close(slope, h_printed_slope(x, 1.0, eta, beta, gamma), eta), x


@settings(max_examples=60)
@given(steps, st.just(0.0) | st.floats(1e-6, 0.999), st.floats(1.001, 1e5))
def test_against_60_digits_anywhere(beta, gamma, x):
    motion = {"eta": 1.0, "beta": beta, "gamma": gamma}
    assert is_close(h(x, 0.3, **motion), h_printed(x, 0.3, **motion), 0.3)
    assert is_close(h_slope(x, 0.3, **motion), h_printed_slope(x, 0.3, **motion), 0.3)


@pytest.mark.parametrize(("x", "beta", "gamma"), list(product([1, 2.5, 40], [1e-6, 1e-2, 1], [0, 0.1, 0.9])))
def test_the_slope_is_the_derivative(x, beta, gamma):
    with mp.workdps(DIGITS):
        wanted = diff(lambda each: h_printed(each, 1.0, 1.0, beta, gamma), mpf(x))
    assert is_close(h_slope(x, 1.0, eta=1.0, beta=beta, gamma=gamma), wanted, 1.0)


@given(steps, momenta, st.floats(0.001, 10))
def test_nothing_has_drifted_after_none_or_one(beta, gamma, delta):
    assert h(0, delta, eta=1.0, beta=beta, gamma=gamma) == h(1, delta, eta=1.0, beta=beta, gamma=gamma) == 0


@given(steps, momenta, st.floats(1, 300), st.floats(0.01, 100))
def test_it_grows_from_one_on(beta, gamma, x, more):
    motion = {"eta": 1.0, "beta": beta, "gamma": gamma}
    assert 0 <= h(x, 1.0, **motion) < h(x + more, 1.0, **motion)
    assert h_slope(x, 1.0, **motion) > 0


@given(steps, momenta, st.integers(2, 500), st.floats(0, 10))
def test_it_is_proportional_to_delta(beta, gamma, x, delta):
    motion = {"eta": 0.5, "beta": beta, "gamma": gamma}
    assert h(x, delta, **motion) == pytest.approx(delta * h(x, 1.0, **motion), rel=1e-14)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("eta_beta", STEPS)
def test_the_table_is_the_function(eta_beta, gamma):
    table = h_table(100_000, eta=eta_beta, beta=1.0, gamma=gamma)
    assert len(table) == 100_001
    assert (table[:2] == 0).all()
    assert not np.isnan(table).any()
    for x in WHOLE:
        assert eta_beta * table[x] == pytest.approx(h(x, 1.0, eta=eta_beta, beta=1.0, gamma=gamma), rel=TOLERANCE)
    finite = table[np.isfinite(table)]
    assert (np.diff(finite[1:]) > 0).all()


def test_tables_of_any_length():
    whole = h_table(9, eta=0.1, beta=1.0, gamma=0.5)
    for n in range(9):
        np.testing.assert_allclose(h_table(n, eta=0.1, beta=1.0, gamma=0.5), whole[: n + 1], rtol=1e-12)


@pytest.mark.parametrize("x", [7, 7.5])
def test_without_momentum_it_is_the_limit(x):
    motion = {"eta": 0.1, "beta": 0.7}
    plain = 1.3 / 0.7 * (1.07**x - 1) - 0.13 * x
    assert h(x, 1.3, gamma=0.0, **motion) == pytest.approx(plain, rel=1e-9)
    for gamma in (1e-6, 1e-9, 1e-12):
        assert h(x, 1.3, gamma=gamma, **motion) == pytest.approx(plain, rel=10 * gamma + 1e-12)


def test_a_linear_loss_does_not_drift():
    motion = {"eta": 0.1, "beta": 0.0, "gamma": 0.5}
    assert h(50, 1.0, **motion) == h_slope(50, 1.0, **motion) == 0
    assert not h_table(50, **motion).any()


def test_overflow_is_infinity():
    motion = {"eta": 1.0, "beta": 1.0, "gamma": 0.5}
    assert h(1e5, 1.0, **motion) == h(1e5 + 0.5, 1.0, **motion) == h_slope(1e300, 1.0, **motion) == inf
    assert h(1e5, 0.0, **motion) == 0
    assert h_table(2000, **motion)[-1] == inf


def test_whole_numbers_are_quick():
    h(99_999, 1.0, eta=1e-8, beta=1.0, gamma=0.5)
    begin = time.perf_counter()
    h(100_000, 1.0, eta=1e-8, beta=1.0, gamma=0.51)
    assert time.perf_counter() - begin < 0.05


def test_the_precision_of_mpmath_is_left_alone():
    with mp.workdps(17):
        h(2.5, 1.0, eta=1e-8, beta=1.0, gamma=0.37)
        assert mp.dps == 17


@pytest.mark.parametrize("x", [-1, 0.5, 0.999, inf, float("nan")])
def test_where_it_bounds_nothing(x):
    with pytest.raises(UserError, match=r"h\(x\) is defined for x = 0 and x >= 1"):
        h(x, 1.0, eta=0.1, beta=1.0, gamma=0.5)


def test_other_refusals():
    with pytest.raises(UserError, match="slope of h"):
        h_slope(0, 1.0, eta=0.1, beta=1.0, gamma=0.5)
    with pytest.raises(UserError, match=r"gamma must be in \[0, 1\), not 1"):
        h(2, 1.0, eta=0.1, beta=1.0, gamma=1.0)
    with pytest.raises(UserError, match="delta must be finite and at least 0"):
        h(2, -1.0, eta=0.1, beta=1.0, gamma=0.5)
    with pytest.raises(UserError, match="eta must be finite"):
        h(2, 1.0, eta=inf, beta=1.0, gamma=0.5)
    with pytest.raises(UserError, match="length of at least 0"):
        h_table(-1, eta=0.1, beta=1.0, gamma=0.5)
