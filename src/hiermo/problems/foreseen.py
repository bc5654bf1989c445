"""Which samples the batches are made of, for several iterations at once: it costs little more than for one."""

from collections.abc import Sequence
from threading import local
from typing import Any

import torch
from torch import Tensor

from hiermo.core.plan import Nodes
from hiermo.data.batches import Batches

SEEDS = 16  # of runs at once, whose batches are kept
BLOCKS = 64  # of workers, whose next batches a thread keeps: one, or with several runs at once some of each


class Foreseen:
    """Batches of all workers; threads may ask for those of different workers at once."""

    def __init__(self, parts: Sequence[Any], batch: int, device: torch.device) -> None:
        self.parts, self.batch, self.device = parts, batch, device
        self._of_seeds: dict[int, Batches] = {}
        self._here = local()  # what a thread knows of its next iterations

    def look_ahead(self, seed: int, t: int, count: int, workers: Nodes) -> None:
        """This thread will ask for the batches of so many iterations in a row, with these very `workers`."""
        rows = self._of(seed).in_a_row(workers, t, count)
        ahead = torch.as_tensor(rows, device=self.device).flatten(1).unbind()
        known = self._here.__dict__.setdefault("known", {})
        known[id(workers)] = (workers, seed, t, ahead)  # holding them keeps the number theirs
        while len(known) > BLOCKS:
            known.pop(next(iter(known)))

    def chosen(self, seed: int, t: int, workers: Nodes) -> Tensor:
        """Indices of the samples of an iteration, one worker after the other."""
        known = getattr(self._here, "known", {})
        _, whose, first, ahead = known.get(id(workers), (None, None, 0, ()))
        if whose == seed and 0 <= t - first < len(ahead):
            found: Tensor = ahead[t - first]
            return found
        return torch.as_tensor(self._of(seed).indices(workers, t), device=self.device).flatten()

    def _of(self, seed: int) -> Batches:
        if seed not in self._of_seeds:
            while len(self._of_seeds) >= SEEDS:
                self._of_seeds.pop(next(iter(self._of_seeds)))
            self._of_seeds[seed] = Batches(self.parts, self.batch, seed)
        return self._of_seeds[seed]
