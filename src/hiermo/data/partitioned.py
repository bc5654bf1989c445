"""A data set and who holds which samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import check_values
from hiermo.data.dataset import Dataset, Labels, Samples, check
from hiermo.data.randomness import order

Part = NDArray[np.intp]  # indices into the training samples


class PartitionRule(Protocol):
    """Who gets which samples, as a function of the labels and a seed."""

    def split(self, labels: Labels, n_workers: int, seed: int) -> Sequence[NDArray[Any]]:
        """Indices into `labels`, worker by worker; none of them twice.

        A rule with `by_owner = True` is given the samples' owners instead of their labels.
        """
        ...


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A data set and who holds which samples: worker i holds the training samples `parts[i]`.

    `train_x, train_y, test_x, test_y, parts` is a small protocol: whatever has these five attributes, with the types
    that `Dataset` gives them, may stand in its place.
    """

    dataset: Dataset
    parts: tuple[Part, ...]
    test_parts: tuple[Part, ...] | None = None  # each worker's own test samples, where they are known

    @property
    def train_x(self) -> Samples:
        return self.dataset.train_x

    @property
    def train_y(self) -> Labels:
        return self.dataset.train_y

    @property
    def test_x(self) -> Samples:
        return self.dataset.test_x

    @property
    def test_y(self) -> Labels:
        return self.dataset.test_y

    @property
    def classes(self) -> int:
        return self.dataset.classes

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one sample."""
        return self.dataset.shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """Samples per worker."""
        return tuple(len(part) for part in self.parts)

    def counts(self) -> NDArray[np.int64]:
        """Samples `[n_workers, classes]` of every class that each worker holds."""
        return np.stack([np.bincount(self.train_y[part], minlength=self.classes) for part in self.parts])

    def reordered(self, hands: Sequence[int] | NDArray[np.integer[Any]]) -> "Partitioned":
        """The same parts in other hands: worker i gets what worker `hands[i]` had."""
        if sorted(hands) != list(range(len(self.parts))):
            raise UserError(f"an order of {len(self.parts)} workers must name each of them once, not {list(hands)}")
        tests = None if self.test_parts is None else tuple(self.test_parts[i] for i in hands)
        return Partitioned(self.dataset, tuple(self.parts[i] for i in hands), tests)

    def sampled(self, share: float, seed: int) -> "Partitioned":
        """Every worker keeps a random sample of what it holds: this share, and at least one."""
        parts = tuple(
            np.sort(part[order(seed, "share", worker, n=part.size)[: max(1, round(share * part.size))]])
            for worker, part in enumerate(self.parts)
        )
        return Partitioned(self.dataset, parts, self.test_parts)


def partition(dataset: Dataset, rule: PartitionRule, n_workers: int, seed: int = 0) -> Partitioned:
    """The data set, divided among `n_workers` by `rule`; the same for the same seed.

    >>> from pathlib import Path
    >>> from hiermo.data.partition.iid import Iid
    >>> from hiermo.data.sources.synthetic import Synthetic
    >>> partition(Synthetic(samples=10).load(Path()), Iid(), n_workers=4).sizes
    (3, 3, 2, 2)
    """
    check(dataset)
    check_values(rule)
    n = len(dataset.train_y)
    if n_workers < 1:
        raise UserError(f"data set {dataset.name} needs at least one worker to go to, not {n_workers}")
    if n_workers > n:
        raise UserError(f"{n_workers} workers cannot share the {n} training samples of {dataset.name}; use fewer")
    parts = tuple(np.asarray(part) for part in rule.split(seen_by(rule, dataset), n_workers, seed))
    if wrong := wrong_parts(parts, range(n_workers), n):
        raise UserError(f"partition {type(rule).__name__} of {dataset.name} among {n_workers} workers: {wrong}")
    dealt = tuple(part.astype(np.intp, copy=False) for part in parts)
    return Partitioned(dataset, dealt, own_tests(dataset, dealt) if is_by_owner(rule) else None)


def is_by_owner(rule: PartitionRule) -> bool:
    return bool(getattr(rule, "by_owner", False))


def seen_by(rule: PartitionRule, dataset: Dataset) -> Labels:
    """What a rule divides by: the labels of the training samples, or their owners."""
    if not is_by_owner(rule):
        return dataset.train_y
    if dataset.owners is None:
        raise UserError(
            f"the partition {type(rule).__name__.lower()} needs to know whose each sample is, and data set "
            f"{dataset.name} does not say: uci-har has its subjects, synthetic its option owners, one's own data a "
            "path with * (one owner per match), csv and hugging-face an owner column; or choose another partition"
        )
    return dataset.owners


def own_tests(dataset: Dataset, parts: Sequence[Part]) -> tuple[Part, ...] | None:
    """The test samples of each worker's owners; None where a worker has none, or an owner is at several workers."""
    if dataset.owners is None or dataset.test_owners is None:
        return None
    holder = np.full(1 + max(dataset.owners.max(), dataset.test_owners.max()), -1)
    for worker, part in enumerate(parts):
        mine = np.unique(dataset.owners[part])
        if (holder[mine] >= 0).any():
            return None
        holder[mine] = worker
    tests = tuple(np.flatnonzero(holder[dataset.test_owners] == worker) for worker in range(len(parts)))
    return tests if all(part.size for part in tests) else None


def wrong_parts(parts: Sequence[NDArray[Any]], workers: Sequence[int], n: int) -> str:
    """What keeps `parts` from being a division of n samples among `workers`; empty where nothing does."""
    if len(parts) != len(workers):
        return f"it made {len(parts)} parts"
    named = list(zip(workers, parts, strict=True))
    if empty := [worker for worker, part in named if part.size == 0]:
        return f"worker {empty[0]} gets no sample ({len(empty)} such workers); use fewer workers or another seed"
    for worker, part in named:
        if part.ndim != 1 or not np.issubdtype(part.dtype, np.integer):
            return f"worker {worker} must get a list of indices, not {list(part.shape)} of {part.dtype}"
        if part.min() < 0 or part.max() >= n:
            return f"worker {worker} gets an index outside 0..{n - 1}"
    uses = np.bincount(np.concatenate(parts), minlength=n)
    return f"sample {uses.argmax()} is used {uses.max()} times" if uses.max() > 1 else ""
