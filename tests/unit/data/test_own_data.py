"""Paths with stars, labels to classes, owners, and the share that is set aside for testing."""

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.reading.own import Piece, assembled, first, numbered, places
from hiermo.data.reading.set_aside import set_aside
from hiermo.data.reading.typed import labels, samples


def piece(labels, owners=None, where="here"):
    """Samples that say where they stood."""
    x = np.arange(len(labels), dtype=np.float32)[:, None]
    return Piece(where, x, np.array(labels), None if owners is None else np.array(owners))


def test_a_star_matches_in_natural_order(tmp_path):
    for name in ("a10.csv", "a2.csv", "b1.csv", ".a3.csv", "a1.txt"):
        (tmp_path / name).touch()
    assert [place.name for place in places(f"{tmp_path}/*.csv")] == ["a2.csv", "a10.csv", "b1.csv"]
    assert first(f"{tmp_path}/*.csv") == tmp_path / "a2.csv"


def test_only_the_star_is_special(tmp_path):
    for name in ("a[1]", "a1", "a?", "ab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
    assert places(f"{tmp_path}/a[1]/*") == [tmp_path / "a[1]" / "x"]
    assert places(f"{tmp_path}/a?/*") == [tmp_path / "a?" / "x"]
    assert places(f"{tmp_path}/a?") == [tmp_path / "a?"]


def test_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.csv").touch()
    assert places("~/x.csv") == places("~/*.csv") == [tmp_path / "x.csv"]


@pytest.mark.parametrize("path", ["nowhere.csv", "nowhere*.csv", "~/nowhere*"])
def test_nothing_there(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert first(path) is None
    with pytest.raises(UserError) as caught:
        places(path, "test")
    assert str(caught.value) == f"data.test = '{path}': nothing is there, beside the recipe or as seen from {tmp_path}"


@pytest.mark.parametrize(
    ("given", "names", "classes"),
    [
        ([7, -1, 7], ("-1", "7"), [1, 0, 1]),
        ([0, 1, 2], ("0", "1", "2"), [0, 1, 2]),
        (["10", "9", "10.0", "09"], ("9", "10"), [1, 0, 1, 0]),
        (["10", "9", "10"], ("9", "10"), [1, 0, 1]),
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (["10", "9", "x"], ("10", "9", "x"), [0, 1, 2]),
        (["1", "nan"], ("1", "nan"), [0, 1]),
    ],
)
def test_classes_are_numbered_in_order(given, names, classes):
    found, numbers = numbered(np.array(given), "here")
    assert found == names
    assert numbers.tolist() == classes
    assert numbers.dtype == np.int64


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["1", "2.5"], "here: labels must be classes, and one is 2.5"),
        (["a", "a"], "here: all samples are of the class a"),
        ([3], "here: all samples are of the class 3"),
    ],
)
def test_labels_that_are_no_classes(given, words):
    with pytest.raises(UserError, match=words):
        numbered(np.array(given), "here")


def test_the_share_is_of_every_class():
    y = np.repeat([0, 1, 2], [100, 50, 10])
    kept, aside = set_aside(y, None, 0.2, "here")
    assert np.bincount(y[aside]).tolist() == [20, 10, 2]
    assert sorted([*kept, *aside]) == list(range(160))
    assert (np.diff(kept) > 0).all()
    assert (np.diff(aside) > 0).all()


def test_the_choice_is_random_and_always_the_same():
    """These numbers must never change: whoever trained before would be tested on samples that were learnt from."""
    y = np.repeat([0, 1], 10)
    assert set_aside(y, None, 0.3, "here")[1].tolist() == [5, 7, 8, 15, 16, 18]


def test_the_share_is_of_every_owner():
    rng = np.random.default_rng(0)
    owners, y = np.repeat(np.arange(4), [40, 2, 1, 7]), rng.integers(0, 3, 50)
    mixed = rng.permutation(50)
    owners, y = owners[mixed], y[mixed]
    _, aside = set_aside(y, owners, 0.25, "here")
    assert np.bincount(owners[aside], minlength=4).tolist() == [10, 1, 0, 2]
    per_class = np.bincount(y[aside][owners[aside] == 0], minlength=3)
    assert np.abs(per_class - np.bincount(y[owners == 0], minlength=3) / 4).max() < 1


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_every_class_keeps_a_training_sample(share):
    y = np.array([0] * 30 + [2] + [3, 3] + [4])
    kept, aside = set_aside(y, None, share, "here")
    assert set(y[kept]) == {0, 2, 3, 4}
    assert aside.size


def test_too_few_to_test():
    with pytest.raises(UserError, match="here: 2 samples are too few to set some aside for testing; give a test part"):
        set_aside(np.array([0, 1]), None, 0.5, "here")


def test_a_set_is_assembled():
    data = assembled("mine", [piece(["b", "a"] * 5, ["p10"] * 4 + ["p9"] * 6)], [], 0.2)
    assert (data.name, data.classes, data.class_names) == ("mine", 2, ("a", "b"))
    assert (len(data.train_y), len(data.test_y)) == (8, 2)
    for x, y, owners in ((data.train_x, data.train_y, data.owners), (data.test_x, data.test_y, data.test_owners)):
        assert ((x[:, 0] % 2 == 0) == (y == 1)).all()
        assert ((x[:, 0] < 4) == (owners == 1)).all()


