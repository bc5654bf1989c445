"""The batched computation and the one for a single worker: same gradients, and bits that do not depend on company."""

from functools import partial

import pytest
import torch
from torch import nn

from hiermo.models.flat import Flat
from hiermo.problems.batched import ELEMENTWISE, Block, misfit
from hiermo.problems.losses import LOSSES
from hiermo.problems.pooled import OneWorker
from hiermo.problems.threads import one_intraop_thread

N = 17  # one more than a block of `Supervised`


def stack(*widths, activation=nn.ReLU, bias=True):
    layers = [nn.Flatten()]
    for k in range(len(widths) - 1):
        layers += [activation()] * (k > 0) + [nn.Linear(widths[k], widths[k + 1], bias=bias)]
    return nn.Sequential(*layers)


def shared_activation():
    relu = nn.ReLU()
    return nn.Sequential(nn.Linear(8, 8), relu, nn.Linear(8, 8), relu, nn.Linear(8, 4))


def same_layer_twice():
    layer = nn.Linear(8, 8)
    return nn.Sequential(layer, nn.Tanh(), nn.Sequential(layer, nn.Tanh()), nn.Linear(8, 4))


def tied_weights():
    module = nn.Sequential(nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 8, bias=False), nn.Linear(8, 4))
    module[2].weight = module[0].weight
    return module


def tied_weights_with_biases():
    module = nn.Sequential(nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    module[2].weight = module[0].weight
    module[4].bias = module[0].bias
    return module


SMALL = {
    "tied weights with biases": tied_weights_with_biases,
    "one layer": partial(stack, 8, 4),
    "no sequential": partial(nn.Linear, 8, 4),
    "no bias": partial(stack, 8, 4, bias=False),
    "three layers": partial(stack, 8, 8, 4, 8),
    "shared activation": shared_activation,
    "same layer twice": same_layer_twice,
    "tied weights": tied_weights,
    **{kind.__name__: partial(stack, 8, 8, 4, activation=kind) for kind in ELEMENTWISE},
}


class Case:
    """N workers with a model and a batch each."""

    def __init__(self, make, batch, sample, dtype, loss="cross_entropy"):
        torch.manual_seed(0)
        self.module = make().to(dtype)
        self.flat = Flat(self.module)
        assert misfit(self.module, sample, batch) is None
        self.block = Block(self.module, self.flat, loss)
        self.one = OneWorker(self.module, self.flat, lambda outputs, targets: LOSSES[loss](outputs, targets).mean())
        self.x = torch.randn(N, self.flat.parameters.size, dtype=dtype) / 4
        self.inputs = torch.rand(N, batch, *sample, dtype=dtype)
        self.targets = torch.randint(0, 3, (N, batch))

    def batched(self, some):
        samples, targets = self.inputs.flatten(0, 1), self.targets.flatten(0, 1)
        chosen = torch.arange(len(samples)).view(N, -1)[some].flatten()
        return self.block.gradients(self.x[some], samples, targets, chosen)

    def alone(self, worker):
        result = torch.empty_like(self.x[worker])
        self.one(self.inputs[worker], self.targets[worker], self.x[worker], result, None)
        return result


@pytest.fixture(autouse=True)
def as_in_a_run():
    """On one intra-op thread, and with torch's generator back as it was afterwards."""
    with one_intraop_thread(), torch.random.fork_rng(devices=[]):
        yield


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", SMALL)
def test_batched_is_one_by_one(name, loss):
    case = Case(SMALL[name], 8, (8,), torch.float64, loss)
    expected = torch.stack([case.alone(worker) for worker in range(N)])
    assert expected.abs().max() > 1e-3
    # products of some ten numbers of order 1 in float64
    assert torch.allclose(case.batched(list(range(N))), expected, rtol=0, atol=1e-12)


def test_targets_that_are_numbers():
    case = Case(partial(stack, 6, 8), 8, (6,), torch.float64, "mse")  # as many outputs as samples: not to be mixed up
    case.targets = torch.randn(N, 8, 8, dtype=torch.float64)
    expected = torch.stack([case.alone(worker) for worker in range(N)])
    assert torch.allclose(case.batched(list(range(N))), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("make", "batch", "sample"),
    [
        (partial(stack, 784, 10), 64, (1, 28, 28)),
        (partial(stack, 784, 32, 10), 64, (1, 28, 28)),
        (partial(stack, 6, 32, 10, activation=nn.Sigmoid), 16, (6,)),  # d = 554: rows are not aligned
        (partial(stack, 32, 3), 32, (32,)),  # d = 99
        (partial(stack, 7, 5, 3, activation=nn.Tanh), 3, (7,)),  # nothing is a multiple of a register
        (partial(stack, 784, 200, 10), 50, (1, 28, 28)),
        (partial(stack, 30, 11, 3, activation=nn.GELU), 31, (30,)),
    ],
)
def test_a_worker_has_the_same_bits_in_every_block(make, batch, sample, loss):
    case = Case(make, batch, sample, torch.float32, loss)
    expected = torch.cat([case.batched([worker]) for worker in range(N)])
    everyone = list(range(N))
    for some in ([0, 1], [5, 4, 3], everyone[:8], everyone[9:], everyone[:16], everyone[:0:-1], everyone):
        assert torch.equal(case.batched(some), expected[some]), some


@pytest.mark.parametrize("batch", [1, 5])  # of one: a matrix times a vector, which minds where the matrix begins
def test_a_worker_has_the_same_bits_at_every_place_in_memory(batch):
    torch.manual_seed(0)
    module = nn.Linear(30, 98)
    flat = Flat(module)
    one, d = OneWorker(module, flat, nn.CrossEntropyLoss()), flat.parameters.size
    inputs, targets, x = torch.rand(batch, 30), torch.arange(batch), torch.randn(d)
    found = []
    for shift in range(9):
        moved, result = torch.zeros(d + shift)[shift:].copy_(x), torch.empty(d)
        one(inputs, targets, moved, result, None)
        found.append(result)
    assert all(torch.equal(result, found[0]) for result in found)


def hooked():
    module = stack(8, 4)
    module[1].register_forward_hook(lambda module, inputs, outputs: 2 * outputs)
    return module


def frozen():
    module = stack(8, 8, 4)
    module[1].requires_grad_(False)
    return module


class OwnForward(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


@pytest.mark.parametrize(
    ("make", "sample", "batch"),
    [
        (partial(stack, 8, 4), (8,), 1),
        (partial(stack, 32, 1), (32,), 32),
        (partial(nn.Linear, 8, 4), (2, 8), 8),  # not flattened
        (lambda: nn.Sequential(nn.Flatten(2), nn.Linear(8, 4)), (5, 2, 4), 8),
        (lambda: nn.Sequential(nn.Linear(8, 4), nn.Dropout()), (8,), 8),
        (lambda: nn.Sequential(nn.Linear(8, 4), nn.Softmax(-1)), (8,), 8),
        (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)), (8,), 8),
        (lambda: OwnForward(nn.Linear(8, 4)), (8,), 8),
        (hooked, (8,), 8),
        (frozen, (8,), 8),
    ],
)
def test_what_does_not_fit_a_block(make, sample, batch):
    module = make()
    assert misfit(module, sample, batch)


