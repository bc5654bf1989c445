"""What going apart costs: how much of the gradient the nodes of a tier no longer follow, some iterations after a merge.

If they still follow the share k(t) of it after t iterations, as 1 / (1 + d(t))^2, then a round of t iterations is worth
t / (1 + d(t)), because the share that is kept in the mean of a round is larger than that at its end. d grows in
proportion to t at first, and slower later, when workers come near to what is best for themselves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# Found on grids of logistic regression on MNIST (docs/reproduction/hieropt.md), and held fixed on all others.
WHOLE_RUN = 0.6  # drift over a whole run, relative to that at its beginning
MOST = (
    0.05  # per iteration: more was not seen over a whole run, and is that of a first plateau, where gradients are small
)
POWER, SHORT = 0.9, 10  # of t with which it grows; after fewer iterations than this it has not slowed down yet


@dataclass(frozen=True)
class Drift:
    """Of the nodes of one tier around their parents."""

    lost: float  # d at the beginning of a run, `length` iterations after a merge
    length: int = 1

    @staticmethod
    def seen(lost: float, length: int) -> "Drift":
        """As a look at the beginning found it, but for what is that of a first plateau."""
        return Drift(min(lost, MOST * length), length)

    @property
    def power(self) -> float:
        return POWER if self.length >= SHORT else 1.0

    def at(self, lengths: Any) -> Numbers:
        """d over a whole run with rounds of these lengths; a round of one iteration goes nowhere apart."""
        found: Numbers = WHOLE_RUN * self.lost * ((np.asarray(lengths, float) - 1) / self.length) ** self.power
        return found