def test_a_test_part_of_its_own_is_left_whole():
    data = assembled("mine", [piece([0, 1]), piece([1, 2])], [piece([3])], 0.5)
    assert data.train_y.tolist() == [0, 1, 1, 2]
    assert data.test_y.tolist() == [3]
    assert data.classes == 4
    assert data.owners is data.test_owners is None


def test_texts_and_numbers_go_together():
    assert assembled("mine", [piece([0, 1])], [piece(["1", "x"])], 0.5).class_names == ("0", "1", "x")


def test_test_owners_are_those_who_train():
    train = [piece([0, 1, 0], ["ann", "bob", "cid"])]
    assert assembled("mine", train, [piece([1, 0], ["cid", "ann"])], 0.5).test_owners.tolist() == [2, 0]
    assert assembled("mine", train, [piece([1, 0])], 0.5).test_owners is None
    with pytest.raises(UserError, match="there: the owner 'dan' has no training sample"):
        assembled("mine", train, [piece([1], ["dan"], where="there")], 0.5)


@pytest.mark.parametrize(
    ("shape", "layout", "made"),
    [
        ((6, 4), "auto", (6, 4)),
        ((6, 8, 9), "auto", (6, 1, 8, 9)),
        ((6, 8, 9), "channels_first", (6, 8, 9)),
        ((6, 8, 9), "channels_last", (6, 9, 8)),
        ((6, 8, 9, 3), "auto", (6, 3, 8, 9)),
        ((6, 8, 9, 1), "auto", (6, 1, 8, 9)),
        ((6, 3, 9, 3), "auto", (6, 3, 9, 3)),
        ((6, 3, 9, 3), "channels_last", (6, 3, 3, 9)),
        ((6, 8, 9, 4), "auto", (6, 8, 9, 4)),
        ((6, 8, 9, 3), "channels_first", (6, 8, 9, 3)),
    ],
)
def test_where_the_channels_come_to_stand(shape, layout, made):
    given = np.arange(np.prod(shape)).reshape(shape)
    x = samples(given, "here", layout)
    assert x.shape == made
    assert x.flags.c_contiguous
    assert x.flags.writeable
    if made == (6, 3, 8, 9):
        np.testing.assert_array_equal(x[2, 1], given[2, :, :, 1])


@pytest.mark.parametrize(
    ("kind", "made"),
    [("u1", "u1"), (">f8", "f4"), ("f4", "f4"), ("f2", "f4"), ("i8", "f4"), ("u2", "f4"), ("?", "f4")],
)
def test_types(kind, made):
    x = samples(np.array([[0, 1], [1, 0]], kind), "here")
    assert x.dtype == np.dtype(made)
    assert x.tolist() == [[0, 1], [1, 0]]


def test_samples_are_a_copy():
    given = np.zeros((2, 2), np.float32)
    samples(given, "here")[:] = 1
    assert not given.any()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.array([["a"]]), "here: samples must be numbers, not of type <U1"),
        (np.array([[{}]], object), "here: samples must be numbers, not of type object"),
        (np.array([1.0]), r"here: samples must be \[n, ...\], one or more numbers each, not \[1\]"),
        (np.zeros((0, 3)), r"here: there is no sample in it, its shape is \[0, 3\]"),
        (np.array([[1.0], [np.nan], [np.inf]]), r"here: sample 1 has a value that is no finite float32 \(2 such"),
        (np.array([[1.0], [1e39]]), r"here: sample 1 has a value that is no finite float32 \(1 such"),
    ],
)
def test_samples_that_are_refused(given, words):
    with pytest.raises(UserError, match=words):
        samples(given, "here")


def test_channels_last_without_channels():
    with pytest.raises(UserError, match=r"here: layout = 'channels_last' is for \[n, ..., channels\], .* \[2, 2\]"):
        samples(np.zeros((2, 2)), "here", "channels_last")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (np.array([3, 1], ">i2"), [3, 1]),
        (np.array([3.0, 1.0]), [3, 1]),
        (np.array([[3], [1]], np.uint8), [3, 1]),
        (np.array([True, False]), [1, 0]),
        (np.array(["x", "y"]), ["x", "y"]),
    ],
)
def test_labels(given, made):
    assert labels(given, "here").tolist() == made


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.eye(3), r"here: labels must be a list \[n\], one class per sample, not \[3, 3\]; .*argmax"),
        (np.array([1, 0.5]), "here: labels must be classes, and that of sample 1 is 0.5"),
        (np.array([1, np.nan]), "here: labels must be classes, and that of sample 1 is nan"),
        (np.array([None]), "here: labels must be whole numbers or texts, not of type object"),
    ],
)
def test_labels_that_are_refused(given, words):
    with pytest.raises(UserError, match=words):
        labels(given, "here")
