"""Arrays of one's own: .npz and .npy files, whole, split, one per worker, and bad ones."""

from pathlib import Path

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.sources.arrays import Arrays

X, Y = np.arange(40, dtype=np.float64).reshape(20, 2), np.arange(20) % 2 + 5


def load(path, **options):
    return Arrays(path=str(path), **options).load(Path())


@pytest.mark.parametrize(
    "names", [("train_x", "train_y", "test_x", "test_y"), ("x_train", "y_train", "x_test", "y_test")]
)
def test_a_file_with_its_test_part(tmp_path, names):
    file = tmp_path / "d.npz"
    np.savez_compressed(file, **dict(zip(names, (X[:15], Y[:15], X[15:], Y[15:]), strict=True)))
    assert Arrays(path=str(file)).find(Path()) == file
    data = load(file)
    np.testing.assert_array_equal(data.train_x, X[:15])
    np.testing.assert_array_equal(data.test_x, X[15:])
    assert data.train_y.tolist() == (Y[:15] - 5).tolist()
    assert data.test_y.tolist() == (Y[15:] - 5).tolist()
    assert (data.name, data.classes, data.class_names) == ("d.npz", 2, ("5", "6"))
    assert (data.train_x.dtype, data.train_y.dtype) == (np.float32, np.int64)
    assert data.owners is None


def test_a_file_without(tmp_path):
    np.savez(tmp_path / "d.npz", x=X, y=Y)
    data = load(tmp_path / "d.npz", test_share=0.3)
    assert sorted([*data.train_x[:, 0], *data.test_x[:, 0]]) == X[:, 0].tolist()
    assert data.test_y.tolist().count(0) == data.test_y.tolist().count(1) == 3
    np.testing.assert_array_equal(data.train_x[:, 0] // 2 % 2, data.train_y)


def test_a_test_file_of_its_own(tmp_path):
    np.savez(tmp_path / "d.npz", x=X, y=Y)
    np.savez(tmp_path / "t.npz", x=X[:3], y=Y[:3])
    data = load(tmp_path / "d.npz", test=str(tmp_path / "t.npz"))
    assert (len(data.train_y), len(data.test_y)) == (20, 3)


def test_samples_and_labels_side_by_side(tmp_path):
    for name, array in {"x": X, "y": Y, "tx": X[:3], "ty": Y[:3]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    path, labels, test, test_labels = (str(tmp_path / f"{name}.npy") for name in ("x", "y", "tx", "ty"))
    assert len(load(path, labels=labels).test_y) == 4
    data = load(path, labels=labels, test=test, test_labels=test_labels)
    np.testing.assert_array_equal(data.test_x, X[:3])
    assert len(data.train_y) == 20
    with pytest.raises(UserError, match=r"data.test_labels goes with data.labels and data.test"):
        load(path, labels=labels, test=test)
    with pytest.raises(UserError, match=r"data.test_labels goes with data.labels and data.test"):
        load(path, labels=labels, test_labels=test)
    with pytest.raises(UserError, match=r"x.npy is not an .npz file; .*data.labels"):
        load(path)


def test_images(tmp_path):
    pictures = np.arange(20 * 4 * 5 * 3, dtype=np.uint8).reshape(20, 4, 5, 3)
    np.savez(tmp_path / "d.npz", x=pictures, y=Y)
    data = load(tmp_path / "d.npz", test_share=0.5)
    assert (data.shape, data.train_x.dtype) == ((3, 4, 5), np.uint8)
    assert load(tmp_path / "d.npz", layout="channels_first").shape == (4, 5, 3)


@pytest.fixture
def workers(tmp_path):
    """Three files, of 4, 6 and 8 samples."""
    for k, n in ((1, 4), (2, 6), (10, 8)):
        np.savez(tmp_path / f"w{k}.npz", x=np.full((n, 2), float(k)), y=np.arange(n) % 2)
        np.save(tmp_path / f"x{k}.npy", np.full((n, 2), float(k)))
        np.save(tmp_path / f"y{k}.npy", np.arange(n) % 2)
    return tmp_path


def owns(x, owners):
    """Who has which value."""
    return sorted(set(zip(owners.tolist(), x[:, 0].tolist(), strict=True)))


@pytest.mark.parametrize("names", [("w*.npz", None), ("x*.npy", "y*.npy")])
def test_a_file_per_worker(workers, names):
    path, labels = (name and str(workers / name) for name in names)
    data = load(path, labels=labels, test_share=0.5)
    assert owns(data.train_x, data.owners) == owns(data.test_x, data.test_owners) == [(0, 1.0), (1, 2.0), (2, 10.0)]
    assert np.bincount(data.owners).tolist() == np.bincount(data.test_owners).tolist() == [2, 3, 4]


def test_a_test_part_per_worker(workers):
    for k in range(3):
        np.savez(workers / f"t{k}.npz", x=np.full((k + 1, 2), k), y=np.zeros(k + 1))
    data = load(workers / "w*.npz", test=str(workers / "t*.npz"))
    assert data.test_owners.tolist() == [0, 1, 1, 2, 2, 2]
    assert data.test_x[:, 0].tolist() == [0, 1, 1, 2, 2, 2]
    assert load(workers / "w*.npz", test=str(workers / "t0.npz")).test_owners is None
    (workers / "t0.npz").unlink()
    with pytest.raises(
        UserError, match=r"data.test = '.*t\*.npz' has 2 places and data.path = '.*' has 3; give as many"
    ):
        load(workers / "w*.npz", test=str(workers / "t*.npz"))
    with pytest.raises(UserError, match=r"data.labels = '.*y\*.npy' has 3 places and data.path = '.*' has 1"):
        load(workers / "x1.npy", labels=str(workers / "y*.npy"))


def test_all_workers_test_or_none(workers):
    np.savez(workers / "w3.npz", train_x=X, train_y=Y, test_x=X, test_y=Y)
    with pytest.raises(UserError, match=r"w3.npz holds a test part and .*w1.npz does not"):
        load(workers / "w*.npz")
    with pytest.raises(UserError, match=r"w3.npz holds a test part of its own; leave out data.test"):
        load(workers / "w3.npz", test=str(workers / "w1.npz"))


def test_workers_that_do_not_go_together(workers):
    np.savez(workers / "w3.npz", x=X[:, :1], y=Y)
    with pytest.raises(
        UserError, match=r"w1.npz, array x are of shape \[2\], those of .*w3.npz, array x of shape \[1\]"
    ):
        load(workers / "w*.npz")
    np.savez(workers / "w3.npz", x=X.astype(np.uint8), y=Y)
    with pytest.raises(
        UserError, match=r"w1.npz, array x are of type float32, those of .*w3.npz, array x of type uint8"
    ):
        load(workers / "w*.npz")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": X}, "d.npz holds x; it must hold train_x and train_y or x_train and y_train or x and y"),
        ({}, "d.npz holds nothing; it must hold"),
        ({"x": X, "y": Y, "test_x": X}, "d.npz holds x, y, test_x; it must hold test_x and test_y"),
        ({"x": X, "y": Y[:3]}, "d.npz, array x: 20 samples and 3 labels"),
        (
            {"x": np.array([{}, 1]), "y": Y},
            "d.npz, array x cannot be read: .*save it again .*Python objects are not read",
        ),
        ({"x": X, "y": np.array([None])}, "d.npz, array y cannot be read: .*Python objects are not read"),
        ({"x": X * np.nan, "y": Y}, "d.npz, array x: sample 0 has a value that is no finite float32"),
        ({"x": X, "y": Y + 0.5}, "d.npz, array y: labels must be classes, and that of sample 0 is 5.5"),
        ({"x": X, "y": 0 * Y}, "all samples are of the class 0"),
    ],
)
def test_a_bad_archive_is_named(tmp_path, arrays, words):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(UserError, match=words):
        load(tmp_path / "d.npz")


