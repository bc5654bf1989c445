"""What `Supervised` takes as data, and what it refuses."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from hiermo import Supervised, UserError

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (12, 6)).astype(np.uint8)
LABELS = np.arange(12) % 3
PARTS = [np.arange(0, 7), np.arange(7, 12)]


def divided(x=PIXELS, y=LABELS, parts=PARTS, **test):
    return SimpleNamespace(train_x=x, train_y=y, parts=parts, **{"test_x": None, "test_y": None, **test})


def model():
    return nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 3))


def gradients(data, **options):
    problem = Supervised(model, data, 4, **{"dtype": "float64", **options})
    return problem.grad(0, 1, [0, 1], torch.stack([problem.initial(0)] * 2))


EXPECTED = gradients(divided())


def test_it_is_a_gradient_of_something():
    assert EXPECTED.abs().max() > 1e-2


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64, np.uint16])
def test_labels_of_any_whole_number(kind):
    assert torch.equal(gradients(divided(y=LABELS.astype(kind))), EXPECTED)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_pixels_are_divided_by_255_and_floats_are_not(kind):
    found = gradients(divided(x=(PIXELS / 255).astype(kind)))
    precision = np.finfo(kind).eps  # of the samples; what follows is float64 and does not amplify it
    assert (found - EXPECTED).abs().max() < 10 * precision


@pytest.mark.parametrize(
    ("x", "y", "parts"),
    [
        (torch.from_numpy(PIXELS), torch.from_numpy(LABELS), [torch.arange(0, 7), torch.arange(7, 12)]),
        (torch.from_numpy(PIXELS), torch.from_numpy(LABELS).to(torch.uint8), PARTS),
        (PIXELS, LABELS.tolist(), [part.tolist() for part in PARTS]),
        (PIXELS[::-1], LABELS[::-1], [11 - part for part in PARTS]),  # runs backwards in memory
        (np.asfortranarray(PIXELS), LABELS, PARTS),
    ],
    ids=["torch", "torch labels of bytes", "lists", "backwards", "columns"],
)
def test_arrays_of_any_kind(x, y, parts):
    assert torch.equal(gradients(divided(x, y, parts)), EXPECTED)


def test_arrays_that_may_not_be_written_to():
    x, y = PIXELS.copy(), LABELS.copy()
    x.setflags(write=False)
    y.setflags(write=False)
    assert torch.equal(gradients(divided(x, y, test_x=x, test_y=y)), EXPECTED)  # torch would warn


def test_float_targets_are_regression():
    data = divided(y=LABELS.astype(np.float32))
    problem = Supervised(lambda: nn.Linear(6, 1), data, 4, "mse")
    assert problem.metric_names == ["loss"]
    assert problem.evaluate(problem.initial(0)).keys() == {"loss"}


def test_several_outputs_per_sample():
    y = RNG.normal(size=(12, 2))
    problem = Supervised(lambda: nn.Linear(6, 2), divided(y=y), 4, "mse", dtype="float64")
    x = torch.zeros(14, dtype=torch.float64)
    found = problem.full_grad([0], x[None])[0, -2:]  # of the biases: d/db mean over 2 outputs of (b - y)^2
    assert torch.allclose(found, -torch.from_numpy(y[PARTS[0]]).mean(0), rtol=0, atol=1e-14)


def test_data_that_nobody_holds_is_not_trained_on():
    x = PIXELS.astype(np.float32)
    x[9:] = np.nan
    assert gradients(divided(x, parts=[[0, 1], [2, 3, 4]])).isfinite().all()


def test_sizes_are_the_workers():
    assert Supervised(model, divided(), 4).sizes.tolist() == [7, 5]


@pytest.mark.parametrize(("dtype", "expected"), [("float32", torch.float32), ("float64", torch.float64)])
def test_precision(dtype, expected):
    assert gradients(divided(), dtype=dtype).dtype == expected


def missing_dimension():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hinge"}, "loss must be a function or one of 'cross_entropy', 'mse', not 'hinge'"),
        ({"data": divided(parts=[[0, 1], []])}, "worker 1 has no data"),
        ({"data": divided(parts=[])}, "worker 0 has no data"),
        ({"model": lambda: nn.Linear(5, 3)}, r"cannot be trained on this data \(samples of shape \[6\], batch 32\)"),
        ({"model": lambda: nn.Linear(8, 4)}, r"samples of shape \[6\]"),  # fits a block, were it not for the data
        ({"model": missing_dimension}, r"samples of shape \[6\]"),
        ({"model": lambda: nn.Linear(6, 2)}, "labels run from 0 to 2, and the model has 2 outputs"),
        ({"model": nn.ReLU}, "no parameters to train"),
        ({"model": lambda: nn.Linear(6, 3).requires_grad_(False)}, "no parameters to train"),
        ({"loss": nn.CrossEntropyLoss(reduction="none")}, "scalar"),
        ({"data": divided(y=LABELS / 1)}, "cannot be trained on this data"),  # cross-entropy of float labels
        ({"model": lambda: nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 3)), "batch": 1}, "batch 1"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(UserError, match=words):
        Supervised(**{"model": model, "data": divided(), "batch": 32, **options})
