"""What became of the theorems on a run: left and right sides, whether they hold, what it was measured with."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hiermo.theory.constants import Constants
from hiermo.tuning.minimum import Minimum
from hiermo.tuning.observed import Numbers

# The right sides are sums of positive numbers, right to 1e-10. The left sides are distances between models that were
# each rounded some hundred times since they were one, by 1e-16 of their length; measured where they should be 0, they
# stay below 1e-14 of it.
SHARE = 1e-9  # of the right side
LENGTH = 1e-12  # of the largest model


class Inequality(NamedTuple):
    """left <= right, `[m, L]` for each edge or `[m, 1]`, at iterations t `[m]`; or why it says nothing here."""

    t: Numbers
    left: Numbers
    right: Numbers | None
    slack: float  # what rounding may add to the left
    refusal: str = ""

    @property
    def ratios(self) -> Numbers:
        """left / right, infinite where the right is 0 and the left is not."""
        assert self.right is not None
        beyond = np.where(self.left > self.slack, self.left, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(beyond > 0, beyond / self.right, 0.0)

    @property
    def worst(self) -> tuple[int, int]:
        """Row and column of the largest ratio."""
        row, column = np.unravel_index(np.argmax(self.ratios), self.left.shape)
        return int(row), int(column)

    @property
    def ratio(self) -> float:
        return float(self.ratios[self.worst])

    @property
    def holds(self) -> bool | None:
        """None where it says nothing."""
        if self.right is None:
            return None
        return bool((self.left <= (1 + SHARE) * self.right + self.slack).all())

    def json(self) -> dict[str, Any]:
        if self.right is None:
            return {"applies": False, "why": self.refusal}
        row, column = self.worst
        left, right, found = float(self.left[row, column]), float(self.right[row, column]), self.ratio
        edge = {"edge": column} if self.left.shape[1] > 1 else {}
        told = {"applies": True, "left": left, "right": plain(right), "ratio": plain(found)}
        return told | {"holds": self.holds, "iteration": int(self.t[row])} | edge


class Theorem(NamedTuple):
    """One statement, as printed, and where that can fail what holds in its place."""

    name: str
    says: str
    printed: Inequality
    corrected: Inequality | None = None

    def json(self) -> dict[str, Any]:
        told = {"name": self.name, "says": self.says, "printed": self.printed.json()}
        return told | ({"corrected": self.corrected.json()} if self.corrected else {})


@dataclass(frozen=True)
class Checked:
    """What came of it."""

    constants: Constants
    edge_to_cloud: float  # mean over edges of the largest |grad F_l - grad F|
    worker_to_cloud: float  # mean over workers of the largest |grad F_i - grad F|
    jump: float  # largest mean over edges of |x - x_l+| at a merge of the cloud
    minimum: Minimum | None
    theorems: tuple[Theorem, ...]

    def theorem(self, name: str) -> Theorem:
        return next(each for each in self.theorems if each.name == name)

    def json(self) -> dict[str, Any]:
        c = self.constants
        names = ("eta", "gamma", "gamma_a", "rho", "beta", "mu", "omega", "sigma", "alpha", "delta")
        told = {name: plain(getattr(c, name)) for name in names}
        more = {"edge_to_cloud": self.edge_to_cloud, "worker_to_cloud": self.worker_to_cloud, "jump": self.jump}
        found = None if self.minimum is None else self.minimum.json()
        return {
            "constants": told | {"delta_edges": list(c.delta_edges), **more},
            "minimum": found,
            "theorems": [each.json() for each in self.theorems],
        }


def plain(number: float) -> float | None:
    """JSON has no infinity."""
    return float(number) if np.isfinite(number) else None
