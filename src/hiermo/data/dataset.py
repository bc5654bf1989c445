"""A data set in memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError

Samples = NDArray[np.uint8] | NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test samples with their labels in 0..classes-1.

    `x` is uint8, images `[n, channels, h, w]` that mean pixel / 255, or float32, which means itself; `y` is int64.
    Where samples belong to someone, a person or a device, `owners` says to whom, in 0..k-1; `test_owners` likewise.
    """

    name: str
    train_x: Samples
    train_y: Labels
    test_x: Samples
    test_y: Labels
    classes: int
    owners: Labels | None = None
    test_owners: Labels | None = None
    class_names: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one sample."""
        return self.train_x.shape[1:]


def check(dataset: Dataset) -> None:
    """Refuses a data set that no model could be trained on, and says why."""
    for part, x, y in (
        ("training", dataset.train_x, dataset.train_y),
        ("test", dataset.test_x, dataset.test_y),
    ):
        if wrong := _wrong(x, y, dataset.classes):
            raise UserError(f"data set {dataset.name}, {part} part: {wrong}")
    for part, owners, y in (
        ("training", dataset.owners, dataset.train_y),
        ("test", dataset.test_owners, dataset.test_y),
    ):
        if owners is not None and (owners.dtype != np.int64 or owners.shape != y.shape or owners.min() < 0):
            raise UserError(f"data set {dataset.name}, {part} part: owners must be one int64 of at least 0 per sample")
    if dataset.class_names and len(dataset.class_names) != dataset.classes:
        raise UserError(f"data set {dataset.name}: {len(dataset.class_names)} names for {dataset.classes} classes")
    train, test = dataset.train_x, dataset.test_x
    for what, one, other in (("shape", train.shape[1:], test.shape[1:]), ("type", train.dtype, test.dtype)):
        if one != other:
            raise UserError(
                f"data set {dataset.name}: training samples are of {what} {one}, test samples of {what} {other}; "
                f"they must agree"
            )


def _wrong(x: Samples, y: Labels, classes: int) -> str:
    if x.dtype not in (np.uint8, np.float32):
        return f"samples must be uint8 (pixels) or float32, not {x.dtype}; convert them with .astype"
    if y.dtype != np.int64 or y.ndim != 1:
        return f"labels must be a list [n] of int64, not {list(y.shape)} of {y.dtype}"
    if x.ndim == 0 or len(x) != len(y):
        return f"there must be one label per sample, not {len(y)} labels for samples {list(x.shape)}"
    if x.size == 0:
        return f"it is empty: samples are {list(x.shape)}"
    if y.min() < 0 or y.max() >= classes:
        return f"labels must be in 0..{classes - 1} (classes = {classes}), not {y.min()}..{y.max()}"
    if x.dtype == np.float32 and not np.isfinite(x).all():
        bad = np.flatnonzero(~np.isfinite(x).reshape(len(x), -1).all(1))
        return f"sample {bad[0]} has a value that is not finite ({len(bad)} such samples); remove or mend them"
    return ""
