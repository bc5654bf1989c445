import by_hand
from by_hand import PROBLEM
import numpy as np
import pytest

from helpers import difference, models
from hiermo import HierAdMo, Tree, UserError, run
from hiermo.algorithms.hieradmo import Edge, Report, Sums, Worker

TREE = Tree.from_groups(by_hand.GROUPS)


def vector(*numbers):
    return np.array(numbers)


def start(algorithm):
    return run(algorithm, TREE, PROBLEM, periods=(2, 2), iterations=8)


@pytest.mark.parametrize(("gamma", "cap"), [(0.5, 0.99), (0.5, 0.5), (0.3, 0.7), (0.3, 0.8), (0.99, 0.1)])
def test_the_position_form_needs_a_cap_below_1_minus_gamma(gamma, cap):
    with pytest.raises(UserError, match=f"diverges from cap = 1 - gamma = {1 - gamma:g} on: set cap below that"):
        start(HierAdMo(gamma=gamma, cap=cap, form="position"))


@pytest.mark.parametrize(
    "algorithm",
    [
        HierAdMo(),
        HierAdMo(gamma=0.9, cap=0.99),
        HierAdMo(gamma=0.5, cap=0.49, form="position"),
        HierAdMo(gamma=0, cap=0.99, form="position"),
        HierAdMo(gamma=0.5, fixed=0.3, form="position"),  # no cap is in use
    ],
    ids=repr,
)
def test_what_is_stable_is_taken(algorithm):
    assert np.isfinite(models(start(algorithm))).all()


# an edge that was at 1 and whose workers' mean is at 3
EDGE = Edge(x=vector(9.0), m=vector(8.0), y=vector(1.0))


@pytest.mark.parametrize(
    ("cosine", "gamma_a"), [(-1.0, 0), (-0.3, 0), (0.0, 0), (0.25, 0.25), (0.75, 0.75), (0.95, 0.9), (1.0, 0.9)]
)
def test_the_edge_momentum_is_the_workers_cosine_between_0_and_the_cap(cosine, gamma_a):
    found = HierAdMo(cap=0.9).edge(EDGE, Report(x=vector(3.0), m=vector(7.0), cos=vector(cosine)))
    assert found.x == pytest.approx(3 + gamma_a * (3 - 1), rel=1e-12)
    assert (found.m, found.y) == (7, 3)


@pytest.mark.parametrize(("s", "gamma_a"), [((2, 0), 0.9), ((0, 2), 0), ((-1, 0), 0), ((3, 4), 0.6), ((0, 0), 0)])
def test_the_edge_may_compare_its_own_step_with_the_mean_velocities(s, gamma_a):
    edge = Edge(x=vector(9.0, 9.0), m=vector(8.0, 8.0), y=vector(1.0, 3.0))
    mean = Sums(x=vector(3.0, 3.0), m=vector(7.0, 7.0), s=vector(*s) * 1.0)  # its step is (2, 0)
    found = HierAdMo(cap=0.9, agree="edge").edge(edge, mean)
    assert found.x.tolist() == pytest.approx([3 + gamma_a * 2, 3], rel=1e-12)


def test_a_worker_reports_the_cosine_of_its_gradients_and_velocities_of_this_edge_round():
    # gradients (1, 0) twice give g = (-2, 0); velocities -(0.1, 0) and -(0.15, 0) from rest: full agreement
    algorithm = HierAdMo(eta=0.1, gamma=0.5)
    w = Worker(x=vector(0.0, 0.0), m=vector(0.0, 0.0), g=vector(0.0, 0.0), s=vector(0.0, 0.0), cos=vector(0.0))
    for _ in range(2):
        w = algorithm.step(w, w, lambda x: vector(1.0, 0.0))
    assert w.g.tolist() == [-2, 0]
    assert w.s.tolist() == pytest.approx([-0.25, 0])
    assert algorithm.send(w, w, None).cos.tolist() == pytest.approx([1])


def test_the_sums_start_anew_after_every_edge_merge():
    states = list(run(HierAdMo(eta=0.05), TREE, PROBLEM, periods=(2, 2), iterations=8, every="iteration"))
    gradients = [by_hand.grad(i, states[1].tiers[1].x[TREE.parents[0][i]]) for i in range(6)]
    assert difference(states[2].tiers[0].g, -np.array(gradients)) < 1e-14  # of the first step after the merge alone


def test_the_cosine_adapts_in_a_run():
    """Neither 0 nor the cap all the time, or a run would not test the rule."""
    cosines = [state.tiers[0].cos for state in run(HierAdMo(eta=0.07), TREE, PROBLEM, periods=(2, 2), iterations=20)]
    assert np.ptp(cosines) > 0.1
    assert ((np.array(cosines) > 0) & (np.array(cosines) < 0.99)).any()


def test_a_fixed_momentum_that_makes_the_position_form_unstable_is_warned_of():
    with pytest.warns(UserWarning, match=r"unstable for gamma \+ fixed >= 1"):
        start(HierAdMo(gamma=0.5, fixed=0.9, form="position"))
