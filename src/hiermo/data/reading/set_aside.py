"""A test part for data that has none."""

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.data.dataset import Labels
from hiermo.data.randomness import order

Indices = NDArray[np.intp]


def set_aside(labels: Labels, owners: Labels | None, share: float, where: str) -> tuple[Indices, Indices]:
    """(training, test) samples: of every owner the same share, and of every class nearly so.

    It is the same choice whatever the seed of the run. Every class and every owner keeps a training sample, and an
    owner of two or more samples has a test sample, unless a class would lose its last one.

    >>> labels = np.array([0] * 10 + [1] * 5)
    >>> kept, aside = set_aside(labels, None, 0.2, "here")
    >>> np.bincount(labels[kept]).tolist(), np.bincount(labels[aside]).tolist()
    ([8, 4], [2, 1])
    """
    is_test = np.zeros(len(labels), bool)
    whose = np.zeros(len(labels), np.int64) if owners is None else owners
    mixed = order(0, "test share", n=len(labels))
    sorted_by_class = mixed[np.lexsort((labels[mixed], whose[mixed]))]
    for theirs in np.split(sorted_by_class, np.flatnonzero(np.diff(whose[sorted_by_class])) + 1):
        many = min(max(round(theirs.size * share), 1), theirs.size - 1)
        is_test[theirs[_evenly_spread(many, theirs.size)]] = True
    for c in np.setdiff1d(labels, labels[~is_test]):
        is_test[np.flatnonzero(labels == c)[0]] = False
    if not is_test.any():
        raise UserError(f"{where}: {len(labels)} samples are too few to set some aside for testing; give a test part")
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _evenly_spread(many: int, n: int) -> Indices:
    """So many of 0..n-1: where samples are sorted by class, each class gets its share, give or take one."""
    return ((np.arange(many) + 0.5) * n / max(many, 1)).astype(np.intp)
