"""The pilot: its size, its cost, its repeatability, its file."""

import json

import numpy as np
import pytest

import hiermo
from hiermo.core.errors import Diverged
from hiermo.tuning.objective import Times
from hiermo.tuning.pilot import Pilot, Size, chosen_size, momenta, pull, run_pilot
from unit.tuning.recipes import small_with_problem

TREE = hiermo.Tree.regular(edges=2, workers_per_edge=2)


def quadratic():
    rng = np.random.default_rng(0)
    return hiermo.Quadratic(A=rng.uniform(1, 2, (4, 1, 1)) * np.eye(3), b=rng.normal(size=(4, 3)), sizes=[1, 2, 3, 4])


@pytest.mark.parametrize("budget_s", [50.0, 200.0, 1000.0, 1e5])
@pytest.mark.parametrize("upper", [(0.2, 0.5), (1.0, 1.5), (0.1, 3.0), (2.0,), (0.1, 0.5, 2.0)])
def test_it_takes_no_more_than_its_share(budget_s, upper):
    times = Times(budget_s=budget_s, theta_w=0.05, upper=upper)
    size = chosen_size(times)
    assert size.n_periods == len(upper)
    assert size.seconds(times) <= 0.05 * budget_s or size.rounds == (1,)


def test_more_time_never_makes_it_smaller():
    sizes = [chosen_size(Times(budget_s=b, theta_w=0.1, upper=(0.5, 2.0))).iterations for b in (10, 100, 300, 1e3, 1e4)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_its_seconds_by_hand():
    times = Times(budget_s=100.0, theta_w=0.1, upper=(0.5, 2.0))
    # 2 and 10 steps, after each 2 batches at three tiers' models; up, down, up
    assert Size((2, 10), 2).seconds(times) == pytest.approx((12 + 2 * 6) * 0.1 + 2 * 1.5 * 2.5)


def test_cheap_iterations_make_it_longer():
    quick, slow = (chosen_size(Times(budget_s=500.0, theta_w=theta, upper=(1.0, 1.5))) for theta in (0.02, 1.0))
    assert quick.rounds[-1] == 80 and slow.rounds[-1] <= 10


def test_it_looks_before_the_first_step_and_at_every_merge_of_the_root():
    pilot = run_pilot(quadratic(), hiermo.HierMo(eta=0.1), TREE, Size((2, 5), 2), seed=0)
    assert [(sight.t, sight.since) for sight in pilot.sights] == [(0, 0), (2, 2), (7, 5)]
    assert pilot.sights[0].kept == [] and len(pilot.sights[1].kept) == 2


def test_it_is_repeatable_and_keeps_its_file():
    recipe, problem = small_with_problem()
    runs = [run_pilot(problem, recipe.algorithms[0].made, TREE, Size((1, 3), 2), seed=3) for _ in range(2)]
    assert runs[0] == runs[1]
    assert Pilot.from_facts(json.loads(json.dumps(runs[0].facts()))) == runs[0]


def test_velocities_are_the_papers():
    algorithm = hiermo.HierMo(eta=0.1, gamma=0.5)
    *_, state = hiermo.run(algorithm, TREE, quadratic(), periods=(3, 1), iterations=6)
    assert np.array_equal(pull(algorithm, state.tiers[0]), 0.5 * state.tiers[0].m)
    assert momenta(algorithm) == (0.1, 0.5, 0.5)
    with pytest.warns(UserWarning, match="unstable"):
        position = hiermo.HierMo(eta=0.1, gamma=0.5, form="position")
        *_, state = hiermo.run(position, TREE, quadratic(), periods=(3, 1), iterations=3)
    worker = state.tiers[0]
    assert np.array_equal(pull(position, worker), worker.x - worker.m)  # x = y + gamma v
    assert pull(hiermo.HierFAVG(), worker) is None
    assert momenta(hiermo.HierFAVG(eta=0.2)) == (0.2, 0.0, 0.0)


def test_one_that_diverges_says_what_it_saw_before():
    wild = hiermo.HierMo(eta=1e4)
    long = run_pilot(quadratic(), wild, TREE, Size((1,) * 200, 2), seed=0)
    assert 2 <= len(long.sights) < 201
    with pytest.raises(Diverged):
        run_pilot(quadratic(), hiermo.HierMo(eta=1e200), TREE, Size((10, 10), 2), seed=0)
