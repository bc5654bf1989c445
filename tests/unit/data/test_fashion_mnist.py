"""Fashion-MNIST: MNIST's files under another name."""

import gzip
import os
from pathlib import Path
import struct

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.sources.mnist import FILES, FashionMnist, Mnist


def idx(array):
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def directory(tmp_path):
    folder = tmp_path / "fashion-mnist"
    folder.mkdir()
    for part, n in (("train", 6), ("t10k", 2)):
        images = (np.arange(n * 784) % 253).reshape(n, 28, 28)
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.arange(n) + 4)))
    return tmp_path


def test_good_files(directory):
    assert FashionMnist().find(directory) == directory / "fashion-mnist"
    assert Mnist().find(directory) is None
    data = FashionMnist().load(directory)
    assert data.name == "fashion-mnist"
    np.testing.assert_array_equal(data.train_x.ravel(), np.arange(6 * 784) % 253)
    assert data.train_y.tolist() == [4, 5, 6, 7, 8, 9]
    assert data.test_y.tolist() == [4, 5]
    assert data.class_names[9] == "Ankle boot"


def test_what_is_missing_is_named(directory):
    folder = directory / "fashion-mnist"
    (folder / f"{FILES[1]}.gz").unlink()
    with pytest.raises(
        UserError,
        match=rf"data set fashion-mnist: {FILES[1]} \(or with \.gz\) is not in {folder}; .* fetch fashion-mnist",
    ):
        FashionMnist().load(directory)


def test_a_bad_file_is_named(directory):
    file = directory / "fashion-mnist" / f"{FILES[2]}.gz"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UserError, match=f"data set fashion-mnist: {file} cannot be read.*import fashion-mnist PATH"):
        FashionMnist().load(directory)


def test_it_is_fetched_from_elsewhere_than_mnist():
    assert (FashionMnist.folder, FashionMnist.cites) == ("fashion-mnist", ("fashion_mnist",))
    assert [each.name for each in FashionMnist.downloads] == [f"{name}.gz" for name in FILES]
    for fashion, digits in zip(FashionMnist.downloads, Mnist.downloads, strict=True):
        assert not set(fashion.urls) & set(digits.urls)
        assert fashion.checksum == FashionMnist.contents[fashion.name] != digits.checksum


REAL = Path(os.environ.get("HIERMO_DATA") or "nowhere")


@pytest.mark.real_data
@pytest.mark.skipif(not (REAL / "fashion-mnist").is_dir(), reason="HIERMO_DATA has no fashion-mnist")
def test_the_real_files():
    data = FashionMnist().load(REAL)
    assert (data.train_x.shape, data.test_x.shape) == ((60000, 1, 28, 28), (10000, 1, 28, 28))
    assert (np.bincount(data.train_y) == 6000).all()
    assert (np.bincount(data.test_y) == 1000).all()
    assert data.train_y[:5].tolist() == [9, 0, 0, 3, 0]
    counts = np.bincount(data.train_x.ravel(), minlength=256)
    levels = np.arange(256) / 255
    mean = np.average(levels, weights=counts)
    assert mean == pytest.approx(0.2860, abs=1e-4)
    assert np.sqrt(np.average((levels - mean) ** 2, weights=counts)) == pytest.approx(0.3530, abs=1e-4)
