"""MNIST from idx files, good and bad, and the real ones where they are."""

import gzip
import os
from pathlib import Path
import struct

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.sources.mnist import FILES, Mnist


def idx(array, magic=None, shape=None):
    shape = array.shape if shape is None else shape
    magic = 0x800 + len(shape) if magic is None else magic
    return struct.pack(f">{1 + len(shape)}I", magic, *shape) + array.astype(np.uint8).tobytes()


def images(n):
    return (np.arange(n * 784) % 251).reshape(n, 28, 28)


@pytest.fixture
def folder(tmp_path):
    """Seven training and three test samples; images packed, labels plain."""
    made = tmp_path / "mnist"
    made.mkdir()
    for part, n in (("train", 7), ("t10k", 3)):
        (made / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images(n))))
        (made / f"{part}-labels-idx1-ubyte").write_bytes(idx(np.arange(n)))
    return made


def test_good_files(folder):
    assert Mnist().find(folder.parent) == folder
    data = Mnist().load(folder.parent)
    np.testing.assert_array_equal(data.train_x, images(7)[:, None])
    np.testing.assert_array_equal(data.test_x, images(3)[:, None])
    assert data.train_y.tolist() == list(range(7))
    assert data.test_y.tolist() == [0, 1, 2]
    assert (data.train_x.dtype, data.train_y.dtype, data.classes) == (np.uint8, np.int64, 10)
    assert data.train_x.flags.writeable  # torch warns of arrays that are not


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder, name):
    for file in folder.glob(f"{name}*"):
        file.unlink()
    assert Mnist().find(folder.parent) is None
    with pytest.raises(UserError, match=rf"{name} \(or with \.gz\) is not in {folder}; .*HIERMO_DATA"):
        Mnist().load(folder.parent)


def test_nothing_there(tmp_path):
    assert Mnist().find(tmp_path) is None
    with pytest.raises(UserError, match=f"{', '.join(FILES)} .* is not in {tmp_path / 'mnist'}"):
        Mnist().load(tmp_path)


PACKED = gzip.compress(idx(images(7)), mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train-images-idx3-ubyte.gz", PACKED[:-20], "cannot be read"),
        ("train-images-idx3-ubyte.gz", b"<html>not found</html>", "cannot be read"),
        ("train-images-idx3-ubyte.gz", b"", "fewer than its header of 16"),
        ("train-images-idx3-ubyte.gz", PACKED[:40] + bytes(4) + PACKED[44:], "cannot be read"),
        ("train-images-idx3-ubyte.gz", gzip.compress(idx(images(7))[:-1]), "has 5487 bytes of data where .* says 5488"),
        ("train-images-idx3-ubyte", idx(images(7)) + b"x", "has 5489 bytes of data where its header says 5488"),
        ("train-images-idx3-ubyte", idx(images(7))[:10], "has 10 bytes, fewer than its header of 16"),
        ("train-images-idx3-ubyte", idx(images(7), magic=2049), "begins with 2049, not with 2051"),
        ("train-images-idx3-ubyte", idx(images(7), shape=(14, 14, 28)), r"images of \[14, 28\] pixels, not \[28, 28\]"),
        ("train-images-idx3-ubyte", idx(images(7), shape=(2**32 - 1, 28, 28)), "5488 bytes .* says 3367254359280"),
        ("t10k-labels-idx1-ubyte", b"", "has 0 bytes, fewer than its header of 8"),
        ("t10k-labels-idx1-ubyte", idx(np.arange(3), shape=(4,)), "has 3 bytes of data where its header says 4"),
        ("t10k-labels-idx1-ubyte", idx(np.arange(3), magic=2051), "begins with 2051, not with 2049"),
    ],
)
def test_a_bad_file_is_named(folder, name, content, words):
    (folder / name).write_bytes(content)  # a plain file goes before a packed one
    with pytest.raises(
        UserError, match=rf"data set mnist: {folder / name} .*{words}.*HIERMO_DATA .* than {folder.parent}"
    ):
        Mnist().load(folder.parent)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.arange(6), "training part: there must be one label per sample"),
        (np.full(7, 10), r"labels must be in 0\.\.9"),
    ],
)
def test_files_that_do_not_go_together(folder, labels, words):
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    with pytest.raises(UserError, match=f"data set mnist, {words}|data set mnist, training part: {words}"):
        Mnist().load(folder.parent)


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set")
def test_the_real_files():
    data = Mnist().load(Path(os.environ["HIERMO_DATA"]))
    assert data.train_x.shape == (60000, 1, 28, 28)
    assert data.test_x.shape == (10000, 1, 28, 28)
    assert len(data.train_y) == Mnist.samples
    assert data.train_y[:5].tolist() == [5, 0, 4, 1, 9]
    pixels = data.train_x / np.float64(255)
    assert pixels.mean() == pytest.approx(0.1307, abs=1e-4)
    assert pixels.std() == pytest.approx(0.3081, abs=1e-4)
