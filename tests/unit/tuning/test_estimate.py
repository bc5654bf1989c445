"""From looks to constants: robust rules, caps, uncertainties."""

import numpy as np
import pytest

import hiermo
from hiermo.tuning.drift import MOST
from hiermo.tuning.estimate import LEAST_GAIN, Estimate, estimates, least_loss, most_mu
from hiermo.tuning.sight import Sight

TREE = hiermo.Tree.regular(edges=2, workers_per_edge=2)
SIZES = [1, 3, 2, 2]
MOMENTA = (0.01, 0.5, 0.5)


def sight(t=10, **told):
    usual = {
        "since": 10,
        "loss": 1.0,
        "gradient": 1.0,
        "gradients": [1.0] * 4,
        "smoothness": [2.0] * 8,
        "apart": [[1.0, 2.0, 3.0, 4.0], [0.5, 0.7]],
        "momenta": [0.9] * 4,
        "kept": [0.81, 0.9801],
        "noise": [0.0, 0.0],
    }
    return Sight(t=t, **{**usual, **told})


def found_in(*sights, momenta=MOMENTA):
    first = sight(0, loss=2.0, kept=[], noise=[], smoothness=[], momenta=[])
    return estimates([first, *sights], TREE, SIZES, momenta)


def test_divergences_are_means_by_data():
    found = found_in(sight(10), sight(20))
    assert found.constants.delta_edges == pytest.approx(((1 * 1 + 2 * 3) / 4, (3 + 4) / 2))
    assert found.constants.shares == pytest.approx((0.5, 0.5))
    assert found.of["delta"].value == pytest.approx(found.constants.delta)
    assert found.of["edge_to_cloud"].value == pytest.approx(0.6)
    assert found.of["edge_to_cloud"].uncertainty == pytest.approx(0, abs=1e-12)  # both looks saw the same


def test_drift_is_read_off_what_is_kept():
    """1 / (1 + d)^2 = 0.81 of the workers after 10 iterations, and 0.9801 of the edges."""
    found = found_in(sight())
    assert [each.value for each in found.lost] == pytest.approx([1 / 0.9 - 1, 1 / 0.99 - 1])
    assert [(each.lost, each.length) for each in found.drift] == [(each.value, 10) for each in found.lost]


def test_the_longest_time_apart_counts():
    found = found_in(sight(10, since=10, kept=[0.8, 0.8]), sight(50, since=40, kept=[0.25, 0.81]))
    assert [(each.lost, each.length) for each in found.drift] == [(pytest.approx(1.0), 40), (pytest.approx(1 / 9), 40)]


def test_nobody_gains_by_going_apart_and_nothing_is_infinite():
    workers, edges = found_in(sight(kept=[1.05, -3.0]), sight(kept=[float("nan"), -3.0])).lost
    assert workers.value == 0
    assert 0 < edges.value < 10


def test_no_more_is_kept_than_batches_agree_about():
    (workers, edges) = found_in(sight(kept=[1.01, 0.64], noise=[0.19, 0.1])).lost
    assert (workers.value, edges.value) == (pytest.approx(1 / 0.9 - 1), pytest.approx(1 / 0.8 - 1))


def test_a_first_plateau_is_not_taken_for_the_whole_run():
    found = found_in(sight(kept=[0.04, 0.9]))
    assert found.lost[0].value == pytest.approx(4.0)
    assert found.drift[0].lost == pytest.approx(MOST * 10)
    assert "plateau" in found.lost[0].rule and "plateau" not in found.lost[1].rule


def test_drift_that_cannot_be_seen_is_assumed_and_it_is_said():
    unseen = sight(kept=[float("nan")] * 2, gradient=0.0)
    found = found_in(unseen, unseen)
    assert [each.lost for each in found.drift] == [pytest.approx(0.1)] * 2
    assert any("noise of batches" in note for note in found.notes)


def test_one_odd_number_does_not_spoil_a_constant():
    odd = found_in(*(sight(t) for t in range(10, 60, 10)), sight(60, gradients=[1.0, 1.0, 1.0, 500.0]))
    assert odd.of["rho"].value == pytest.approx(1.0)
    odd = found_in(*(sight(t) for t in range(10, 60, 10)), sight(60, momenta=[0.9, 0.9, 0.9, 1e6]))
    assert odd.of["mu"].value == pytest.approx(0.9)


def test_a_single_look_is_taken_to_be_off_by_half():
    (workers, _), more = found_in(sight()).lost, found_in(sight(), sight(20, kept=[0.7, 0.95])).lost
    assert workers.uncertainty == pytest.approx(workers.value / 2)
    assert more[0].uncertainty > 0


@pytest.mark.parametrize("beta", [1e-3, 0.1, 10.0, 60.0])
def test_the_largest_mu_leaves_a_tenth_of_eta(beta):
    mu = most_mu(0.01, beta, 0.5)
    found = found_in(sight(smoothness=[beta] * 8, momenta=[1e9] * 4))
    assert found.constants.mu == mu
    assert found.constants.alpha == pytest.approx(LEAST_GAIN * 0.01, rel=1e-6)
    found.constants.check()
    assert any("mu = " in note for note in found.notes)


def test_a_step_that_is_too_long_for_the_bound_is_said_and_does_not_stop_it():
    found = found_in(sight(smoothness=[1e4] * 8))
    assert found.of["beta"].value == pytest.approx(1e4)
    assert found.constants.beta * 0.01 * 1.5 == pytest.approx(1)
    assert any("beta" in note for note in found.notes)


def test_without_momentum_there_is_no_mu():
    found = found_in(sight(momenta=[]), momenta=(0.01, 0.0, 0.0))
    assert found.of["mu"] == Estimate(0.0, 0.0, "no momentum at the workers")


def test_unknown_velocities_are_those_of_a_constant_gradient():
    found = found_in(sight(momenta=[]), momenta=(0.01, 0.8, 0.0))
    assert found.of["mu"].value == pytest.approx(4)


@pytest.mark.parametrize("least", [0.0, 0.2, 0.45])
def test_the_least_loss_is_extrapolated(least):
    sights = [sight(t, loss=least + 1 / (0.5 + 0.05 * t)) for t in (0, 10, 20, 30, 40)]
    found = least_loss(sights)
    assert found.value == pytest.approx(least, abs=0.01)
    assert found.value + found.uncertainty == pytest.approx(min(each.loss for each in sights))


def test_few_looks_assume_that_no_loss_is_below_zero():
    assert least_loss([sight(0, loss=2.0), sight(10, loss=1.5)]).value == 0
    below = least_loss([sight(0, loss=-1.0), sight(10, loss=-1.5)])
    assert below.value < -1.5


def test_everything_is_finite_at_a_stationary_point():
    still = sight(gradient=0.0, gradients=[0.0] * 4, momenta=[], kept=[float("nan")] * 2, smoothness=[], loss=0.0)
    found = found_in(still, still)
    assert all(np.isfinite([each.value, each.uncertainty]).all() for each in (*found.of.values(), *found.lost))
