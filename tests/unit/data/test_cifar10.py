"""CIFAR-10: the checksum before all else, pickles that hold code, and the binary version in small."""

from hashlib import md5
import os
import pickle

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import check
from hiermo.data.reading.safe_pickle import Refused, read_pickle
from hiermo.data.sources import cifar10
from hiermo.data.sources.cifar10 import BINARY, PYTHON, Cifar10

SMALL = 4  # pictures in a batch


def digest(content):
    return md5(content, usedforsecurity=False).hexdigest()


def write(directory, version, contents):
    folder = directory / "cifar10" / version.folder
    folder.mkdir(parents=True)
    for name, content in zip(version.batches, contents, strict=True):
        (folder / name).write_bytes(content)
    return folder


def pixels(batch):
    return (np.arange(SMALL * 3072) * (batch + 7) % 251).astype(np.uint8).reshape(SMALL, 3072)


def labels(batch):
    return [(batch + 3 * k) % 10 for k in range(SMALL)]


def in_python(batch):
    return pickle.dumps({b"data": pixels(batch), b"labels": labels(batch)}, 4)


def in_binary(batch):
    return b"".join(bytes([label]) + row.tobytes() for label, row in zip(labels(batch), pixels(batch), strict=True))


@pytest.fixture
def small(monkeypatch):
    """Batches of four pictures, and their checksums in place of the authors'."""
    monkeypatch.setattr(cifar10, "BATCH", SMALL)
    monkeypatch.setattr(Cifar10, "samples", 5 * SMALL)
    for version, content in ((PYTHON, in_python), (BINARY, in_binary)):
        for batch, name in enumerate(version.batches):
            monkeypatch.setitem(version.batches, name, digest(content(batch)))


@pytest.mark.parametrize(("version", "content"), [(PYTHON, in_python), (BINARY, in_binary)], ids=["python", "binary"])
def test_both_versions(tmp_path, small, version, content):
    folder = write(tmp_path, version, map(content, range(6)))
    assert Cifar10().find(tmp_path) == folder
    for _ in range(2):
        data = Cifar10().load(tmp_path)
        check(data)
        expected = np.concatenate([pixels(batch) for batch in range(6)]).reshape(-1, 3, 32, 32)
        np.testing.assert_array_equal(data.train_x, expected[: 5 * SMALL])
        np.testing.assert_array_equal(data.test_x, expected[5 * SMALL :])
        assert [*data.train_y, *data.test_y] == [label for batch in range(6) for label in labels(batch)]
        assert (data.train_x.dtype, data.train_y.dtype) == (np.uint8, np.int64)
        assert (data.name, data.classes, data.class_names[6]) == ("cifar10", 10, "frog")
        assert data.train_x.flags.writeable


def test_one_whole_version_is_enough(tmp_path, small):
    python = write(tmp_path, PYTHON, map(in_python, range(6)))
    binary = write(tmp_path, BINARY, map(in_binary, range(6)))
    assert Cifar10().find(tmp_path) == python
    (python / "data_batch_2").unlink()
    assert Cifar10().find(tmp_path) == binary
    assert Cifar10().load(tmp_path).train_x.shape == (20, 3, 32, 32)


class Evil:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.system, (f"touch {self.trace}",)


def test_a_pickle_with_code_is_not_even_read(tmp_path, monkeypatch):
    trace = tmp_path / "ran"
    evil = pickle.dumps({"data": Evil(trace), "labels": []}, 2)
    folder = write(tmp_path, PYTHON, [evil] * 6)
    read = []
    monkeypatch.setattr(cifar10, "read_pickle", read.append)
    authors = PYTHON.batches["data_batch_1"]
    with pytest.raises(
        UserError, match=f"{folder / 'data_batch_1'} has the MD5 {digest(evil)}, and that of the authors is {authors}; "
    ):
        Cifar10().load(tmp_path)
    assert read == []
    assert not trace.exists()


def test_a_pickle_with_code_is_not_run_if_its_md5_is_right(tmp_path, monkeypatch):
    """The second of two locks, by itself."""
    trace = tmp_path / "ran"
    evil = pickle.dumps({"data": Evil(trace), "labels": []}, 2)
    with pytest.raises(Refused, match=r"system is not admitted"):
        read_pickle(evil)
    for name in PYTHON.batches:
        monkeypatch.setitem(PYTHON.batches, name, digest(evil))
    folder = write(tmp_path, PYTHON, [evil] * 6)
    with pytest.raises(
        UserError, match=f"data set cifar10: {folder / 'data_batch_1'} is not a pickle of arrays: .*system"
    ):
        Cifar10().load(tmp_path)
    assert not trace.exists()


@pytest.mark.parametrize(("version", "content"), [(PYTHON, in_python), (BINARY, in_binary)], ids=["python", "binary"])
@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:-3073], lambda b: b + b"\0", lambda b: b"\1" + b[1:]]
)
def test_a_damaged_batch_is_named_and_nothing_is_kept(tmp_path, small, version, content, damage):
    folder = write(tmp_path, version, map(content, range(6)))
    file = folder / list(version.batches)[3]
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(
        UserError, match=f"data set cifar10: {file} has the MD5 .*data fetch cifar10.* than {tmp_path}$"
    ):
        Cifar10().load(tmp_path)
    assert not list((tmp_path / "decoded").glob("cifar10-*"))


def test_a_batch_that_cannot_be_read(tmp_path, small):
    folder = write(tmp_path, PYTHON, map(in_python, range(6)))
    (folder / "test_batch").unlink()
    (folder / "test_batch").mkdir()
    with pytest.raises(UserError, match=f"test_batch is not in {folder}"):
        Cifar10().load(tmp_path)


@pytest.mark.parametrize("version", [PYTHON, BINARY], ids=["python", "binary"])
def test_what_is_missing_is_named(tmp_path, version):
    folder = write(tmp_path, version, [b""] * 6)
    gone = list(version.batches)[1]
    (folder / gone).unlink()
    assert Cifar10().find(tmp_path) is None
    with pytest.raises(UserError, match=f"data set cifar10: {gone} is not in {folder}; .*hiermo data fetch cifar10"):
        Cifar10().load(tmp_path)


def test_nothing_there(tmp_path):
    assert Cifar10().find(tmp_path) is None
    with pytest.raises(
        UserError, match=r"data_batch_4 and 2 more is not in .*cifar-10-batches-py; .*import cifar10 PATH"
    ):
        Cifar10().load(tmp_path)


def test_contents_are_what_is_read():
    assert set(Cifar10.contents) == {f"cifar-10-batches-py/{name}" for name in PYTHON.batches}
