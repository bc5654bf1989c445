"""The models: their sizes, their start, and what they refuse."""

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


def test_initial_weights_of_the_cnn():
    """Of Glorot and Bengio: uniform, as wide as inputs and outputs say; PyTorch's are as wide as the inputs say."""
    options = {"shape": (2, 8, 8), "classes": 5, "channels": (3,), "hidden": (40,)}
    fans = [(25 * 2, 25 * 3), (3 * 4 * 4, 40), (40, 5)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = [each for each in hiermo.make_model("cnn", start="xavier", **options)() if hasattr(each, "weight")]
        theirs = hiermo.make_model("cnn", **options)()[0]
    for layer, (inputs, outputs) in zip(layers, fans, strict=True):
        widest = (6 / (inputs + outputs)) ** 0.5
        assert 0.9 * widest < layer.weight.abs().max() <= widest
        assert layer.bias.eq(0).all()
    assert 0.9 * 50**-0.5 < theirs.weight.abs().max() <= 50**-0.5
    assert theirs.bias.any()


HAR = (9, 128)


@pytest.mark.parametrize(
    ("name", "shape", "classes", "options", "parameters"),
    [
        ("linear", MNIST, 10, {}, 7_850),
        ("logistic", MNIST, 10, {}, 7_850),
        ("mlp", MNIST, 10, {}, 785 * 200 + 201 * 10),
        ("mlp", (5,), 3, {"hidden": (7, 4)}, 6 * 7 + 8 * 4 + 5 * 3),
        ("mlp", HAR, 6, {"hidden": ()}, (9 * 128 + 1) * 6),
        ("cnn", MNIST, 10, {}, 1_663_370),
        ("cnn", CIFAR, 10, {}, 2_156_490),
        ("cnn", MNIST, 10, {"hidden": (512, 128)}, 1_725_194),
        ("cnn", CIFAR, 10, {"hidden": (512, 128)}, 2_218_314),
        # two poolings leave 32 of 128 moments
        ("cnn-har", HAR, 6, {}, (5 * 9 + 1) * 32 + (5 * 32 + 1) * 64 + (32 * 64 + 1) * 512 + 513 * 6),
        ("cnn-har", (2, 8), 3, {"kernel": 3, "channels": (4,), "hidden": ()}, (3 * 2 + 1) * 4 + (4 * 4 + 1) * 3),
        # the figures that are known of these networks; the second two are torchvision's vgg16_bn and vgg16
        ("vgg16", CIFAR, 10, {}, 14_728_266),
        ("vgg16", (3, 224, 224), 1000, {"hidden": (4096, 4096)}, 138_365_992),
        ("vgg16", (3, 224, 224), 1000, {"hidden": (4096, 4096), "batch_norm": False}, 138_357_544),
        ("resnet18", (3, 64, 64), 200, {}, 11_271_432),
        ("resnet18", (3, 224, 224), 1000, {"stem": "imagenet"}, 11_689_512),
    ],
)
def test_parameters(name, shape, classes, options, parameters):
    with torch.device("meta"):  # as when a run is checked: nothing is drawn
        model = hiermo.make_model(name, shape=shape, classes=classes, **options)()
    assert all(p.is_meta for p in model.parameters())
    assert count(model) == parameters


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("mlp", (2, 3), {"hidden": (4,)}),
        ("cnn", (1, 28, 28), {"channels": (4, 8), "hidden": (16,)}),
        ("cnn", (3, 32, 32), {"channels": (4, 8), "hidden": (16,)}),
        ("cnn-har", (9, 128), {"channels": (4, 8), "hidden": (16,)}),
        ("cnn-har", (1, 5), {"channels": (2,), "hidden": (), "kernel": 11}),
        ("vgg16", (3, 32, 32), {}),
        ("vgg16", (1, 33, 64), {"hidden": (4, 4), "batch_norm": False, "dropout": 0.5}),
        ("resnet18", (3, 64, 64), {}),
        ("resnet18", (1, 28, 28), {}),
        ("resnet18", (3, 64, 64), {"stem": "imagenet"}),
    ],
)
def test_they_compute_class_scores(name, shape, options):
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = hiermo.make_model(name, shape=shape, classes=6, **options)().eval()
        found = model(torch.rand(3, *shape))
    assert found.shape == (3, 6)
    assert found.isfinite().all()
    assert found.std(0).max() > 0  # of the input


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("vgg16", (784,), r"'vgg16' needs images \[channels, height, width\], this data is \[784\]"),
        ("vgg16", MNIST, "images of 28x28 are too small for 5 poolings"),
        ("resnet18", (9, 128), "'resnet18' needs images"),
        ("cnn-har", MNIST, r"'cnn-har' needs series \[signals, moments\], this data is \[1, 28, 28\]"),
        ("cnn-har", (9, 3), "series of 3 moments are too short for 2 poolings"),
    ],
)
def test_data_of_another_kind(name, shape, words):
    with pytest.raises(hiermo.UserError, match=words):
        hiermo.make_model(name, shape=shape, classes=10)()


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
        ("cnn", {"chanels": (32,)}, "model cnn: chanels is not a parameter of Cnn; did you mean 'channels'"),
        ("cnn-har", {"kernel": 4}, "kernel must be one of 3, 5, 7, 9, 11, not 4"),
        ("vgg16", {"dropout": 1.5}, r"dropout must be in \[0, 1\]"),
        ("resnet18", {"stem": "large"}, "stem must be one of 'small', 'imagenet', not 'large'"),
    ],
)
def test_refusals(name, options, words):
    with pytest.raises(hiermo.UserError, match=words):
        hiermo.make_model(name, Kind(MNIST), **options)


def test_for_data_or_for_a_shape():
    by_data, by_shape = hiermo.make_model("mlp", Kind((3,), 2)), hiermo.make_model("mlp", shape=[3], classes=2)
    assert repr(by_data()) == repr(by_shape())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs either data, or shape= and classes="),
        ({"data": Kind((3,)), "classes": 10}, "needs either data, or shape= and classes="),
        ({"data": Kind((3,)), "shape": (3,)}, "needs either data, or shape= and classes="),
        ({"shape": (3,)}, "needs both shape= and classes="),
        ({"classes": 3}, "needs both shape= and classes="),
    ],
)
def test_not_for_both_nor_for_half(arguments, words):
    with pytest.raises(hiermo.UserError, match=words):
        hiermo.make_model("mlp", **arguments)


@pytest.mark.parametrize("name", MODELS.builtin)
def test_what_is_listed_describes_itself(name):
    kind = MODELS.get(name)
    assert kind.summary
    assert kind.loss in ("cross_entropy", "mse")
