"""What `check` refuses."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset, check


def good():
    return Dataset(
        name="mine",
        train_x=np.zeros((6, 1, 4, 4), np.uint8),
        train_y=np.array([0, 1, 2, 0, 1, 2]),
        test_x=np.zeros((2, 1, 4, 4), np.uint8),
        test_y=np.array([0, 2]),
        classes=3,
    )


def test_a_good_one_passes():
    check(good())
    assert good().shape == (1, 4, 4)


def test_it_is_frozen():
    with pytest.raises(FrozenInstanceError):
        good().classes = 4


def nan_at(sample):
    x = np.zeros((6, 4), np.float32)
    x[sample, 2] = np.nan
    return x


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train_y": np.array([0, 1])}, "training part: there must be one label per sample"),
        ({"test_y": np.array([0, 1, 2])}, "test part: there must be one label per sample"),
        ({"train_y": np.array([0, 1, 2, 0, 1, 3])}, r"labels must be in 0\.\.2 \(classes = 3\), not 0\.\.3"),
        ({"test_y": np.array([-1, 2])}, r"test part: labels must be in 0\.\.2 .* not -1\.\.2"),
        ({"train_y": np.zeros(6, np.int32)}, "labels must be a list .* int32"),
        ({"train_y": np.zeros((6, 1), np.int64)}, r"labels must be a list .* \[6, 1\]"),
        ({"train_x": np.zeros((0, 4), np.uint8), "train_y": np.zeros(0, np.int64)}, "training part: it is empty"),
        ({"test_x": np.zeros((0, 4), np.uint8), "test_y": np.zeros(0, np.int64)}, "test part: it is empty"),
        ({"test_x": np.zeros((2, 1, 4, 5), np.uint8)}, r"shape \(1, 4, 4\), test samples of shape \(1, 4, 5\)"),
        ({"test_x": np.zeros((2, 1, 4, 4), np.float32)}, "type uint8, test samples of type float32"),
        ({"train_x": np.zeros((6, 4))}, "uint8 .pixels. or float32, not float64"),
        ({"train_x": nan_at(5)}, r"training part: sample 5 .* not finite \(1 such samples\)"),
    ],
)
def test_what_is_wrong_is_said_with_the_name(change, words):
    with pytest.raises(UserError, match=rf"^data set mine\b.*{words}"):
        check(replace(good(), **change))
