"""Sources make numbers out of bits: those of their distribution, into the far tails, with the mean that they say."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy import stats

from hiermo.clock.draws import bits_at, keys_of
from hiermo.clock.sources import (
    Constant,
    Gamma,
    Inverse,
    Lognormal,
    Samples,
    ShiftedExponential,
    Times,
    flat_source,
    inverse,
    scaled,
    sigma_to_cv,
)

# (source, the same in scipy's words)
PAIRS = [
    *((Lognormal(mean, cv), mean, cv) for mean, cv in [(1.0, 0.1), (0.02, 0.5), (3.0, 1.0), (1.0, 3.0)]),
    *((Gamma(mean, cv), mean, cv) for mean, cv in [(1.0, 0.1), (0.02, 0.5), (3.0, 1.0), (1.0, 3.0)]),
    *((ShiftedExponential(shift, mean), mean, (mean - shift) / mean) for shift, mean in [(0.0, 2.0), (0.5, 0.7)]),
]


def in_scipy(source):
    if isinstance(source, Lognormal):
        sigma = np.sqrt(np.log(1 + source.cv**2))
        return stats.lognorm(s=sigma, scale=source.mean / np.sqrt(1 + source.cv**2))
    if isinstance(source, Gamma):
        return stats.gamma(a=source.cv**-2, scale=source.mean * source.cv**2)
    return stats.expon(loc=source.shift, scale=source.mean - source.shift)


def below(p):
    """The bits of the number that a share p of at most a half lies below."""
    return np.array([min(round(p * 2**64), 2**63 - 1)], np.uint64)


def above(q):
    """The bits of the number that a share q lies above."""
    return below(q) + np.uint64(2**63)


def random_bits(n=200_000, seed=0):
    return bits_at(keys_of(seed, "test", np.arange(n)), 7)


@pytest.mark.parametrize(("source", "mean", "cv"), PAIRS, ids=repr)
def test_draws_have_the_distribution_of_scipy(source, mean, cv):
    """Kolmogorov and Smirnov of 200,000 draws: a wrong parameter has p below 1e-50, and the seed is fixed."""
    drawn = source.drawn(random_bits())
    assert stats.kstest(drawn, in_scipy(source).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("source", "mean", "cv"), PAIRS, ids=repr)
def test_mean_and_variation_are_those_that_were_asked_for(source, mean, cv):
    assert source.mean == mean
    assert in_scipy(source).mean() == pytest.approx(mean, rel=1e-12)
    assert in_scipy(source).std() == pytest.approx(cv * mean, rel=1e-12)
    # evenly spread bits are a midpoint rule for the mean; cut off at 1e-6, the tail of cv = 3 lacks 1e-4 of it
    every = (np.arange(1 << 20, dtype=np.uint64) << np.uint64(44)) + np.uint64(1 << 43)
    assert source.drawn(every).mean() == pytest.approx(mean, rel=2e-4)


@pytest.mark.parametrize(("source", "mean", "cv"), PAIRS, ids=repr)
@pytest.mark.parametrize("p", [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.3, 0.499999, 0.5])
def test_quantiles_are_those_of_scipy_far_in_the_tails(source, mean, cv, p):
    """Between two of 256 places per factor of 2 a quantile that goes with p**k is off by k**2 / 8 / 256**2: k = cv**2
    for gamma, 9 at most, and about 1 or less for the others. 1e-12 of all bits are 2e7, whose last adds 5e-8."""
    found = source.drawn(np.concatenate([below(p), above(p)]))
    expected = [in_scipy(source).ppf(p), in_scipy(source).isf(p)]
    assert found == pytest.approx(expected, rel=3e-4 if isinstance(source, Gamma) and cv > 1 else 1e-5)


@pytest.mark.parametrize(("source", "mean", "cv"), PAIRS, ids=repr)
def test_the_ends_of_all_bits_are_finite_and_in_order(source, mean, cv):
    ends = np.array([0, 1, 2**63 - 1, 2**64 - 1, 2**63 + 1, 2**63], np.uint64)  # the upper half counts from its end
    found = source.drawn(ends)
    assert np.isfinite(found).all() and (found >= 0).all()
    assert (np.diff(found) >= 0).all() and found[0] < found[-1]


@given(st.sampled_from([source for source, _, _ in PAIRS]), st.floats(1e-12, 0.5), st.floats(1e-12, 0.5))
def test_quantiles_grow_with_their_share(source, p, q):
    small, large = sorted([p, q])
    low = source.drawn(np.concatenate([below(small), below(large)]))
    high = source.drawn(np.concatenate([above(large), above(small)]))
    assert low[0] <= low[1] <= high[0] * (1 + 1e-12) and high[0] <= high[1]


def test_a_shifted_exponential_never_falls_below_its_shift():
    drawn = ShiftedExponential(0.5, 0.7).drawn(np.concatenate([random_bits(), np.zeros(1, np.uint64)]))
    assert drawn.min() >= 0.5


def test_samples_are_as_likely_as_each_other():
    values = np.array([5.0, 1.0, 7.0, 1.0, 2.0])
    drawn = Samples(values).drawn(random_bits())
    counts = [(drawn == value).sum() for value in (5.0, 1.0, 7.0, 2.0)]
    assert stats.chisquare(counts, np.array([1, 2, 1, 1]) / 5 * len(drawn)).pvalue > 1e-3
    assert Samples(values).mean == 3.2


def test_every_sample_can_be_drawn_and_none_beyond_them():
    n = 1000
    firsts = np.array([-(-k * 2**64 // n) for k in range(n)], np.uint64)  # where the k-th share of all bits begins
    values = np.arange(float(n))
    assert Samples(values).drawn(firsts + np.uint64(2**32)).tolist() == values.tolist()
    assert Samples(values).drawn(np.array([0, 2**64 - 1], np.uint64)).tolist() == [0, n - 1]


def test_a_constant_is_the_same_for_all_bits():
    assert Constant(3).drawn(random_bits(4)).tolist() == [3.0] * 4
    assert Constant(3).mean == 3


@pytest.mark.parametrize(("source", "mean", "cv"), PAIRS, ids=repr)
def test_a_multiple_of_a_source_is_a_multiple_of_its_draws(source, mean, cv):
    twice = scaled(source, 2.0)
    assert twice == Times(source, 2.0) and twice.mean == 2 * mean
    assert np.array_equal(twice.drawn(random_bits(9)), 2 * source.drawn(random_bits(9)))


def test_a_multiple_of_a_constant_is_a_constant_and_once_a_source_is_itself():
    source = Gamma(1.0, 0.5)
    assert scaled(Constant(3.0), 0.5) == Constant(1.5)
    assert scaled(source, 1) is source


@pytest.mark.parametrize(
    "source",
    [Lognormal(2.0, 0.3), Lognormal(2.0, 1.0), Gamma(2.0, 0.3), Gamma(2.0, 0.6), ShiftedExponential(0.5, 2.0)],
    ids=repr,
)
def test_the_mean_time_per_byte_is_not_that_of_the_mean_bandwidth(source):
    """By scipy's integral over the density, to which the tail beyond its last point adds below 1e-8."""
    found = inverse(source)
    assert found == Inverse(source)
    assert found.mean == pytest.approx(in_scipy(source).expect(lambda x: 1 / x), rel=1e-6)
    assert found.mean > 1.02 / source.mean
    assert np.array_equal(found.drawn(random_bits(9)), 1 / source.drawn(random_bits(9)))


