"""Which samples a worker sees in iteration t: a function of (seed, worker, t), so there is nothing to checkpoint.

Sample j of iteration t is position (t*B + j) mod D of the worker's shuffled order of epoch (t*B + j) // D: always
exactly B samples, all of an epoch before any of the next, repeating within the batch where D < B.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.data.randomness import orders

AHEAD = 32  # orders that are worth drawing at once


class Batches:
    """Batches of n workers; keeps the epochs that each worker saw last.

    Threads may ask for batches of different workers at once.
    """

    def __init__(self, parts: Sequence[Any], batch: int, seed: int) -> None:
        if batch < 1:
            raise UserError(f"batch must be at least 1, not {batch}")
        self.parts = [np.asarray(part, np.int64) for part in parts]
        self.batch, self.seed = batch, seed
        self._tapes: list[tuple[int, NDArray[np.int64]]] = [
            (0, part[:0]) for part in self.parts
        ]  # first epoch, samples

    def indices(self, workers: Any, t: int) -> NDArray[np.int64]:
        """Samples `[m, B]` of `workers` in iteration t, as indices into the whole data set.

        >>> batches = Batches([[0, 1, 2], [3, 4]], batch=2, seed=0)
        >>> sorted(batches.indices([0], t=0)[0].tolist() + batches.indices([0], t=1)[0].tolist()[:1])
        [0, 1, 2]
        """
        found: NDArray[np.int64] = self.in_a_row(workers, t, 1)[0]
        return found

    def in_a_row(self, workers: Any, t: int, count: int) -> NDArray[np.int64]:
        """Samples `[count, m, B]` of `workers` in iterations t, t + 1, ..."""
        workers = [int(i) for i in workers]
        begin, length = t * self.batch, count * self.batch
        self._wind(workers, begin, length)
        found = np.empty((count, len(workers), self.batch), np.int64)
        for k, i in enumerate(workers):
            first, tape = self._tapes[i]
            at = begin - first * len(self.parts[i])
            found[:, k] = tape[at : at + length].reshape(count, self.batch)
        return found

    def _wind(self, workers: Sequence[int], begin: int, length: int) -> None:
        """Let the tapes hold positions `begin` to `begin + length` of each worker's samples, epoch after epoch."""
        missing: dict[int, list[tuple[int, int]]] = {}  # by size: (worker, epoch)
        for i in workers:
            size = len(self.parts[i])
            first, last = begin // size, (begin + length - 1) // size
            kept, tape = self._tapes[i]
            beyond = kept + len(tape) // size
            if first < kept or first > beyond:
                tape, beyond = tape[:0], first
            else:
                tape = tape[(first - kept) * size :]
            self._tapes[i] = (first, tape)
            if beyond <= last:
                last = max(last, beyond + AHEAD // len(workers) - 1)
                missing.setdefault(size, []).extend((i, epoch) for epoch in range(beyond, last + 1))
        for size, pairs in missing.items():
            shuffled = orders(self.seed, "batches", pairs, size)
            owners = np.array([i for i, _ in pairs])
            for i in dict.fromkeys(owners.tolist()):
                first, tape = self._tapes[i]
                self._tapes[i] = (first, np.concatenate([tape, self.parts[i][shuffled[owners == i]].reshape(-1)]))
