"""Weight decay and clipping are inside the gradient that an algorithm sees."""

import pytest
import torch

import hiermo

TREE = hiermo.Tree.branching(2, 2)
DATA = hiermo.load_data("mnist-5k", workers=4)


def problem(model="logistic", **options):
    small = {"channels": (2,), "hidden": (4,)} if model == "cnn" else {}
    return hiermo.Supervised(hiermo.make_model(model, DATA, **small), DATA, 64, dtype="float64", **options)


def points(some):
    return some.initial(0) + torch.linspace(-1, 1, 4 * some.dimension, dtype=torch.float64).view(4, -1)


@pytest.mark.parametrize("model", ["logistic", "cnn"])  # in blocks, and one by one
def test_decay_adds_the_model(model):
    plain, decayed = problem(model), problem(model, weight_decay=0.25)
    x = points(plain)
    for name, arguments in {"grad": (0, 3), "full_grad": ()}.items():
        expected = getattr(plain, name)(*arguments, range(4), x) + 0.25 * x
        assert torch.allclose(getattr(decayed, name)(*arguments, range(4), x), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("model", ["logistic", "cnn"])
def test_clipping_shortens_what_is_too_long(model):
    plain = problem(model)
    x = points(plain)
    g = plain.grad(0, 3, range(4), x)
    lengths = g.norm(dim=1)
    limit = float(lengths.sort().values[1:3].mean())  # two are longer, two shorter
    clipped = problem(model, clip_norm=limit).grad(0, 3, range(4), x)
    for row, length, short in zip(g, lengths, clipped, strict=True):
        expected = row if length <= limit else row * (limit / length)
        assert torch.allclose(short, expected, rtol=1e-12, atol=1e-15)


def test_the_decay_is_not_clipped():
    plain, both = problem(), problem(clip_norm=1e-3, weight_decay=0.5)
    x = points(plain)
    short = problem(clip_norm=1e-3).grad(0, 3, range(4), x)
    assert torch.allclose(both.grad(0, 3, range(4), x), short + 0.5 * x, rtol=1e-12, atol=1e-14)


def test_a_zero_gradient_stays_zero():
    """Softmax regression at zero with a flat target has none; no division by its length."""
    some = problem(clip_norm=1.0)
    assert torch.equal(some._clipped(torch.zeros(2, 3)), torch.zeros(2, 3))
