"""The bounds against letter-by-letter transcriptions of the paper."""

from dataclasses import replace
from math import inf, sqrt

from appendix_by_hand import h_printed
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import diff, mp, mpf
import pytest

from hiermo.core.errors import UserError
from hiermo.theory.bounds import alpha, f_hierfavg, f_hiermo, j, j_slope, s, theorem_4, theorem_5, theorem_6
from hiermo.theory.constants import Constants

GOOD = Constants(
    eta=0.01, gamma=0.5, gamma_a=0.5, rho=2.0, beta=3.0, mu=0.9, omega=0.1, sigma=0.8,
    delta_edges=(0.2, 0.6), shares=(0.25, 0.75), divergences=(0.35, 0.15),
)  # fmt: skip
PERIODS = [(10,), (7, 3), (1, 1), (2.5, 4.25), (5, 2, 3), (3, 2, 2, 2)]
SETS = [
    GOOD,
    replace(GOOD, eta=1e-4, gamma=0.9, gamma_a=0.0, mu=0.3),
    replace(GOOD, beta=30.0, shares=(1.0,), delta_edges=(0.4,)),
]


def j_by_hand(periods, c, above=None):
    """The paper's for two periods, and the same once more for each further one."""

    def h(x, delta):
        return h_printed(x, delta, c.eta, c.beta, c.gamma)

    tau = periods[0]
    s_tau = mpf(c.gamma_a) * tau * c.eta * c.rho * (c.gamma * c.mu + c.gamma + 1)
    total = sum(share * (h(tau, delta) + s_tau) for share, delta in zip(c.shares, c.delta_edges, strict=True))
    delta = sum(share * each for share, each in zip(c.shares, c.delta_edges, strict=True))
    length = tau
    for tier, pi in enumerate(periods[1:]):
        length *= pi
        total = h(length, delta if above is None else above[tier]) + (pi + 1) * total
    return total


def test_s_is_the_printed_one():
    assert s(7, GOOD) == pytest.approx(0.5 * 7 * 0.01 * 2.0 * (0.5 * 0.9 + 0.5 + 1))


def test_alpha_is_that_of_the_constants():
    assert alpha(GOOD) == GOOD.alpha


@pytest.mark.parametrize("c", SETS)
@pytest.mark.parametrize("periods", PERIODS)
def test_j(periods, c):
    assert j(periods, c) == pytest.approx(float(j_by_hand(periods, c)), rel=1e-9)


@pytest.mark.parametrize("periods", [(10,), (7, 3), (5, 2, 3)])
def test_j_with_measured_divergences(periods):
    wanted = float(j_by_hand(periods, GOOD, above=GOOD.divergences))
    assert j(periods, GOOD, printed=False) == pytest.approx(wanted, rel=1e-9)


def test_edges_of_identical_workers_hide_their_differences_from_the_printed_one():
    alike = replace(GOOD, delta_edges=(0.0, 0.0), gamma_a=0.0)
    assert j((10, 2), alike) == 0
    assert j((10, 2), alike, printed=False) > 0


@pytest.mark.parametrize("c", SETS[:2])
@pytest.mark.parametrize(
    ("periods", "k"),
    [((10,), 0), ((7, 3), 0), ((7, 3), 1), ((1, 1), 0), ((5, 2, 3), 0), ((5, 2, 3), 1), ((5, 2, 3), 2)],
)
def test_the_slope_of_j_is_its_derivative(periods, k, c):
    def along(p):
        return j_by_hand([p if each == k else mpf(periods[each]) for each in range(len(periods))], c)

    with mp.workdps(40):
        wanted = diff(along, mpf(periods[k]))
    assert j_slope(periods, k, c) == pytest.approx(float(wanted), rel=1e-8)


@given(st.floats(1, 60), st.floats(1, 20), st.integers(0, 1), st.floats(0.01, 5))
def test_j_grows_with_every_period(tau, pi, k, more):
    longer = [tau, pi]
    longer[k] += more
    assert j(longer, GOOD) > j((tau, pi), GOOD)


def f_by_hand(T, periods, c, gap, gain):
    """The right-hand side of Theorem 5."""
    length = 1
    for period in periods:
        length *= period
    return 1 / (2 * T * gain) + c.rho * gap + sqrt(1 / (4 * T**2 * gain**2) + c.rho * gap / (gain * length))


@pytest.mark.parametrize("T", [1, 1000, 1e6])
@pytest.mark.parametrize("periods", PERIODS)
def test_theorem_5(periods, T):
    gain = GOOD.omega * GOOD.alpha * GOOD.sigma**2
    wanted = f_by_hand(T, periods, GOOD, float(j_by_hand(periods, GOOD)), gain)
    assert f_hiermo(T, periods, GOOD) == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=50)
@given(st.floats(1, 1e5), st.integers(1, 20), st.integers(1, 5), st.floats(0, 2.5))
def test_theorem_5_is_the_root_of_its_equation(T, tau, pi, mu):
    c = replace(GOOD, mu=mu)
    gap = j((tau, pi), c)
    root = f_hiermo(T, (tau, pi), c) - c.rho * gap
    gain = c.omega * c.alpha * c.sigma**2
    assert gain * root**2 == pytest.approx(root / T + c.rho * gap / (tau * pi), rel=1e-9)  # its denominators cleared


