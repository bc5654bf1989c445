"""Anyone's object as a data set: functions, tuples, attributes, tensors, and what is none of these."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset
from hiermo.data.sources.imported import Imported
from hiermo.data.sources.synthetic import Synthetic

X, Y = np.arange(12.0).reshape(6, 2), np.array([5, 7, 5, 7, 9, 9])
FOUR = (X, Y, X[:2], Y[:2])
READY = Dataset("ready", X.astype("f4"), np.arange(6) % 3, X[:2].astype("f4"), np.array([0, 1]), 4)


def load(target, **arguments):
    return Imported(target, arguments).load(Path())


def check_four(data, name):
    np.testing.assert_array_equal(data.train_x, X)
    np.testing.assert_array_equal(data.test_x, X[:2])
    assert (data.train_y.tolist(), data.test_y.tolist()) == ([0, 1, 0, 1, 2, 2], [0, 1])
    assert (data.name, data.classes, data.class_names) == (name, 3, ("5", "7", "9"))
    assert (data.train_x.dtype, data.train_y.dtype) == (np.float32, np.int64)


def four():
    return FOUR


class Attributes:
    def __init__(self):
        self.train_x, self.train_y, self.test_x, self.test_y = FOUR


class Loads:
    """Not a dataclass, or recipes would take it for one of ours."""

    def load(self, directory):
        return FOUR


def tensors():
    train_x = torch.tensor(X, requires_grad=True)
    return train_x, torch.tensor(Y), torch.tensor(X[:2]), torch.tensor(Y[:2])


def lists():
    return [array.tolist() for array in FOUR]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (FOUR, "tuple"),
        (four, "four"),
        (Attributes, "Attributes"),
        (Attributes(), "Attributes"),
        (Loads, "Loads"),
        (Loads(), "Loads"),
        (tensors, "tensors"),
        (lists, "lists"),
    ],
)
def test_all_ways(target, name):
    assert Imported(target, {}).faults({}) == []
    check_four(load(target), name)


def test_a_function_with_options():
    def noisy(scale, offset=0):
        return X * scale + offset, Y, X, Y

    data = Imported(noisy, {"scale": 2}).load(Path())
    np.testing.assert_array_equal(data.train_x, 2 * X)
    assert Imported(noisy, {"scale": 2}).values() == {"scale": 2}
    assert Imported(noisy, {}).find(Path("somewhere")) == Path("somewhere")


def test_a_dataset_is_taken_at_its_word():
    data = load(lambda: READY)
    assert (data.name, data.classes, data.class_names) == ("ready", 4, ())
    np.testing.assert_array_equal(data.train_x, READY.train_x)
    wide = replace(READY, train_x=np.zeros((6, 8, 9)), test_x=torch.zeros(2, 8, 9), owners=[0, 0, 1, 1, 2, 5])
    data = load(lambda: wide)
    assert (data.shape, data.train_x.dtype, data.test_x.dtype) == ((8, 9), np.float32, np.float32)
    assert (data.owners.tolist(), data.owners.dtype) == ([0, 0, 1, 1, 2, 5], np.int64)
    with pytest.raises(UserError, match=r"data set ready, training part: labels must be in 0..1"):
        load(lambda: replace(READY, classes=2))


def test_one_of_our_sources():
    assert load(lambda: Synthetic(samples=30)).name == "synthetic"


def test_images_get_their_channel_axis():
    pictures = np.zeros((6, 8, 9, 3), np.uint8)
    assert load(lambda: (pictures, Y, pictures, Y)).shape == (3, 8, 9)


def test_what_an_object_says_of_its_classes_and_owners():
    said = SimpleNamespace(train_x=X, train_y=Y % 4, test_x=X[:2], test_y=Y[:2] % 4)
    assert load(said).classes == 2
    said.classes = 4
    assert (load(said).classes, load(said).train_y.tolist()) == (4, (Y % 4).tolist())
    said.classes = ["a", "b", "c", "d", "e"]
    assert load(said).class_names == ("a", "b", "c", "d", "e")
    said.owners = ["p10", "p9"] * 3
    assert load(said).owners.tolist() == [1, 0] * 3
    said.test_owners = np.array(["p9", "p10"])
    assert load(said).test_owners.tolist() == [0, 1]
    said.classes = 3
    with pytest.raises(UserError, match=r"training part: labels must be in 0..2"):
        load(said)


def options(a, b=1, *, c, d=2):
    """Two that are needed and two that are not."""


@dataclass
class Nothing:
    """No data, and cannot load any."""


@pytest.mark.parametrize(
    ("target", "given", "wrong"),
    [
        (options, {"a": 1, "c": 2}, []),
        (options, {"a": 1, "b": 1, "c": 2, "d": 3}, []),
        (options, {"a": 1, "cc": 2}, [("cc", "is not a parameter of options"), ("c", "is missing: options needs it")]),
        (options, {}, [("a", "is missing: options needs it"), ("c", "is missing: options needs it")]),
        (lambda **rest: FOUR, {"anything": 1}, []),
        (lambda *rest: FOUR, {"rest": 1}, [("rest", "is not a parameter of <lambda>")]),
        (lambda x, /: FOUR, {}, [("", "<lambda> takes x by position only; let it have a name")]),
        (FOUR, {"a": 1}, [("a", "is one option too many: what is imported is data already")]),
        (dict, {"a": 1}, []),
        (5, {}, [("", "it is an int; it must be a hiermo Dataset, a tuple")]),
        ((X, Y), {}, [("", "it is a tuple; it must be")]),
        (Nothing(), {}, [("", "it is a Nothing; it must be")]),
    ],
)
def test_faults_before_anything_is_called(target, given, wrong):
    found = Imported(target, given).faults(given)
    assert [name for name, _ in found] == [name for name, _ in wrong]
    assert all(said.startswith(words) for (_, said), (_, words) in zip(found, wrong, strict=True)), found


def test_a_near_miss():
    assert Imported(options, {}).faults({"aa": 1})[0][1].endswith("did you mean 'a'?")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, r"made gave a NoneType; it must give a hiermo Dataset, a tuple \(train_x"),
        ((X, Y), "made gave a tuple of 2; it must give"),
        (X, "made gave a ndarray; it must give"),
        ((X, Y[:3], X, Y), "made, train_x: 6 samples and 3 labels"),
        ((X, Y, X[:, :1], Y), "made, train_x are of shape .*2.*, those of made, test_x of shape .*1"),
        ((X * np.nan, Y, X, Y), "made, train_x: sample 0 has a value that is no finite float32"),
        ((X, Y, X, np.eye(6)), r"made, test_y: labels must be a list \[n\]"),
        (([[1], [1, 2]], Y, X, Y), "made, train_x cannot be made a numpy array: "),
        ((torch.zeros(6, 2, dtype=torch.bfloat16), Y, X, Y), "made, train_x cannot be made a numpy array: .*BFloat16"),
    ],
)
def test_what_is_no_data_is_named(given, words):
    def made():
        return given

    with pytest.raises(UserError, match=words):
        load(made)


def test_a_fault_inside_the_function_stays_as_it_is():
    """It is a fault in the user's code, which a traceback shows best."""
    with pytest.raises(ZeroDivisionError):
        load(lambda: 1 / 0)


def test_equal_if_the_same_target_has_the_same_arguments():
    assert Imported(FOUR, {}) == Imported(FOUR, {})
    assert hash(Imported(four, {"a": [1]})) == hash(Imported(four, {"a": [1]}))
    assert Imported(four, {"a": 1}) != Imported(four, {"a": 2})
    assert Imported(four, {}) != Imported(lists, {})
    assert Imported(four, {}) != four
