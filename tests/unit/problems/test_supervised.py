"""Gradients of `Supervised` against plain torch, and their bits."""

from copy import deepcopy
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import hiermo
from hiermo import Supervised, make_model
from hiermo.data.batches import Batches
from hiermo.data.partition.iid import Iid
from hiermo.data.partitioned import partition
from hiermo.data.randomness import stream
from hiermo.data.sources.synthetic import Synthetic

BATCH, WORKERS = 16, 3
EXACT = 1e-12  # some hundred products and sums of numbers of order 1, in float64


def images(n, workers, shape=(1, 8, 8)):
    x = stream(0, "test images").integers(0, 256, (n, *shape)).astype(np.uint8)
    y = np.arange(n) % 10
    return partition(hiermo.Dataset("own", x, y, x[:30], y[:30], 10), Iid(), workers)


IMAGES = images(64, WORKERS)  # 22, 21, 21
POINTS = partition(Synthetic(samples=61, test_samples=25, features=8, classes=4).load(Path()), Iid(), WORKERS)
LINE = SimpleNamespace(
    train_x=POINTS.train_x, train_y=POINTS.train_x[:, 0] ** 2, test_x=None, test_y=None, parts=POINTS.parts
)


class Own(nn.Module):
    """A forward of one's own: a residual, a bare parameter, a frozen layer, and one that is never used."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.unused = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(2, 2)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.scale = nn.Parameter(torch.tensor(0.7))

    def forward(self, x):
        return self.two(x + self.scale * torch.tanh(self.frozen(self.one(x))))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.there, self.back, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4)
        self.back.weight = self.there.weight

    def forward(self, x):
        return self.out(self.back(torch.relu(self.there(x))))


def one_hot_error(outputs, targets):
    return functional.mse_loss(outputs, functional.one_hot(targets, 10).double())


def smooth(outputs, targets):
    return functional.cross_entropy(outputs, targets, label_smoothing=0.1)


def line_error(outputs, targets):
    return functional.mse_loss(outputs.squeeze(1), targets)


entropy = functional.cross_entropy
CASES = {  # model, data, loss, the same in plain torch
    "logistic": (make_model("logistic", IMAGES), IMAGES, "cross_entropy", entropy),
    "linear": (make_model("linear", IMAGES), IMAGES, "mse", one_hot_error),
    "cnn": (make_model("cnn", IMAGES, channels=(2, 3), hidden=(5,)), IMAGES, "cross_entropy", entropy),
    "own module": (Own, POINTS, "cross_entropy", entropy),
    "tied": (Tied, POINTS, "cross_entropy", entropy),
    "bare layer": (partial(nn.Linear, 8, 4), POINTS, "cross_entropy", entropy),
    "own loss": (partial(nn.Linear, 8, 4), POINTS, smooth, smooth),
    "regression": (partial(nn.Linear, 8, 1), LINE, "mse", line_error),
    "batch norm": (
        lambda: nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4)),
        POINTS,
        "cross_entropy",
        entropy,
    ),
}


def problem_and_models(name, **options):
    model, data, loss, _ = CASES[name]
    problem = Supervised(model, data, BATCH, loss, **{"dtype": "float64", **options})
    d = problem.dimension
    drift = torch.from_numpy(stream(1, "drift").standard_normal((WORKERS, d))) / 10
    return problem, problem.initial(0) + drift.to(problem.dtype)  # not at zero, and every worker elsewhere


def plain(name, problem, x, chosen):
    """By loss.backward() of an ordinary module in training mode."""
    _, data, _, loss = CASES[name]
    module = deepcopy(problem.module).train()
    trained = [p for p in module.parameters() if p.requires_grad]
    vector_to_parameters(x, trained)
    inputs, targets = (torch.from_numpy(array[chosen]) for array in (data.train_x, data.train_y))
    inputs = inputs.double() / 255 if inputs.dtype == torch.uint8 else inputs.double()
    loss(module(inputs), targets.double() if targets.is_floating_point() else targets).backward()
    return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_torchs(name):
    problem, x = problem_and_models(name)
    chosen = Batches(problem.parts, BATCH, seed=5).indices(range(WORKERS), t=4)
    for workers in ([0, 1, 2], [2, 0], [1]):
        found = problem.grad(5, 4, np.array(workers), x[workers])
        for row, i in enumerate(workers):
            expected = plain(name, problem, x[i], chosen[i])
            assert expected.abs().max() > 1e-2
            assert (found[row] - expected).abs().max() < EXACT


@pytest.mark.parametrize("name", [name for name in CASES if name != "batch norm"])  # its batches see different means
def test_full_gradient_is_that_of_all_data(name):
    problem, x = problem_and_models(name, evaluate_batch=8)  # 8 + 8 + 4, 5 or 6
    found = problem.full_grad([2, 0], x[[2, 0]])
    for row, i in enumerate([2, 0]):
        expected = plain(name, problem, x[i], problem.parts[i])
        assert (found[row] - expected).abs().max() < EXACT


def test_running_statistics_move_as_torchs():
    problem, x = problem_and_models("batch norm")
    buffers = torch.stack([problem.initial_buffers()] * WORKERS)
    assert buffers[0].tolist() == [0.0] * 6 + [1.0] * 6 + [0.0]
    modules = [deepcopy(problem.module).train() for _ in range(WORKERS)]
    for t in (1, 2, 3):
        problem.grad(0, t, [0, 1, 2], x, buffers)
        for i, module in enumerate(modules):
            vector_to_parameters(x[i], module.parameters())
            samples = torch.from_numpy(POINTS.train_x[problem._batches.chosen(0, t, [i])]).double()
            module(samples)
            expected = torch.cat([buffer.reshape(-1).double() for buffer in module.buffers()])
            assert (buffers[i] - expected).abs().max() < EXACT
    assert buffers[:, -1].tolist() == [3.0, 3.0, 3.0]  # num_batches_tracked


def test_statistics_are_left_alone_where_none_are_given_and_by_the_full_gradient():
    problem, x = problem_and_models("batch norm")
    start, buffers = problem.initial_buffers(), torch.stack([problem.initial_buffers()] * WORKERS)
    problem.grad(0, 1, [0, 1, 2], x)
    problem.full_grad([0, 1, 2], x, buffers)
    assert torch.equal(problem.initial_buffers(), start)
    assert all(torch.equal(row, start) for row in buffers)


def test_a_count_of_batches_just_below_a_whole_number_is_that_number():
    problem, x = problem_and_models("batch norm")
    buffers = problem.initial_buffers()[None]
    buffers[0, -1] = np.nextafter(7.0, 0.0)  # as a weighted average leaves it
    problem.grad(0, 1, [0], x[:1], buffers)
    assert buffers[0, -1] == 8.0


def test_only_models_with_statistics_have_buffers():
    assert problem_and_models("cnn")[0].initial_buffers() is None


def test_frozen_parameters_are_used_and_stay():
    problem, x = problem_and_models("own module")
    trained = 8 * 8 + 8 + 8 * 4 + 4 + 2 * 2 + 2 + 1
    assert problem.dimension == trained == len(x[0])
    frozen = problem.module.frozen.weight.clone()
    before = problem.grad(0, 1, [0], x[:1])
    assert torch.equal(problem.module.frozen.weight, frozen)
    other = Supervised(partial(_with, frozen=2 * frozen, model=problem.module), POINTS, BATCH, dtype="float64")
    assert not torch.allclose(other.grad(0, 1, [0], x[:1]), before)


def _with(model, frozen):
    module = deepcopy(model)
    module.frozen.weight.data.copy_(frozen)
    return module


# --- bits ------------------------------------------------------------------------------------------------------------

DIGITS = images(17 * 8, 17, (1, 28, 28))
SMALL = images(17 * 8, 17)

BITS = {
    "logistic": (make_model("logistic", DIGITS), DIGITS, 64),
    "mlp": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10)),
        DIGITS,
        64,
    ),
    "odd mlp": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 7), nn.Sigmoid(), nn.Linear(7, 10)),
        SMALL,
        5,
    ),
    "batches of one": (make_model("logistic", SMALL), SMALL, 1),
    "cnn": (make_model("cnn", SMALL, channels=(3, 5), hidden=(7,)), SMALL, 5),
}


def bits(name, **options):
    model, data, batch = BITS[name]
    problem = Supervised(model, data, batch, evaluate_batch=29, **options)  # 29 + 1
    start = problem.initial(0)
    return problem, start + torch.from_numpy(stream(2, "bits").standard_normal((17, len(start)))).float() / 10


@pytest.mark.parametrize("name", BITS)
def test_a_worker_has_the_same_bits_in_any_company(name):
    problem, x = bits(name)
    assert x.dtype == torch.float32
    everyone = list(range(17))
    expected = problem.grad(0, 3, everyone, x)
    assert torch.equal(problem.grad(0, 3, everyone, x), expected)
    for some in ([16], [1, 0], [4, 9, 2], everyone[8:], everyone[:16], everyone[::-1]):
        assert torch.equal(problem.grad(0, 3, some, x[some]), expected[some]), some
    for i in everyone:
        assert torch.equal(problem.grad(0, 3, [i], x[i : i + 1])[0], expected[i])  # a view: not where it was


@pytest.mark.parametrize("name", BITS)
def test_the_number_of_threads_changes_no_bit(name):
    found = []
    for threads in (1, 2, 3):
        problem, x = bits(name, threads=threads)
        assert problem.threads == threads
        found.append((problem.grad(0, 3, range(17), x), problem.full_grad(range(17), x), problem.evaluate(x[1])))
    for grad, full, metrics in found[1:]:
        assert torch.equal(grad, found[0][0])
        assert torch.equal(full, found[0][1])
        assert metrics == found[0][2]
    assert [problem.evaluate(x[1].clone())] * 3 == [metrics for *_, metrics in found]  # wherever the model lies


def test_same_bits_inside_and_outside_of_computing():
    problem, x = bits("cnn")
    outside = problem.grad(0, 3, range(17), x), problem.evaluate(x[0])
    with problem.computing():
        assert torch.equal(problem.grad(0, 3, range(17), x), outside[0])
        assert problem.evaluate(x[0]) == outside[1]


def test_order_of_the_parameters_is_torchs():
    problem, _ = problem_and_models("tied")
    assert torch.equal(problem.initial(0), parameters_to_vector(problem.module.parameters()))
