"""How different the workers' data is, in numbers: of labels and sizes alone, for inputs have no agreed measure.

Two workers with the same label counts count as alike here, even where one holds darker pictures than the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Across:
    """A number per worker, edge or pair: the mean weighted by data, and the ends."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Heterogeneity:
    """Distances are total variation: the share of one's samples that would need another label, 0 alike, 1 disjoint."""

    worker_to_all: Across  # the workers' label distributions against that of all data
    worker_to_edge: Across | None  # against that of their edge; None where there are no edges
    edge_to_all: Across | None
    effective_classes: Across  # exp of the entropy of a worker's labels: c for c classes in equal numbers
    largest_to_smallest: float  # samples of the largest worker per sample of the smallest
    size_variation: float  # standard deviation of the workers' sizes, in parts of their mean


def heterogeneity(counts: NDArray[Any], groups: Sequence[Sequence[int]] | None = None) -> Heterogeneity:
    """Of label counts `[n_workers, classes]`; `groups[l]` are the workers of edge l, where there are edges.

    >>> found = heterogeneity(np.array([[8, 0], [0, 8]]), groups=[[0], [1]])
    >>> found.worker_to_all.mean, found.worker_to_edge.mean, found.effective_classes.mean
    (0.5, 0.0, 1.0)
    """
    counts = np.asarray(counts)
    if counts.ndim != 2 or not counts.size or (counts < 0).any() or (counts.sum(1) == 0).any():
        raise UserError("counts must be [workers, classes], and every worker must hold a sample")
    sizes, shares, whole = counts.sum(1), _shares(counts), _shares(counts.sum(0))
    edges: tuple[Across | None, Across | None] = (None, None)
    if groups is not None:
        if sorted(worker for group in groups for worker in group) != list(range(len(counts))) or not all(groups):
            raise UserError(f"groups must be non-empty and hold each of the {len(counts)} workers exactly once")
        below = np.stack([counts[list(group)].sum(0) for group in groups])
        own = np.empty_like(shares)
        for share, group in zip(_shares(below), groups, strict=True):
            own[list(group)] = share
        edges = _range(_distance(shares, own), sizes), _range(_distance(_shares(below), whole), below.sum(1))
    return Heterogeneity(
        worker_to_all=_range(_distance(shares, whole), sizes),
        worker_to_edge=edges[0],
        edge_to_all=edges[1],
        effective_classes=_range(np.exp(_entropy(shares)), sizes),
        largest_to_smallest=float(sizes.max() / sizes.min()),
        size_variation=float(sizes.std() / sizes.mean()),
    )


def _shares(counts: NDArray[Any]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = counts / counts.sum(-1, keepdims=True)
    return found


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.abs(one - other).sum(-1) / 2
    return found


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(-1)
    return found


def _range(values: NDArray[np.float64], weights: NDArray[Any]) -> Across:
    return Across(mean=float(np.average(values, weights=weights)), low=float(values.min()), high=float(values.max()))
