"""Label proportions drawn from a Dirichlet distribution: label and size skew with one knob (arXiv 1909.06335)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count, Rate
from hiermo.data.randomness import order, stream

ATTEMPTS = 50  # draws before samples are moved: a small alpha with many workers would be redrawn for ever


@dataclass(frozen=True, kw_only=True)
class Dirichlet:
    """Each class is divided by proportions ~ Dirichlet(alpha) over the workers; every sample is used.

    Small alpha: few classes per worker and unequal sizes; large alpha: nearly iid. The proportions are redrawn until
    every worker has `min_samples`; where that does not come about, the largest workers give some of theirs.

    >>> sum(part.size for part in Dirichlet(alpha=0.1).split(np.arange(60) % 10, n_workers=4, seed=0))
    60
    """

    summary: ClassVar[str] = "label proportions from a Dirichlet distribution"
    alpha: Rate
    min_samples: Count = 1

    def split(self, labels: NDArray[np.int64], n_workers: int, seed: int) -> tuple[NDArray[np.intp], ...]:
        if n_workers * self.min_samples > len(labels):
            raise UserError(
                f"data.partition.min_samples = {self.min_samples}: {n_workers} workers would need "
                f"{n_workers * self.min_samples} samples and there are {len(labels)}; ask for less or use fewer workers"
            )
        for attempt in range(ATTEMPTS):
            owner = self._owners(labels, n_workers, seed, attempt)
            if np.bincount(owner, minlength=n_workers).min() >= self.min_samples:
                break
        else:
            _top_up(owner, n_workers, self.min_samples, seed)
        return tuple(np.flatnonzero(owner == worker) for worker in range(n_workers))

    def _owners(self, labels: NDArray[np.int64], n_workers: int, seed: int, attempt: int) -> NDArray[np.intp]:
        """The worker of each sample."""
        classes = int(labels.max()) + 1
        shares = stream(seed, "dirichlet", attempt).dirichlet(np.full(n_workers, float(self.alpha)), size=classes)
        if not np.isfinite(shares).all():
            raise UserError(f"data.partition.alpha = {self.alpha} is too extreme to draw from; 0.01 to 1000 is usual")
        owner = np.empty(len(labels), np.intp)
        for c in range(classes):
            samples = np.flatnonzero(labels == c)
            samples = samples[order(seed, "dirichlet", "samples", c, n=samples.size)]
            place = (np.arange(samples.size) + 0.5) / max(samples.size, 1)
            owner[samples] = np.searchsorted(np.cumsum(shares[c])[:-1], place)
        return owner


def _top_up(owner: NDArray[np.intp], n_workers: int, least: int, seed: int) -> None:
    """Moves random samples, in place, from whoever has most to those who have fewer than `least`."""
    shuffled = order(seed, "dirichlet", "moves", n=len(owner))
    held = [shuffled[owner[shuffled] == worker].tolist() for worker in range(n_workers)]
    sizes = np.bincount(owner, minlength=n_workers)
    for poor in np.flatnonzero(sizes < least):
        while sizes[poor] < least:
            rich = sizes.argmax()  # has more than `least`, for the average has at least that
            owner[held[rich].pop()] = poor
            sizes[rich] -= 1
            sizes[poor] += 1
