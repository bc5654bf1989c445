"""A stack of layers as text: what the text makes has the same layers."""

from collections import OrderedDict

import pytest
import torch
from torch import nn

import hiermo
from hiermo.models.written import written


class Own(nn.Sequential):
    pass


STACKS = [
    nn.Sequential(nn.Flatten(), nn.Linear(4, 3, bias=False)),
    nn.Sequential(nn.Conv2d(1, 2, (3, 5), stride=2, padding=1, dilation=(1, 2), groups=1, bias=False)),
    nn.Sequential(nn.Conv2d(2, 4, 3, padding="same", groups=2, padding_mode="reflect"), nn.MaxPool2d(2)),
    nn.Sequential(nn.Conv1d(1, 2, 3, padding=1), nn.MaxPool1d(3, stride=1, padding=1, ceil_mode=True)),
    nn.Sequential(nn.Flatten(2), nn.ReLU(inplace=True)),
    nn.Sequential(),
]


@pytest.mark.parametrize("module", STACKS, ids=range(len(STACKS)))
def test_the_text_makes_such_a_module(module):
    made = eval(written(module), {"torch": torch})
    assert repr(made) == repr(module)
    assert [vars(a).keys() for a in made] == [vars(b).keys() for b in module]


@pytest.mark.parametrize(
    ("name", "shape"),
    [("linear", (1, 28, 28)), ("logistic", (5,)), ("mlp", (4,)), ("cnn", (1, 28, 28)), ("cnn-har", (9, 128))],
)
def test_our_plain_models(name, shape):
    module = hiermo.make_model(name, shape=shape, classes=10)()
    made = eval(written(module), {"torch": torch})
    assert repr(made) == repr(module)
    made.load_state_dict(module.state_dict())
    x = torch.rand(2, *shape)
    assert torch.equal(made(x), module(x))


def test_it_is_as_one_would_write_it():
    module = hiermo.make_model("cnn", shape=(1, 28, 28), classes=10)()
    assert written(module) == (
        "torch.nn.Sequential(\n"
        '    torch.nn.Conv2d(1, 32, 5, padding="same"),\n'
        "    torch.nn.ReLU(),\n"
        "    torch.nn.MaxPool2d(2, stride=2),\n"
        '    torch.nn.Conv2d(32, 64, 5, padding="same"),\n'
        "    torch.nn.ReLU(),\n"
        "    torch.nn.MaxPool2d(2, stride=2),\n"
        "    torch.nn.Flatten(),\n"
        "    torch.nn.Linear(3136, 512),\n"
        "    torch.nn.ReLU(),\n"
        "    torch.nn.Linear(512, 10),\n"
        ")"
    )


@pytest.mark.parametrize(
    "module",
    [
        nn.Linear(2, 2),
        Own(nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)),
        nn.Sequential(nn.Sequential(nn.Linear(2, 2))),
        nn.Sequential(OrderedDict(first=nn.Linear(2, 2))),
        nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)),
        nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))),
    ],
    ids=lambda module: type(module).__name__,
)
def test_what_is_not_a_plain_stack(module):
    assert written(module) is None
