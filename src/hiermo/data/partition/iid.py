"""Every worker gets a random sample of the whole."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hiermo.data.randomness import order


@dataclass(frozen=True, kw_only=True)
class Iid:
    """A random split into sizes that differ by at most one; every sample is used.

    >>> [part.size for part in Iid().split(np.zeros(8, int), n_workers=3, seed=0)]
    [3, 3, 2]
    """

    summary: ClassVar[str] = "a random split into equal sizes"

    def split(self, labels: NDArray[np.int64], n_workers: int, seed: int) -> tuple[NDArray[np.int64], ...]:
        return tuple(np.sort(part) for part in np.array_split(order(seed, "iid", n=len(labels)), n_workers))