class Assigns(nn.Module):
    """Moves one buffer in place and puts a new tensor in the place of another, which depends on the weights."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("mean", torch.zeros(1))

    def forward(self, x):
        outputs = self.layer(x)
        if self.training:
            self.calls += 1
            self.mean = (self.mean + outputs.mean()) / 2
        return outputs


def test_buffers_move_whether_written_or_assigned():
    module = Assigns()
    flat = Flat(module)
    one = OneWorker(module, flat, lambda outputs, targets: outputs.mean())
    x, buffers, result = torch.tensor([2.0, 0.0, 1.0]), flat.statistics(module, torch.float32), torch.empty(3)
    for expected in ([1.0, 1.5], [2.0, 2.25]):  # outputs are 2 * 1 + 1
        one(torch.ones(4, 2), torch.zeros(4), x, result, buffers)
        assert buffers.tolist() == expected
    assert not buffers.requires_grad
    one(torch.ones(4, 2), torch.zeros(4), x, result, None)
    one.outputs(torch.ones(4, 2), x, buffers)
    assert buffers.tolist() == [2.0, 2.25]
    assert (module.calls.item(), module.mean.tolist()) == (0, [0.0])


def test_squared_error_is_a_mean_over_the_outputs():
    outputs = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    assert LOSSES["mse"](outputs, torch.tensor([0, 1])).tolist() == [2.0, 2.0]  # one-hot: (0 + 4) / 2, (0 + 4) / 2
    assert LOSSES["mse"](outputs, torch.tensor([[0.0, 0.0], [1.0, 1.0]])).tolist() == [2.5, 2.5]
    assert LOSSES["mse"](outputs[:, :1], torch.tensor([3.0, 1.0])).tolist() == [4.0, 1.0]
