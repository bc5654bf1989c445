"""What the appendix says of its constants, in 60 digits; h rests on all of it."""

from appendix_by_hand import DIGITS, h_printed, letters
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import almosteq, mp, mpf
import pytest

exponents = st.floats(-8, 0)
momenta = st.floats(0.01, 0.99)
FEW = settings(max_examples=50)


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(DIGITS):
        yield


def is_same(left, right):
    return almosteq(left, right, rel_eps=mpf(10) ** -30)


def step(exponent):
    return mpf(10) ** mpf(exponent)


@FEW
@given(exponents, momenta)
def test_signs_and_sums(exponent, gamma):
    eb, g = step(exponent), mpf(gamma)
    A, B, I, J, U, V = letters(eb, g)  # noqa: E741
    assert g * A > 1
    assert 0 < g * B < 1
    assert 1 / (1 + g) < B < 1
    assert min(I, J, U, V) > 0
    assert is_same(U + V, 1)
    assert is_same(U, (A - 1) / (A - B)) and is_same(V, (1 - B) / (A - B))
    assert is_same(I + J, 1 / eb)
    assert is_same(I * A + J * B, (1 + eb + eb * g) / (eb * g))
    assert is_same(A + B, (1 + eb) * (1 + g) / g)
    assert is_same(A * B, (1 + eb) / g)
    assert abs(U / (A - 1) + V / (B - 1)) < mpf(10) ** -30


@FEW
@given(exponents, momenta, st.integers(1, 40))
def test_lemma_1(exponent, gamma, t):
    eb, g = step(exponent), mpf(gamma)
    A, B, _, _, U, V = letters(eb, g)
    a = [U * A**i + V * B**i for i in range(t + 1)]
    assert is_same((1 + eb) * a[t - 1] + eb * g * sum(a[:t]), g * a[t])


@FEW
@given(exponents, momenta, st.integers(0, 60))
def test_workers_drift_at_least_by_compound_interest(exponent, gamma, x):
    eb, g = step(exponent), mpf(gamma)
    A, B, _, _, U, V = letters(eb, g)
    u = g**x * (U * A**x + V * B**x) - 1
    assert u - ((1 + eb + eb * g) ** x - 1) >= -(mpf(10) ** -30)


@FEW
@given(exponents, momenta, st.integers(1, 40))
def test_h_adds_up_what_the_proof_says(exponent, gamma, x):
    """h(x) - h(x-1) = gamma eta delta sum_b gamma^(x-b) u(b-1) + eta delta u(x-1)."""
    eb, g = step(exponent), mpf(gamma)
    A, B, _, _, U, V = letters(eb, g)
    u = [g**i * (U * A**i + V * B**i) - 1 for i in range(x)]
    grown = g * sum(g ** (x - b) * u[b - 1] for b in range(1, x + 1)) + u[x - 1]
    assert abs(h_printed(x, 1, eb, 1, g) - h_printed(x - 1, 1, eb, 1, g) - eb * grown) < mpf(10) ** -30
