"""Every worker holds what belongs to its own people or devices: a division that the data itself brings along."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Natural:
    """Worker i holds the samples of owner i; fewer workers hold several owners each, neighbours in their order.

    Nothing is random: whoever numbers the owners, or names their files, says who shares a worker and an edge.

    >>> [part.tolist() for part in Natural().split(np.array([2, 0, 1, 2]), n_workers=3, seed=0)]
    [[1], [2], [0, 3]]
    >>> [part.tolist() for part in Natural().split(np.array([2, 0, 1, 2]), n_workers=2, seed=0)]
    [[1, 2], [0, 3]]
    """

    summary: ClassVar[str] = "each worker holds the samples of its own people or devices"
    by_owner: ClassVar[bool] = True

    def split(self, owners: NDArray[np.int64], n_workers: int, seed: int) -> tuple[NDArray[np.intp], ...]:
        known, place = np.unique(owners, return_inverse=True)
        if n_workers > known.size:
            raise UserError(
                f"the partition natural has {known.size} owners of samples for {n_workers} workers; "
                f"use at most {known.size} workers, or another partition"
            )
        owners_each = [mine.size for mine in np.array_split(known, n_workers)]
        holder = np.repeat(np.arange(n_workers), owners_each)[place]
        return tuple(np.flatnonzero(holder == worker) for worker in range(n_workers))
