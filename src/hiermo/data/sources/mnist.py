"""MNIST, and Fashion-MNIST, which is made like it, from four idx files."""

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
from hiermo.data.reading.refusals import damaged, missing

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
FASHION_MD5 = {
    "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
}
FASHION_ADDRESSES = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)
FASHION_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
UBYTE = 0x0800  # an idx file begins with its type and its number of dimensions


def _downloads(addresses: tuple[str, ...], checksums: Mapping[str, str]) -> tuple[Download, ...]:
    return tuple(
        Download(name=name, urls=tuple(address + name for address in addresses), checksum=checksum)
        for name, checksum in checksums.items()
    )


@dataclass(frozen=True, kw_only=True)
class _FourFiles:
    """Images of 28 x 28 in 10 classes; the folder is called as the set is."""

    folder: ClassVar[str]
    class_names: ClassVar[tuple[str, ...]] = ()

    def find(self, directory: Path) -> Path | None:
        """The folder, if all four files are in it."""
        folder = directory / self.folder
        return folder if all(_file(folder, name) for name in FILES) else None

    def load(self, directory: Path) -> Dataset:
        folder = directory / self.folder
        if absent := [name for name in FILES if not _file(folder, name)]:
            raise missing(self.folder, [*absent[:-1], f"{absent[-1]} (or with .gz)"], folder)
        train_x, train_y, test_x, test_y = (
            _idx(file, dimensions=3 if "idx3" in file.name else 1) for name in FILES if (file := _file(folder, name))
        )
        dataset = Dataset(
            self.folder,
            train_x[:, None],
            train_y.astype(np.int64),
            test_x[:, None],
            test_y.astype(np.int64),
            classes=10,
            class_names=self.class_names,
        )
        check(dataset)
        return dataset


@dataclass(frozen=True, kw_only=True)
class Mnist(_FourFiles):
    """60000 training and 10000 test digits, from the folder `mnist` of the data directory; plain files or .gz."""

    cites: ClassVar[tuple[str, ...]] = ("mnist",)
    summary: ClassVar[str] = "MNIST digits, 60000 + 10000, from idx files in mnist/"
    samples: ClassVar[int] = 60000
    folder: ClassVar[str] = "mnist"
    contents: ClassVar[Mapping[str, str]] = MNIST_SHA256
    downloads: ClassVar[tuple[Download, ...]] = _downloads(MNIST_ADDRESSES, MNIST_SHA256)


@dataclass(frozen=True, kw_only=True)
class FashionMnist(_FourFiles):
    """60000 training and 10000 test pictures of clothes, from the folder `fashion-mnist`; plain files or .gz."""

    cites: ClassVar[tuple[str, ...]] = ("fashion_mnist",)
    summary: ClassVar[str] = "Fashion-MNIST clothes, 60000 + 10000, from idx files in fashion-mnist/"
    samples: ClassVar[int] = 60000
    folder: ClassVar[str] = "fashion-mnist"
    class_names: ClassVar[tuple[str, ...]] = FASHION_CLASSES
    contents: ClassVar[Mapping[str, str]] = FASHION_MD5
    downloads: ClassVar[tuple[Download, ...]] = _downloads(FASHION_ADDRESSES, FASHION_MD5)


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
    return damaged(file.parent.name, file, why, file.parents[1])
