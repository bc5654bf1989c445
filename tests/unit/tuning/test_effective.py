"""The calibrated objective: what iterations are worth, whole rounds, a slow start."""

from itertools import product
from math import floor, inf

import numpy as np
import pytest

import hiermo
from hiermo.tuning.drift import POWER, WHOLE_RUN, Drift
from hiermo.tuning.effective import EffectiveObjective, Start, start_of
from hiermo.tuning.hieropt import exact
from hiermo.tuning.objective import Times

TIMES = Times(budget_s=100.0, theta_w=0.1, upper=(0.5, 2.0))


def even(*losses):
    """Drift that grows in proportion to time, so much per iteration."""
    return tuple(Drift(lost / WHOLE_RUN) for lost in losses)


def objective(drift=even(0.02, 0.004), times=TIMES, **more):  # noqa: B008 - immutable
    return EffectiveObjective(times=times, drift=drift, gain=0.5, **more)


def by_hand(tau, pi):
    rounds = floor(100 / (tau * pi * 0.1 + pi * 0.5 + 2))
    return rounds * tau * pi / (1 + 0.02 * (tau - 1) + 0.004 * (tau * pi - 1))


def test_drift_grows_with_its_power():
    drift = Drift(lost=0.5, length=20)
    expected = WHOLE_RUN * 0.5 * np.array([0, 0.25**POWER, 1.0, 4**POWER])
    assert drift.at(np.array([1, 6, 21, 81])) == pytest.approx(expected)
    assert Drift(lost=0.5, length=2).at(np.array([1, 2, 5])) == pytest.approx(WHOLE_RUN * np.array([0, 0.25, 1.0]))


@pytest.mark.parametrize("pair", [(1, 1), (10, 2), (20, 5), (7, 13), (100, 3)])
def test_value_by_hand(pair):
    worth = by_hand(*pair)
    assert objective().effective(np.array([pair]))[0] == pytest.approx(worth)
    assert objective().value(pair) == pytest.approx(1 / (0.5 * worth) if worth else inf)


def test_rounds_that_are_known_go_before_the_means_of_the_delays():
    found = objective().effective(np.array([(10, 2)]), np.array([3.0]))
    assert found[0] == pytest.approx(60 / (1 + 0.02 * 9 + 0.004 * 19))


def test_a_round_that_ends_with_the_budget_counts():
    exactly = Times(budget_s=3 * 0.3, theta_w=0.1, upper=(0.1, 0.1))  # 0.9 / 0.3 is 2.9999999999999996
    assert objective(even(0, 0), exactly).effective(np.array([(1, 1)]))[0] == 3


def test_the_search_finds_the_best_of_all():
    best = max(product(range(1, 200), range(1, 60)), key=lambda pair: by_hand(*pair))
    found = exact(objective(), TIMES)
    assert by_hand(*found.periods) == pytest.approx(by_hand(*best))


@pytest.mark.parametrize("drift, upper", [(even(0.01), (1.0,)), (even(0.01, 0.001, 0.0001), (0.2, 0.5, 3.0))])
def test_any_depth(drift, upper):
    times = Times(budget_s=60.0, theta_w=0.05, upper=upper)
    found = exact(objective(drift, times), times)
    around = product(*(range(max(1, p - 2), p + 3) for p in found.periods))
    worth = objective(drift, times)
    assert found.value <= min(worth.value(each) for each in around) + 1e-12


def test_floor_is_below_everything_beyond():
    rng = np.random.default_rng(0)
    for _ in range(200):
        low = rng.integers(1, 50, size=2)
        beyond = low + rng.integers(0, 50, size=2)
        assert objective().floor(low) <= objective().value(beyond) * (1 + 1e-12)


def test_slope_has_the_sign_of_the_smooth_part():
    flat = Times(budget_s=1e9, theta_w=0.1, upper=(0.5, 2.0))  # so many rounds that whole ones do not matter
    smooth = objective(times=flat)
    for pair, k in product([(2, 2), (20, 3), (300, 2), (10, 90)], (0, 1)):
        longer = tuple(p + (i == k) for i, p in enumerate(pair))
        shorter = tuple(p - (i == k) for i, p in enumerate(pair))
        rises = smooth.value(longer) - smooth.value(shorter)
        assert np.sign(smooth.slope(pair, k)) == np.sign(rises)


