"""A model with BatchNorm on real digits: momentum moves the model and never its running statistics."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from helpers import assert_same_bits
import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.data.batches import Batches
from hiermo.data.partition.sizes import Sizes
from hiermo.engine.state import from_arrays
from hiermo.experiment import checkpoint

SIZES = (20, 60, 140)  # shares such as 3/11, which floating point has to round
TREE = hiermo.Tree.from_groups([[0, 1], [2]])
DATA = hiermo.load_data("mnist-5k", workers=3, by=Sizes(sizes=SIZES))
WIDTH, TAU, PI = 4, 3, 2
MEANS, VARIANCES, COUNT = slice(0, WIDTH), slice(WIDTH, 2 * WIDTH), 2 * WIDTH

# of CFL, one edge arrives at a time: there is no mean at the cloud
SYNCHRONOUS = [name for name in ALGORITHMS.builtin if name != "CFL"]
# whose aggregators move the model beyond the mean
MOVING = (
    "HierMo",
    "HierAdMo",
    "FastSlowMo",
    "SlowMo",
    "FedMom",
    "FedAvgM",
    "FedAdam",
    "FedYogi",
    "FedAdagrad",
    "DiLoCo",
)


def net():
    return nn.Sequential(
        nn.Conv2d(1, WIDTH, 5, stride=3), nn.BatchNorm2d(WIDTH), nn.ReLU(), nn.Flatten(), nn.Linear(WIDTH * 64, 10)
    )


def problem(dtype="float32", data=DATA):
    return hiermo.Supervised(net, data, batch=16, dtype=dtype)


def go(algorithm, dtype="float32", iterations=2 * TAU * PI, **options):
    flat = algorithm.tiers == 2
    tree, periods = (TREE.flatten(), (TAU * PI,)) if flat else (TREE, (TAU, PI))
    options = {"every": "iteration", "seed": 1} | options
    return hiermo.run(algorithm, tree, problem(dtype), periods=periods, iterations=iterations, **options)


def mean(rows, sizes):
    weights = np.array(sizes) / sum(sizes)
    return (weights[:, None] * rows.double().numpy()).sum(0)


@pytest.mark.parametrize("name", SYNCHRONOUS)
def test_merged_statistics_are_the_plain_mean(name):
    merges, moved = 0, []
    for state in go(ALGORITHMS.get(name)(), "float64"):
        merged = [(mean(state.buffers[0], SIZES), state.buffers[-1][0])] if state.t % (TAU * PI) == 0 else []
        if len(state.tiers) == 3 and state.t % TAU == 0:
            workers, edges, cloud = state.buffers
            below = [mean(workers[:2], SIZES[:2]), workers[2].numpy()]
            merged = list(zip(below, edges, strict=True))
            merged += [(mean(edges, (80, 140)), cloud[0])] if state.t % (TAU * PI) == 0 else []
        for expected, found in merged:
            # averages of three numbers of order 1 to 10 in float64
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
            merges += 1
        if merged:
            sizes = SIZES[:2] if len(state.tiers) == 3 else SIZES
            moved.append(np.abs(state.tiers[1].x[0].numpy() - mean(state.tiers[0].x[: len(sizes)], sizes)).max())
    assert merges == (2 if len(state.tiers) == 2 else 4 * 2 + 2)
    assert (max(moved) > 1e-6) == (name in MOVING)  # averages of weights of order 0.1 are off by 1e-17


def batch_of(worker, t, seed):
    chosen = Batches(DATA.parts, 16, seed).indices([worker], t)[0]
    return torch.as_tensor(DATA.train_x[chosen]).double() / 255, torch.as_tensor(DATA.train_y[chosen])


@pytest.mark.parametrize("name", ["HierMo", "SlowMo", "FedAdam"])
def test_all_go_on_from_the_merged_statistics(name):
    """The first batch after a cloud merge moves the cloud's statistics, by the cloud's model."""
    flat = problem().flat
    before, after = list(go(ALGORITHMS.get(name)(), "float64"))[TAU * PI - 1 : TAU * PI + 1]
    for worker in range(3):
        module = flat.load(net().double(), before.model, before.model_buffers).train()
        module(batch_of(worker, after.t, seed=1)[0])
        # means and variances over some thousand numbers of order 1 in float64
        np.testing.assert_allclose(after.buffers[0][worker], flat.statistics(module, torch.float64), rtol=1e-12)


def test_a_worker_does_what_torch_does():
    """Plain SGD on the same batches, with torch's own loop and optimiser."""
    bench = problem("float64")
    states = list(hiermo.run(hiermo.HierFAVG(eta=0.1), TREE, bench, periods=(6, 1), iterations=6, every="iteration"))
    worker = 1
    module = bench.flat.load(net().double(), bench.initial(0), bench.initial_buffers(0)).train()
    sgd = torch.optim.SGD(module.parameters(), lr=0.1)
    for state in states:
        inputs, targets = batch_of(worker, state.t, seed=0)
        sgd.zero_grad()
        nn.functional.cross_entropy(module(inputs), targets).backward()
        sgd.step()
        found = bench.flat.statistics(module, torch.float64), bench.flat.vector(module, torch.float64)
        for ours, theirs in zip((state.buffers[0][worker], state.tiers[0].x[worker]), found, strict=True):
            # six steps of sums of some hundred products of order 1 in float64
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
    assert module[1].num_batches_tracked == 6