def test_the_mean_time_per_byte_of_measured_and_of_constant_bandwidths():
    assert inverse(Samples(np.array([1.0, 2.0, 4.0]))).mean == pytest.approx(1.75 / 3, rel=1e-15)
    assert inverse(Constant(4.0)) == Constant(0.25)


def test_bandwidths_that_come_near_to_none_take_for_ever_on_average():
    assert inverse(Gamma(1.0, 1.0)).mean == inverse(ShiftedExponential(0.0, 1.0)).mean == np.inf


def test_sigma_is_the_deviation_of_the_logarithm():
    drawn = np.log(Lognormal(2.0, sigma_to_cv(0.7)).drawn(random_bits()))
    assert drawn.std() == pytest.approx(0.7, rel=0.01)  # of 200,000 draws: 0.16 % is one deviation
    assert drawn.mean() == pytest.approx(np.log(2.0) - 0.7**2 / 2, abs=0.01)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_flat_source_says_the_same(factor):
    """What compiled code reads: values, and whether to turn and to multiply what is drawn of them."""
    source = Lognormal(1.0, 0.5)
    assert flat_source(Times(Inverse(source), factor))[1:] == (False, factor, True)
    assert np.array_equal(flat_source(source).values, source.table)
    assert flat_source(Constant(2))[0].tolist() == [2.0] and flat_source(Constant(2)).samples
    assert flat_source(Samples(np.array([1.0, 2.0]))).values.tolist() == [1.0, 2.0]
