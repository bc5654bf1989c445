"""A look at a run in progress, on quadratics where everything can be computed by hand."""

import numpy as np
import pytest

import hiermo
from hiermo.tuning.sight import batches_of, look

TREE = hiermo.Tree.regular(edges=2, workers_per_edge=2)
CURVATURE = np.array([1.0, 2.0, 3.0, 4.0])
PULL = np.array([1.0, -1.0, 2.0, 5.0])
SIZES = [1, 3, 2, 2]


@pytest.fixture
def problem():
    return hiermo.Quadratic(A=CURVATURE[:, None, None], b=PULL[:, None], sizes=SIZES)


def gradient(x):
    return CURVATURE * x - PULL


def seen(problem, x, **more):
    return look(problem, TREE, 0, 7, 3, np.asarray(x, float)[:, None], 0.5, **more)


def test_it_tells_lengths_of_gradients_by_hand(problem):
    x = np.array([0.0, 1.0, -1.0, 2.0])
    sight = seen(problem, x)
    assert (sight.t, sight.since, sight.loss) == (7, 3, 0.5)
    assert sight.gradients == pytest.approx(np.abs(gradient(x)))
    mean = np.average(x, weights=SIZES)
    assert sight.gradient == pytest.approx(abs(np.average(gradient(mean), weights=SIZES)))


def test_it_tells_how_far_nodes_are_from_their_parents(problem):
    x = np.array([0.0, 1.0, -1.0, 2.0])
    sight = seen(problem, x)
    edges = np.array([(0 * 1 + 1 * 3) / 4, (-1 * 2 + 2 * 2) / 4])
    at_edge = gradient(np.repeat(edges, 2))
    own = np.array([np.average(at_edge[:2], weights=SIZES[:2]), np.average(at_edge[2:], weights=SIZES[2:])])
    assert sight.apart[0] == pytest.approx(np.abs(at_edge - np.repeat(own, 2)))
    at_cloud = gradient(np.average(x, weights=SIZES))
    of_edges = [np.average(at_cloud[:2], weights=SIZES[:2]), np.average(at_cloud[2:], weights=SIZES[2:])]
    assert sight.apart[1] == pytest.approx(np.abs(of_edges - np.average(at_cloud, weights=SIZES)))


def test_smoothness_is_curvature(problem):
    found = seen(problem, [0.0, 1.0, -1.0, 2.0]).smoothness
    assert found == pytest.approx([*CURVATURE, *CURVATURE])  # worker and edge, edge and cloud


def test_models_that_agree_say_nothing_of_smoothness_and_keep_all_of_the_gradient(problem):
    sight = seen(problem, [0.5] * 4)
    assert sight.smoothness == []
    assert sight.kept == pytest.approx([1.0, 1.0])


def test_what_is_kept_is_the_part_along_the_whole_gradient(problem):
    x = np.array([0.0, 1.0, -1.0, 2.0])
    edges = np.repeat([(0 * 1 + 1 * 3) / 4, (-1 * 2 + 2 * 2) / 4], 2)
    of_workers = np.average(gradient(x), weights=SIZES)
    of_edges = np.average(gradient(edges), weights=SIZES)
    of_cloud = np.average(gradient(np.average(x, weights=SIZES)), weights=SIZES)
    sight = seen(problem, x)
    assert sight.kept == pytest.approx([of_workers / of_edges, of_edges / of_cloud])
    assert sight.noise == pytest.approx([0, 0], abs=1e-12)  # full gradients: all batches say the same


def test_momenta_are_relative_to_the_step(problem):
    x, pulls = np.array([0.0, 1.0, -1.0, 2.0]), np.array([0.1, 0.2, 0.3, 0.4])
    found = seen(problem, x, velocities=pulls[:, None], eta=0.1).momenta
    assert found == pytest.approx(pulls / (0.1 * np.abs(gradient(x))))


def test_a_tree_of_four_tiers_has_three_kinds_of_going_apart():
    tree = hiermo.Tree.branching(2, 2, 2)
    rng = np.random.default_rng(0)
    problem = hiermo.Quadratic(A=rng.uniform(1, 2, (8, 1, 1)), b=rng.normal(size=(8, 1)), sizes=[1] * 8)
    sight = look(problem, tree, 0, 1, 1, rng.normal(size=(8, 1)), 1.0)
    assert list(map(len, sight.apart)) == [8, 4, 2]
    assert len(sight.kept) == 3


def test_noise_of_batches_does_not_count_as_divergence():
    """Workers with the same data distribution: independent batches differ by chance, and products of two do not."""
    tree = hiermo.Tree.regular(edges=2, workers_per_edge=4)
    data = hiermo.load_data("mnist-5k", workers=8)
    problem = hiermo.Supervised(hiermo.make_model("logistic", data), data, batch=32, threads=1)
    x = problem.initial(0)[None].repeat(8, 1)
    plain = []
    for t in range(5):
        gradients = problem.grad(0, t, np.arange(8), x).double().numpy()
        plain.append(np.linalg.norm(gradients - gradients.mean(0), axis=1).mean())
    looks = [np.mean(look(problem, tree, 0, t, 1, x, 1.0).apart[0]) for t in range(0, 10, 2)]
    # the plain distances are noise alone, some 0.4; what is left of them after averaging signs is a fraction
    assert abs(np.mean(looks)) < 0.5 * np.mean(plain)


@pytest.mark.parametrize("workers, batch, batches", [(16, 64, 2), (4, 32, 16), (4, 128, 4), (1000, 64, 2), (1, 1, 16)])
def test_few_samples_make_more_batches(workers, batch, batches):
    class WithBatch:
        pass

    problem = WithBatch()
    problem.batch = batch
    assert batches_of(problem, workers) == batches


def test_more_batches_bring_the_gradient_out_of_its_noise():
    tree = hiermo.Tree.regular(edges=2, workers_per_edge=2)
    data = hiermo.load_data("mnist-5k", workers=4)
    problem = hiermo.Supervised(hiermo.make_model("logistic", data), data, batch=8, threads=1)
    x = problem.initial(0)[None].repeat(4, 1)
    full = problem.full_grad(np.arange(4), x).mean(0).norm()
    errors = {
        batches: np.std([look(problem, tree, 0, t, 1, x, 1.0, batches=batches).gradient for t in range(0, 200, 20)])
        for batches in (2, 16)
    }
    assert errors[16] < errors[2]
    assert look(problem, tree, 0, 0, 1, x, 1.0, batches=16).gradient == pytest.approx(float(full), rel=0.25)