def test_statistics_are_never_extrapolated():
    """Variances fall from 1 to what pixels have; with momentum they would fall below zero."""
    algorithm = hiermo.HierMo(eta=0.001, gamma=0.5, gamma_a=0.99)
    bench = problem("float64")
    options = {"periods": (20, 1), "iterations": 40, "every": "iteration"}
    states = list(hiermo.run(algorithm, TREE, bench, **options))
    for state in states:
        for tier in state.buffers:
            assert (tier[:, VARIANCES] > 0).all()
    assert np.isfinite(bench.evaluate(state.model, state.model_buffers)["loss"])
    before, after = torch.ones(WIDTH), states[19].buffers[-1][0][VARIANCES]
    assert (after + 0.99 * (after - before) < 0).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["HierMo", "FedAdam"])
def test_batches_are_counted_exactly(name, dtype):
    bench = problem(dtype)
    for state in go(ALGORITHMS.get(name)(), dtype, iterations=4 * TAU * PI, every="cloud"):
        module = bench.flat.load(net(), state.model, state.model_buffers)
        assert module[1].num_batches_tracked.dtype == torch.int64
        assert module[1].num_batches_tracked == state.t
        if dtype == "float32":  # averages are made in float64: what is left of their rounding is cut off
            assert all((tier[:, COUNT] == state.t).all() for tier in state.buffers)


@pytest.mark.parametrize("name", ["HierMo", "FedAdam", "Mime"])
def test_going_on_from_a_checkpoint_gives_the_same_bits(name, tmp_path):
    algorithm = ALGORITHMS.get(name)()
    whole = list(go(algorithm))
    for done in (1, TAU, TAU * PI + 1):
        file = tmp_path / f"{done}.safetensors"
        checkpoint.save(file, whole[done - 1], elapsed_s=0.0)
        arrays, place, _ = checkpoint.load(file)
        tensors = {key: torch.as_tensor(value) for key, value in arrays.items()}
        again = from_arrays(algorithm, whole[0].model, len(whole[0].tiers), tensors, place)
        assert again.buffers is not None
        for after, expected in zip(go(algorithm, start=again), whole[done:], strict=True):
            assert_same_bits(after, expected)


@pytest.fixture(scope="module")
def trained():
    """A model of HierMo after 100 iterations, and its statistics."""
    data = hiermo.load_data("mnist-5k", workers=4)
    bench = hiermo.Supervised(net, data, batch=32)
    tree = hiermo.Tree.regular(edges=2, workers_per_edge=2)
    (*_, state) = hiermo.run(hiermo.HierMo(eta=0.05), tree, bench, periods=(5, 2), iterations=100)
    return bench, data, state


def accuracy(bench, state, statistics):
    return bench.evaluate(state.model, statistics)["accuracy"]


def recomputed(bench, data, state):
    """Statistics of the merged model itself, over all the training data."""
    module = deepcopy(bench.flat.load(net(), state.model, state.model_buffers))
    module[1].reset_running_stats()
    module[1].momentum = None  # the mean over all batches
    module.train()
    with torch.no_grad():
        for part in torch.as_tensor(data.train_x).split(500):
            module(part / 255)
    return bench.flat.statistics(module, torch.float32)


def test_merged_statistics_suit_the_merged_model(trained):
    bench, data, state = trained
    merged = accuracy(bench, state, state.model_buffers)
    own = accuracy(bench, state, recomputed(bench, data, state))
    fresh = accuracy(bench, state, bench.initial_buffers(0))
    assert merged > 0.85
    # BatchNorm remembers some ten batches, here of 4 x 32 digits, whose means are off by a fiftieth of a deviation: of
    # 1000 test digits those near a border change sides
    assert abs(merged - own) < 0.02
    assert merged > fresh + 0.1
