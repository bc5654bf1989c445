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
    """Batches of n workers; keeps a tape of each worker's epochs, as many as a batch may touch.

    Threads may ask for batches of different workers at once.
    """

    def __init__(self, parts: Sequence[Any], batch: int, seed: int) -> None:
        if batch < 1:
            raise UserError(f"batch must be at least 1, not {batch}")
        self.parts = [np.asarray(part, np.int64) for part in parts]
        self.batch, self.seed = batch, seed
        self.sizes = np.array([len(part) for part in self.parts])
        self._epochs = 1 + -(-(batch - 1) // self.sizes)  # on each worker's tape
        lengths = self._epochs * self.sizes
        self._offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        self._tapes = np.empty(int(lengths.sum()), np.int64)
        self._first = np.full(len(self.parts), -1)  # epoch with which a tape begins
        self._within = np.arange(batch)

    def indices(self, workers: Any, t: int) -> NDArray[np.int64]:
        """Samples `[m, B]` of `workers` in iteration t, as indices into the whole data set.

        >>> batches = Batches([[0, 1, 2], [3, 4]], batch=2, seed=0)
        >>> sorted(batches.indices([0], t=0)[0].tolist() + batches.indices([0], t=1)[0].tolist()[:1])
        [0, 1, 2]
        """
        workers = np.asarray(workers, np.intp)
        epoch, place = np.divmod(t * self.batch, self.sizes[workers])  # of the first sample
        for i in np.flatnonzero(self._first[workers] != epoch):
            self._wind(int(workers[i]), int(epoch[i]))
        begin = self._offsets[workers] + place
        found: NDArray[np.int64] = self._tapes[begin[:, None] + self._within]
        return found

    def _wind(self, worker: int, epoch: int) -> None:
        """Let the worker's tape begin with an epoch; those that are on it already are moved."""
        size, n = int(self.sizes[worker]), int(self._epochs[worker])
        begin = int(self._offsets[worker])
        tape = self._tapes[begin : begin + n * size].reshape(n, size)
        ahead = epoch - int(self._first[worker])
        kept = n - ahead if self._first[worker] >= 0 and 0 < ahead < n else 0
        if kept:
            tape[:kept] = tape[ahead:].copy()
        for k in range(kept, n):
            tape[k] = self.parts[worker][order(self.seed, "batches", worker, epoch + k, n=size)]
        self._first[worker] = epoch