def test_more_drift_means_shorter_periods_and_dearer_messages_longer_ones():
    taus = [exact(objective(even(c, 0.0)), TIMES).periods[0] for c in (0.1, 0.01, 0.001)]
    assert taus == sorted(taus)
    dear = Times(budget_s=1000.0, theta_w=0.1, upper=(5.0, 20.0))
    assert np.prod(exact(objective(times=dear), dear).periods) > np.prod(exact(objective(), TIMES).periods)


def test_averaging_neither_gains_nor_loses_by_rounds():
    assert start_of(hiermo.HierFAVG(), 3).gained == pytest.approx(np.zeros(8), abs=1e-6)
    assert start_of(hiermo.FedAvg(), 2).at(np.array([1.0, 7.0, 1000.0])) == pytest.approx(np.ones(3), abs=1e-6)


def test_momentum_at_the_edges_gains_about_one_round():
    """As on whole grids: i.i.d. runs of T iterations with period tau get as far as T + tau (docs/reproduction)."""
    start = start_of(hiermo.HierMo(), 3)
    assert start.gained[0] < 0.2  # a single round has no momentum yet
    assert start.gained[-1] == pytest.approx(0.9, abs=0.1)
    assert start.at(np.array([1e6])) == pytest.approx([1.0], abs=1e-2)


def test_it_equals_a_loop_by_hand():
    def far(tau, eta, iterations, gamma=0.5, gamma_a=0.5):
        x = v = y = 0.0
        for t in range(1, iterations + 1):
            step = eta * np.exp(-x)
            v = gamma * v + step
            x += gamma * v + step
            if t % tau == 0:
                x, y = x + gamma_a * (x - y), x
        return np.exp(x) - 1

    eta = 6 / (4 * 40)  # HierMo's steps are four times as long in the end
    plain = [far(1, eta, t) for t in range(1, 81)]
    expected = (np.interp(far(8, eta, 40), plain, range(1, 81)) - 40) / 8
    assert start_of(hiermo.HierMo(), 3).gained[3] == pytest.approx(expected, abs=0.05)  # 5 rounds


@pytest.mark.parametrize(
    "name", ["SlowMo", "FedMom", "FedNAG", "DOMO", "FedADC", "Mime", "SCAFFOLD", "FedAdam", "DiLoCo", "FedProx"]
)
def test_every_algorithm_has_a_start(name):
    found = start_of(getattr(hiermo, name)(), 2).at(np.array([1.0, 3.0, 30.0, 1e3, 1e6]))
    assert (np.isfinite(found) & (found > 0)).all()


def test_momentum_at_the_edges_comes_up_to_speed_as_its_sum_says():
    """d_k = g d_(k-1) + S: after K rounds the model is at S / (1 - g) (K - (1 - g^K) g^2 / (1 - g))."""
    g, rounds = 0.5, np.arange(1, 11)
    shares = start_of(hiermo.HierMo(gamma=0.0, gamma_a=g), 3).shares
    assert shares == pytest.approx(1 - (1 - g**rounds) * g * g / (1 - g) / rounds, rel=1e-4)


def test_what_is_gained_at_the_start_stays_gained():
    start = Start((1, 2, 3), (0.5, 0.75, 0.75))
    assert start.at(np.array([10.0, 20.0])) == pytest.approx([1.075, 1.0375])
    assert start.at(np.array([1.0, 2.0, 3.0])) == pytest.approx([1.075] * 3)  # a few rounds do not gain more
    slow = Start((1, 2, 3), (0.5, 0.75, 0.75), (0.5, 0.75, 1.0))
    assert slow.at(np.array([1.0, 2.0, 3.0, 10.0])) == pytest.approx([0.5375, 0.80625, 1.075, 1.075])
    growing = Start((1, 2, 3), (0.5, 1.0, 1.5))
    assert growing.at(np.array([1.0, 3.0, 100.0])) == pytest.approx([1.0 + 1.5 / 10, 1.15, 1.5], abs=0.06)
