"""Which samples a worker sees in iteration t: a function of (seed, worker, t), so there is nothing to checkpoint.

Sample j of iteration t is position (t*B + j) mod D of the worker's shuffled order of epoch (t*B + j) // D: always
exactly B samples, all of an epoch before any of the next, repeating within the batch where D < B.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.data.randomness import order


class Batches:
    """Batches of n workers; keeps each worker's last two epochs, as a batch may straddle them."""

    def __init__(self, parts: Sequence[Any], batch: int, seed: int) -> None:
        if batch < 1:
            raise UserError(f"batch must be at least 1, not {batch}")
        self.parts = [np.asarray(part, np.int64) for part in parts]
        self.batch, self.seed = batch, seed
        self.sizes = np.array([len(part) for part in self.parts])
        self._offsets = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self._orders = np.empty((2, int(self.sizes.sum())), np.int64)  # epoch e is in row e % 2
        self._epochs = np.full((2, len(self.parts)), -1)

    def indices(self, workers: Any, t: int) -> NDArray[np.int64]:
        """Samples `[m, B]` of `workers` in iteration t, as indices into the whole data set.

        >>> batches = Batches([[0, 1, 2], [3, 4]], batch=2, seed=0)
        >>> sorted(batches.indices([0], t=0)[0].tolist() + batches.indices([0], t=1)[0].tolist()[:1])
        [0, 1, 2]
        """
        workers = np.asarray(workers, np.intp)
        position = t * self.batch + np.arange(self.batch)  # [B]
        epoch, place = np.divmod(position, self.sizes[workers, None])  # [m, B]
        if (epoch[:, -1] - epoch[:, 0] > 1).any():  # a worker with fewer samples than half a batch: rare, so simple
            return np.stack([self._few(i, e, p) for i, e, p in zip(workers, epoch, place, strict=True)])
        for ends in (epoch[:, 0], epoch[:, -1]):
            for i in np.flatnonzero(self._epochs[ends % 2, workers] != ends):
                self._shuffle(int(workers[i]), int(ends[i]))
        found: NDArray[np.int64] = self._orders[epoch % 2, self._offsets[workers, None] + place]
        return found

    def _shuffle(self, worker: int, epoch: int) -> None:
        begin = self._offsets[worker]
        self._orders[epoch % 2, begin : begin + self.sizes[worker]] = self._epoch(worker, epoch)
        self._epochs[epoch % 2, worker] = epoch

    def _epoch(self, worker: int, epoch: int) -> NDArray[np.int64]:
        """The worker's samples in the order of one epoch."""
        return self.parts[worker][order(self.seed, "batches", worker, epoch, n=int(self.sizes[worker]))]

    def _few(self, worker: int, epoch: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        epochs = {e: self._epoch(int(worker), int(e)) for e in np.unique(epoch)}
        return np.array([epochs[e][p] for e, p in zip(epoch, place, strict=True)])
