"""Every worker gets a random sample of a given size."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count
from hiermo.data.randomness import order


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Worker i gets `sizes[i]` random samples; those left over are not used.

    >>> [part.size for part in Sizes(sizes=(1, 5)).split(np.zeros(8, int), n_workers=2, seed=0)]
    [1, 5]
    """

    summary: ClassVar[str] = "a random split into given sizes"
    sizes: tuple[Count, ...]

    def split(self, labels: NDArray[np.int64], n_workers: int, seed: int) -> tuple[NDArray[np.int64], ...]:
        if len(self.sizes) != n_workers:
            raise UserError(
                f"data.partition.sizes has {len(self.sizes)} entries for {n_workers} workers; give one each"
            )
        if sum(self.sizes) > len(labels):
            raise UserError(
                f"data.partition.sizes asks for {sum(self.sizes)} samples and there are {len(labels)}; ask for fewer"
            )
        ends = np.cumsum(self.sizes)
        return tuple(np.sort(part) for part in np.split(order(seed, "sizes", n=len(labels)), ends)[:-1])