@pytest.mark.parametrize("cut", [0, 4, 100, -1, -30])
def test_a_truncated_archive_is_named(tmp_path, cut):
    np.savez_compressed(tmp_path / "whole.npz", x=X, y=Y)
    (tmp_path / "d.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:cut])
    with pytest.raises(UserError, match=r"d.npz cannot be read: .*save it again with np.save"):
        load(tmp_path / "d.npz")


def test_any_damaged_byte_is_refused_or_harmless(tmp_path):
    """No traceback, whichever byte is turned over."""
    np.savez_compressed(tmp_path / "whole.npz", x=X, y=Y)
    content = (tmp_path / "whole.npz").read_bytes()
    good, refused = load(tmp_path / "whole.npz"), 0
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        (tmp_path / "d.npz").write_bytes(damaged)
        try:
            data = load(tmp_path / "d.npz")
        except UserError as error:
            refused += 1
            assert "d.npz" in str(error)
        else:
            np.testing.assert_array_equal(data.train_x, good.train_x)
    assert refused > len(content) / 2


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "No data left in file"), (b"hello", "x.npy cannot be read"), (b"\x93NUMPY\x01\x00", "x.npy cannot be read")],
)
def test_a_bad_npy_is_named(tmp_path, content, words):
    (tmp_path / "x.npy").write_bytes(content)
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(UserError, match=r"x.npy cannot be read: .*"):
        load(tmp_path / "x.npy", labels=str(tmp_path / "y.npy"))


def test_an_npy_cut_short(tmp_path):
    np.save(tmp_path / "y.npy", Y)
    np.save(tmp_path / "x.npy", X)
    content = (tmp_path / "x.npy").read_bytes()
    for cut in (10, 60, len(content) - 1):
        (tmp_path / "x.npy").write_bytes(content[:cut])
        with pytest.raises(UserError, match=r"x.npy cannot be read: .*"):
            load(tmp_path / "x.npy", labels=str(tmp_path / "y.npy"))
    huge = content.replace(b"(20, 2)", b"(9999999999999, 2)")
    (tmp_path / "x.npy").write_bytes(huge)
    with pytest.raises(UserError, match=r"x.npy cannot be read: .*"):
        load(tmp_path / "x.npy", labels=str(tmp_path / "y.npy"))


def test_an_archive_is_no_partner(tmp_path):
    np.savez(tmp_path / "d.npz", x=X, y=Y)
    with pytest.raises(UserError, match=r"d.npz is an .npz file; labels of its own go inside it"):
        load(tmp_path / "d.npz", labels=str(tmp_path / "d.npz"))


def test_nothing_there(tmp_path):
    assert Arrays(path=str(tmp_path / "d.npz")).find(Path()) is None
    with pytest.raises(UserError, match=r"data.path = '.*d.npz': nothing is there"):
        load(tmp_path / "d.npz")
    with pytest.raises(UserError, match=r"cannot be read: .*"):
        load(tmp_path)


@pytest.mark.parametrize("share", [0, 1, 1.5])
def test_options_are_checked(tmp_path, share):
    with pytest.raises(UserError, match=rf"Arrays: test_share must be in \(0, 1\), not {share}"):
        load(tmp_path, test_share=share)
