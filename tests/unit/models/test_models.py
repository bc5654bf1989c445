"""The paper's models: their sizes, their start, and what they refuse."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

import hiermo
from hiermo.models import MODELS
from hiermo.models.cnn import Cnn

MNIST, CIFAR = (1, 28, 28), (3, 32, 32)


@dataclass
class Kind:
    """All that a model asks of data."""

    shape: tuple
    classes: int = 10


def count(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_the_convex_models_are_affine_and_start_at_zero(name):
    model = hiermo.make_model(name, Kind(MNIST))()
    assert count(model) == 7850 == 784 * 10 + 10
    assert all((p == 0).all() for p in model.parameters())
    for p in model.parameters():
        nn.init.normal_(p)
    x = torch.rand(5, *MNIST)
    assert torch.allclose(model(x), x.view(5, 784) @ model[1].weight.T + model[1].bias, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "options", "parameters"),
    [
        # convolutions of 5 x 5, then what two poolings leave: 7 x 7 of 28 x 28, 8 x 8 of 32 x 32
        (MNIST, {}, (25 * 1 + 1) * 32 + (25 * 32 + 1) * 64 + (7 * 7 * 64 + 1) * 512 + 513 * 10),
        (
            MNIST,
            {"hidden": (512, 128)},
            (25 * 1 + 1) * 32 + (25 * 32 + 1) * 64 + (7 * 7 * 64 + 1) * 512 + 513 * 128 + 129 * 10,
        ),
        (CIFAR, {}, (25 * 3 + 1) * 32 + (25 * 32 + 1) * 64 + (8 * 8 * 64 + 1) * 512 + 513 * 10),
        ((2, 6, 9), {"channels": (3,), "hidden": ()}, (25 * 2 + 1) * 3 + (3 * 4 * 3 + 1) * 10),
    ],
)
def test_parameters_of_the_cnn(shape, options, parameters):
    with torch.device("meta"):
        assert count(hiermo.make_model("cnn", Kind(shape), **options)()) == parameters


def test_the_published_number():
    with torch.device("meta"):
        assert count(Cnn().build(MNIST, 10)) == 1_663_370


@pytest.mark.parametrize("shape", [(1, 4, 4), (2, 7, 5)])
def test_the_cnn_computes_class_scores(shape):
    model = Cnn(channels=(2, 3), hidden=(4,)).build(shape, 6)
    assert model(torch.rand(3, *shape)).shape == (3, 6)


@pytest.mark.parametrize("shape", [(784,), (28, 28), (1, 1, 28, 28)])
def test_the_cnn_needs_images(shape):
    with pytest.raises(hiermo.UserError, match=r"'cnn' needs images \[channels, height, width\]"):
        Cnn().build(shape, 10)


@pytest.mark.parametrize("shape", [(1, 3, 28), (1, 28, 3), (3, 1, 1)])
def test_the_cnn_needs_room_to_pool(shape):
    with pytest.raises(hiermo.UserError, match=f"{shape[1]}x{shape[2]} are too small for 2 poolings"):
        Cnn().build(shape, 10)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("lenet", {}, "no model 'lenet'"),
        ("cnn", {"hidden": (0,)}, "hidden"),
        ("cnn", {"channels": (32, -1)}, "channels"),
    ],
)
def test_refusals(name, options, words):
    with pytest.raises(hiermo.UserError, match=words):
        hiermo.make_model(name, Kind(MNIST), **options)


@pytest.mark.parametrize("name", MODELS.builtin)
def test_what_is_listed_describes_itself(name):
    kind = MODELS.get(name)
    assert kind.summary
    assert kind.loss in ("cross_entropy", "mse")
