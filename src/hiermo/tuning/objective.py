"""What a choice of periods costs, and how good it is: R(tau, pi) of the paper's Section 5, which HierOPT minimises."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import hypot, inf, isfinite, prod, sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.theory.bounds import apart_at, f_hierfavg, f_hiermo, j, j_slope, s
from hiermo.theory.constants import Constants
from hiermo.theory.drift import h_table

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]  # periods: a row for each choice, lowest tier first


@dataclass(frozen=True, kw_only=True)
class Times:
    """Where the time goes: to iterations, and to merges with the messages that they wait for.

    >>> times = Times(budget_s=100.0, theta_w=0.1, upper=(0.5, 2.0))
    >>> times.round_s((10, 2)), round(times.iterations((10, 2)))
    (5.0, 400)
    """

    budget_s: float
    theta_w: float  # seconds of an iteration
    upper: tuple[float, ...]  # seconds of a merge at each aggregating tier, with its link: edges first

    def check(self) -> None:
        for name, value in {"budget_s": self.budget_s, "theta_w": self.theta_w}.items():
            if not (isfinite(value) and value > 0):
                raise UserError(f"{name} must be finite and above 0, not {value:g}")
        if not self.upper or not all(isfinite(value) and value >= 0 for value in self.upper):
            raise UserError(f"upper must have a number of seconds for each aggregating tier, not {self.upper}")

    def round_s(self, periods: Any) -> Any:
        """Seconds from one merge of the root to the next; also of many choices, if each period is an array."""
        seconds = self.theta_w
        for period, merge_s in zip(periods, self.upper, strict=True):
            seconds = seconds * period + merge_s
        return seconds

    def iterations(self, periods: Sequence[float]) -> float:
        """T: how many fit into the budget, as a real number."""
        return float(self.budget_s * prod(periods) / self.round_s(periods))

    def fits(self, periods: Sequence[float]) -> bool:
        """Whether the root merges at least once within the budget."""
        return bool(self.round_s(periods) <= self.budget_s)


@runtime_checkable
class Objective(Protocol):
    """What is to be minimised; all that a walk asks for."""

    @property
    def n_periods(self) -> int: ...
    def value(self, periods: Sequence[float]) -> float: ...
    def slope(self, periods: Sequence[float], k: int) -> float:
        """The derivative by periods[k]."""
        ...


@runtime_checkable
class Floored(Protocol):
    """An objective that tells the exact search where it may stop."""

    def floor(self, periods: Sequence[float]) -> float:
        """No value is less where every period is at least as long as these."""
        ...


@runtime_checkable
class Vectorised(Protocol):
    """An objective that evaluates many choices at once, for the exact search."""

    def values(self, periods: Counts) -> Numbers: ...


@dataclass(frozen=True, kw_only=True)
class BoundObjective:
    """The bound of Theorem 5 with as many iterations as the budget allows; infinity where it overflows.

    Of HierMo, or where there is no momentum at all of HierFAVG.

    `printed` as in `theory.bounds.j`.
    """

    times: Times
    constants: Constants
    printed: bool = True

    def check(self) -> None:
        self.times.check()
        if self.constants.plain:
            self.constants.check_plain()
        else:
            self.constants.check()
        apart_at(self.n_periods, self.constants, self.printed)

    @property
    def n_periods(self) -> int:
        return len(self.times.upper)

    @property
    def gain(self) -> float:
        return self.constants.omega * self.constants.alpha * self.constants.sigma**2

    def value(self, periods: Sequence[float]) -> float:
        self.check()
        bound = f_hierfavg if self.constants.plain else f_hiermo
        return bound(self.times.iterations(periods), periods, self.constants, self.printed)

    def slope(self, periods: Sequence[float], k: int) -> float:
        self.check()
        constants, length = self.constants, prod(periods)
        q, q_slope = 1 / (2 * self.times.iterations(periods) * self.gain), 0.0
        for tier in range(k, len(periods)):  # merges that a longer periods[k] makes rarer
            rarer_s = self.times.upper[tier] / (prod(periods[: tier + 1]) * periods[k])
            q_slope -= rarer_s / (2 * self.times.budget_s * self.gain)
        if not constants.rho:
            return 2 * q_slope
        away = constants.rho * j(periods, constants, self.printed)
        away_slope = constants.rho * j_slope(periods, k, constants, self.printed)
        if not (isfinite(away) and isfinite(away_slope)):
            return inf  # far beyond any minimum
        drift, drift_slope = away / (self.gain * length), (away_slope - away / periods[k]) / (self.gain * length)
        return q_slope + away_slope + (q * q_slope + drift_slope / 2) / hypot(q, sqrt(drift))

    def floor(self, periods: Sequence[float]) -> float:
        """What is left if merges took no time: j grows with every period, and q is at least that of bare iterations."""
        self.check()
        constants = self.constants
        away = constants.rho * j(periods, constants, self.printed) if constants.rho else 0.0
        return self.times.theta_w / (self.times.budget_s * self.gain) + away

    def values(self, periods: Counts) -> Numbers:
        """`value` of each row."""
        self.check()
        constants = self.constants
        lengths = np.cumprod(periods, axis=1)
        table = _table(int(lengths[:, -1].max()) | 0xFFFF, constants.eta, constants.beta, constants.gamma)
        with np.errstate(over="ignore"):
            gap = _drift(table, lengths[:, 0], constants.eta * constants.delta) + s(1, constants) * periods[:, 0]
            for tier, apart in enumerate(apart_at(self.n_periods, constants, self.printed), 1):
                gap = _drift(table, lengths[:, tier], constants.eta * apart) + (periods[:, tier] + 1) * gap
            away = constants.rho * gap if constants.rho else np.zeros(len(periods))
            seconds = self.times.round_s(periods.T) / lengths[:, -1]  # of an iteration, with its part of the merges
            q = seconds / (2 * self.times.budget_s * self.gain)
            found: Numbers = q + away + np.sqrt(q * q + away / (self.gain * lengths[:, -1]))
        return found


def _drift(table: Numbers, lengths: Counts, scale: float) -> Numbers:
    found: Numbers = scale * table[lengths] if scale else np.zeros(len(lengths))
    return found


@lru_cache(maxsize=4)
def _table(n: int, eta: float, beta: float, gamma: float) -> Numbers:
    table = h_table(n, eta=eta, beta=beta, gamma=gamma)
    table.flags.writeable = False  # it is shared
    return table