def test_theorem_4_meets_theorem_5_at_the_root():
    root = f_hiermo(1000, (10, 2), GOOD) - GOOD.rho * j((10, 2), GOOD)
    assert theorem_4(1000, root, (10, 2), GOOD) == pytest.approx(root, rel=1e-9)
    assert theorem_4(1000, 2 * root, (10, 2), GOOD) < root


def test_theorem_4_needs_a_large_enough_epsilon():
    gain = GOOD.omega * GOOD.alpha * GOOD.sigma**2
    least = sqrt(GOOD.rho * j((10, 2), GOOD) / (20 * gain))
    theorem_4(1000, 1.01 * least, (10, 2), GOOD)
    for epsilon in (0.99 * least, 0.0, -1.0):
        with pytest.raises(UserError, match="Theorem 4 needs epsilon above"):
            theorem_4(1000, epsilon, (10, 2), GOOD)


def test_without_drift_theorem_5_is_one_over_t():
    still = replace(GOOD, delta_edges=(0.0, 0.0), gamma_a=0.0)
    assert f_hiermo(500, (10, 2), still) == pytest.approx(1 / (500 * GOOD.omega * GOOD.alpha * GOOD.sigma**2))


@pytest.mark.parametrize("periods", PERIODS)
def test_hierfavg_is_the_limit_of_no_momentum(periods):
    plain = f_hierfavg(1000, periods, GOOD)
    gain = GOOD.omega * 0.01 * (1 - 3.0 * 0.01 / 2) * GOOD.sigma**2
    gap = float(j_by_hand(periods, replace(GOOD, gamma=0.0, gamma_a=0.0)))
    assert plain == pytest.approx(f_by_hand(1000, periods, GOOD, gap, gain), rel=1e-9)
    for gamma in (1e-4, 1e-7):
        near = f_hiermo(1000, periods, replace(GOOD, gamma=gamma, gamma_a=gamma))
        assert near == pytest.approx(plain, rel=100 * gamma)


def test_hierfavg_does_not_look_at_mu():
    assert f_hierfavg(1000, (10, 2), replace(GOOD, mu=50.0)) == f_hierfavg(1000, (10, 2), GOOD)


def test_theorem_6_as_eta_vanishes():
    """It holds for mu < 1, and the printed claim fails for mu > 1."""
    small = replace(GOOD, eta=1e-12)
    said = theorem_6(1000, (10, 2), small)
    assert said.hiermo_is_lower and said.holds_in_the_limit and said.alpha_hiermo > said.alpha_hierfavg
    counter = theorem_6(1000, (10, 2), replace(small, mu=1.5))
    assert not counter.hiermo_is_lower and not counter.holds_in_the_limit
    assert counter.alpha_hiermo < counter.alpha_hierfavg
    assert counter.hiermo / counter.hierfavg == pytest.approx(1 / (1 + 0.5 - 0.75), rel=1e-3)


def test_theorem_6_may_fail_at_an_eta_that_is_not_small():
    said = theorem_6(1e6, (20, 2), replace(GOOD, eta=0.2))
    assert said.holds_in_the_limit and not said.hiermo_is_lower


def test_overflow_is_infinity():
    wild = replace(GOOD, beta=60.0, eta=0.01)
    assert j((1e5, 10), wild) == f_hiermo(1000, (1e5, 10), wild) == j_slope((1e5, 10), 0, wild) == inf
    assert f_hiermo(1000, (1e5, 10), replace(wild, rho=0.0)) < inf


def test_refusals():
    with pytest.raises(UserError, match="alpha must be above 0"):
        f_hiermo(1000, (10, 2), replace(GOOD, mu=4.0))
    with pytest.raises(UserError, match=r"gamma must be in \(0, 1\)"):
        j((10, 2), replace(GOOD, gamma=0.0))
    with pytest.raises(UserError, match="gamma_a must be"):
        s(10, replace(GOOD, gamma_a=1.0))
    with pytest.raises(UserError, match="at most 1"):
        f_hierfavg(1000, (10, 2), replace(GOOD, eta=1.0))
    with pytest.raises(UserError, match=r"periods must be numbers of at least 1, not 0\.5"):
        j((0.5,), GOOD)
    with pytest.raises(UserError, match="not none"):
        j((), GOOD)
    with pytest.raises(UserError, match="4 periods need 3 measured divergences, not 2"):
        j((2, 2, 2, 2), GOOD, printed=False)
    with pytest.raises(UserError, match="T must be above 0"):
        f_hiermo(0, (10, 2), GOOD)
    with pytest.raises(UserError, match="needs omega alpha sigma"):
        theorem_5(1000, 0.1, (10, 2), replace(GOOD, omega=0.0))
    j((10, 2), replace(GOOD, mu=4.0))  # Theorems 1 to 3 do not need alpha
