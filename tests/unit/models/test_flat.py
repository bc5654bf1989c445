"""A module as one vector and back."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from hiermo.models.flat import Flat, Layout, in_type_of


class Tied(nn.Module):
    """One matrix there and back, a scalar, a frozen layer between, and buffers of several types."""

    def __init__(self):
        super().__init__()
        self.there = nn.Linear(3, 2, bias=False)
        self.frozen = nn.Linear(2, 2).requires_grad_(False)
        self.again = nn.Linear(3, 2)
        self.again.weight = self.there.weight
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.register_buffer("count", torch.tensor(3))
        self.register_buffer("mean", torch.tensor([[0.5, 0.25]]))
        self.register_buffer("on", torch.tensor([True, False]))


def test_trainable_parameters_once_each_in_their_order():
    module = Tied()
    flat = Flat(module)
    # a module's own parameters come before those of its layers; the tied matrix goes by its first name
    assert flat.parameters.shapes == {"scale": (), "there.weight": (2, 3), "again.bias": (2,)}
    assert flat.parameters.size == 1 + 6 + 2
    expected = torch.cat([module.scale.view(1), module.there.weight.view(-1), module.again.bias])
    assert torch.equal(flat.vector(module, torch.float32), expected)


def test_same_order_as_torch():
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    assert torch.equal(Flat(module).vector(module, torch.float32), parameters_to_vector(module.parameters()))


def test_the_vector_is_a_copy_of_the_type_asked_for():
    module = nn.Linear(3, 1, bias=False)
    for dtype in (torch.float32, torch.float64):
        vector = Flat(module).vector(module, dtype)
        assert (vector.dtype, vector.requires_grad) == (dtype, False)
        vector += 1
    assert (module.weight.detach() < 1).all()  # torch draws from -0.58..0.58


def test_round_trip_through_another_module():
    one, other = Tied(), Tied()
    flat = Flat(one)
    statistics = flat.statistics(one, torch.float64) + torch.tensor([4.0, 1.0, 1.0, 0.0, 1.0])
    assert flat.load(other, flat.vector(one, torch.float64), statistics) is other
    assert torch.equal(flat.vector(other, torch.float64), flat.vector(one, torch.float64))
    assert other.again.weight is other.there.weight
    assert (other.count.item(), other.mean.tolist(), other.on.tolist()) == (7, [[1.5, 1.25]], [True, True])
    assert (other.count.dtype, other.mean.dtype, other.on.dtype) == (torch.int64, torch.float32, torch.bool)
    assert not torch.equal(one.frozen.weight, other.frozen.weight)  # not in the vector


def test_load_leaves_statistics_alone_where_none_are_given():
    module = Tied()
    flat = Flat(module)
    flat.load(module, torch.zeros(flat.parameters.size))
    assert (module.scale.item(), module.count.item()) == (0.0, 3)


def test_load_agrees_with_torch():
    one, other = (nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)) for _ in range(2))
    x = torch.arange(26.0)
    Flat(one).load(one, x)
    vector_to_parameters(x, other.parameters())
    assert all(map(torch.equal, one.parameters(), other.parameters()))


@pytest.mark.parametrize("rows", [(), (4,)])
def test_views_share_memory(rows):
    flat = Flat(Tied())
    x = torch.zeros(*rows, flat.parameters.size)
    views = flat.parameters.views(x)
    assert {name: tuple(v.shape) for name, v in views.items()} == {
        "scale": rows,
        "there.weight": (*rows, 2, 3),
        "again.bias": (*rows, 2),
    }
    for value, view in enumerate(views.values(), start=1):
        view.fill_(value)
    assert np.array_equal(x, np.broadcast_to([1, 2, 2, 2, 2, 2, 2, 3, 3], x.shape))


@pytest.mark.parametrize("rows", [(), (3,)])
def test_buffers_have_a_vector_of_their_own(rows):
    module = nn.BatchNorm1d(2)
    flat = Flat(module)
    statistics = flat.statistics(module, torch.float32)
    assert statistics.tolist() == [0, 0, 1, 1, 0]  # mean, variance, batches seen
    views = flat.buffers.views(statistics.expand(*rows, 5))
    assert views["num_batches_tracked"].shape == rows
    assert flat.parameters.size == 4


def test_a_module_without_buffers():
    module = nn.Linear(2, 1)
    flat = Flat(module)
    assert (flat.buffers.size, flat.statistics(module, torch.float64).shape) == (0, (0,))
    assert flat.buffers.views(torch.empty(0)) == {}


def test_whole_numbers_are_rounded_not_cut():
    below = torch.tensor([7.0], dtype=torch.float64).nextafter(torch.zeros(1, dtype=torch.float64))
    assert in_type_of(torch.tensor([0]), below).tolist() == [7]
    assert in_type_of(torch.tensor([0.0]), torch.tensor([7.4])).item() == torch.tensor(7.4).item()


def test_what_is_cast_is_a_copy():
    value = torch.ones(2)
    in_type_of(torch.zeros(2), value).zero_()
    assert value.tolist() == [1.0, 1.0]


def test_sizes():
    layout = Layout([("a", torch.zeros(2, 3)), ("b", torch.tensor(1.0)), ("c", torch.zeros(0, 4))])
    assert (layout.lengths, layout.size) == ([6, 1, 0], 7)
