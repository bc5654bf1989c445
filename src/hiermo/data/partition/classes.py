"""Every worker holds a few of the classes: the label skew of the HierMo paper, "x-class non-IID"."""

from dataclasses import dataclass
from typing import ClassVar
import warnings

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count
from hiermo.data.randomness import order

Holds = NDArray[np.bool_]  # [workers, classes]


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Each worker holds `per_worker` random classes; those who hold a class share its samples evenly.

    `cover` sees to it that every class is held by someone, and by equally many workers, give or take one; without it
    each worker chooses alone, as in the paper, and the samples of a class that nobody chose are not used.

    >>> labels = np.arange(12) % 3
    >>> [np.unique(labels[part]).size for part in Classes(per_worker=2).split(labels, n_workers=3, seed=0)]
    [2, 2, 2]
    """

    summary: ClassVar[str] = "each worker holds a few of the classes"
    per_worker: Count
    cover: bool = True

    def split(self, labels: NDArray[np.int64], n_workers: int, seed: int) -> tuple[NDArray[np.intp], ...]:
        present, labels = np.unique(labels, return_inverse=True)  # a class without samples is not dealt out
        classes = present.size
        self._check(classes, n_workers)
        holds = (_dealt if self.cover else _chosen)(n_workers, self.per_worker, classes, seed)
        if nobodys := present[~holds.any(0)].tolist():
            warnings.warn(
                f"no worker holds class {', '.join(map(str, nobodys))}: its samples are not used in training; "
                "data.partition.cover = true gives every class to someone",
                stacklevel=3,
            )
        owner = np.full(len(labels), -1)
        for c in range(classes):
            samples, holders = np.flatnonzero(labels == c), np.flatnonzero(holds[:, c])
            if holders.size:
                samples = samples[order(seed, "classes", "samples", c, n=samples.size)]
                holders = holders[order(seed, "classes", "holders", c, n=holders.size)]
                owner[samples] = holders[np.arange(samples.size) % holders.size]
        return tuple(np.flatnonzero(owner == worker) for worker in range(n_workers))

    def _check(self, classes: int, n_workers: int) -> None:
        if self.per_worker > classes:
            raise UserError(f"data.partition.per_worker = {self.per_worker}, but there are only {classes} classes")
        if self.cover and n_workers * self.per_worker < classes:
            raise UserError(
                f"data.partition.per_worker = {self.per_worker}: {n_workers} workers with {self.per_worker} classes "
                f"each cannot hold all {classes} classes; set it to {-(-classes // n_workers)} or more, or set "
                "cover = false to leave classes out"
            )


def _chosen(n_workers: int, per_worker: int, classes: int, seed: int) -> Holds:
    """Each worker's own choice."""
    holds = np.zeros((n_workers, classes), bool)
    for worker in range(n_workers):
        holds[worker, order(seed, "classes", "worker", worker, n=classes)[:per_worker]] = True
    return holds


def _dealt(n_workers: int, per_worker: int, classes: int, seed: int) -> Holds:
    """Hands dealt from shuffled decks of all classes; the next deck is opened when one is used up."""
    holds = np.zeros((n_workers, classes), bool)
    deck: list[int] = []
    decks = 0
    # in random order: neighbours in the deck hold different classes, and neighbours in the tree share an edge
    for worker in order(seed, "classes", "workers", n=n_workers):
        hand, deck = deck[:per_worker], deck[per_worker:]
        if len(hand) < per_worker:
            deck = order(seed, "classes", "deck", decks, n=classes).tolist()
            decks += 1
            rest = [c for c in deck if c not in hand][: per_worker - len(hand)]  # enough of them: per_worker <= classes
            hand, deck = hand + rest, [c for c in deck if c not in rest]
        holds[worker, hand] = True
    return holds
