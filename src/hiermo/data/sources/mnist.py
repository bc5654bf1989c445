"""MNIST from its four idx files."""

from collections.abc import Mapping
from dataclasses import dataclass
import gzip
from math import prod
from pathlib import Path
import struct
from typing import ClassVar
import zlib

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset, check
from hiermo.data.download import Download

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
MNIST_SHA256 = {
    "train-images-idx3-ubyte.gz": "sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
MNIST_ADDRESSES = (
    "http://yann.lecun.com/exdb/mnist/",  # the official one, which often refuses
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
UBYTE = 0x0800  # an idx file begins with its type and its number of dimensions


@dataclass(frozen=True, kw_only=True)
class Mnist:
    """60000 training and 10000 test digits, from the folder `mnist` of the data directory; plain files or .gz."""

    cites: ClassVar[tuple[str, ...]] = ("mnist",)
    summary: ClassVar[str] = "MNIST digits, 60000 + 10000, from idx files in mnist/"
    samples: ClassVar[int] = 60000
    folder: ClassVar[str] = "mnist"
    contents: ClassVar[Mapping[str, str]] = MNIST_SHA256
    downloads: ClassVar[tuple[Download, ...]] = tuple(
        Download(name=name, urls=tuple(address + name for address in MNIST_ADDRESSES), checksum=checksum)
        for name, checksum in MNIST_SHA256.items()
    )

    def find(self, directory: Path) -> Path | None:
        """The folder, if all four files are in it."""
        folder = directory / "mnist"
        return folder if all(_file(folder, name) for name in FILES) else None

    def load(self, directory: Path) -> Dataset:
        folder = directory / "mnist"
        if missing := [name for name in FILES if not _file(folder, name)]:
            raise UserError(
                f"data set mnist: {', '.join(missing)} (or with .gz) is not in {folder}; "
                "put it there, or let HIERMO_DATA name the directory that holds mnist/"
            )
        train_x, train_y, test_x, test_y = (
            _idx(file, dimensions=3 if "idx3" in file.name else 1) for name in FILES if (file := _file(folder, name))
        )
        dataset = Dataset(
            "mnist", train_x[:, None], train_y.astype(np.int64), test_x[:, None], test_y.astype(np.int64), classes=10
        )
        check(dataset)
        return dataset


def _file(folder: Path, name: str) -> Path | None:
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def _idx(file: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array in an idx file of bytes: `[n]`, or `[n, 28, 28]`."""
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise _corrupt(file, f"cannot be read: {error}") from error
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise _corrupt(file, f"has {len(content)} bytes, fewer than its header of {start}")
    magic, *shape = struct.unpack_from(f">{1 + dimensions}I", content)
    if magic != UBYTE + dimensions:
        raise _corrupt(file, f"begins with {magic}, not with {UBYTE + dimensions}")
    if shape[1:] != [28, 28][: dimensions - 1]:
        raise _corrupt(file, f"has images of {shape[1:]} pixels, not [28, 28]")
    if len(content) - start != prod(shape):
        raise _corrupt(file, f"has {len(content) - start} bytes of data where its header says {prod(shape)}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()  # frombuffer's own is read-only


def _corrupt(file: Path, why: str) -> UserError:
    way_out = f"fetch it again, or let HIERMO_DATA name another directory than {file.parents[1]}"
    return UserError(f"data set mnist: {file} {why}; {way_out}")
