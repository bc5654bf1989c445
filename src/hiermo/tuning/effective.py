"""HierOPT calibrated: how many iterations of a perfectly synchronous run those of a budget are worth.

Measured on whole grids of periods (docs/reproduction/hieropt.md), a run of T iterations with periods p_1, p_2, ... gets
as far as one of T / (1 + c_1 (P_1 - 1) + c_2 (P_2 - P_1) + ...) iterations with all periods 1, whatever T; P_k is p_1
... p_k, the iterations for which the nodes of tier k - 1 go apart. That is what the bound says where eta beta is small
and h grows with the square of time, but with what workers lose along the gradient in the place of the worst case:
Theorem 5 without drift, 1 / (omega alpha sigma^2 T), with fewer iterations.

Two more things count. A round that is cut short by the end of the budget is lost, so T is a whole number of rounds.
And momentum at the aggregators needs some rounds to act (`Start`), which matters where there are only a few.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from hiermo.core.algorithm import Algorithm
from hiermo.engine.run import run
from hiermo.problems.quadratic import Quadratic
from hiermo.topology.tree import Tree
from hiermo.tuning.objective import Counts, Numbers, Times

ROUNDS, LENGTH = 48, 8  # of the run that shows how an algorithm starts


@dataclass(frozen=True)
class Start:
    """How far an algorithm gets in its first rounds on a constant gradient, as a share of its later speed."""

    shares: tuple[float, ...] = (1.0,)  # after 1, 2, ... rounds of the lowest aggregators

    def at(self, rounds: Numbers) -> Numbers:
        counts = np.arange(1, len(self.shares) + 1)
        lost = (1 - np.array(self.shares)) * counts  # in rounds; beyond the last one it stays as it is
        found: Numbers = 1 - np.interp(rounds, counts, lost) / np.maximum(rounds, 1)
        return found


def start_of(algorithm: Algorithm, tiers: int) -> Start:
    """Seen by trying: one node in each tier, and a loss that is a slope."""
    tree = Tree.branching(*[1] * (tiers - 1))
    slope = Quadratic(A=np.zeros((1, 1, 1)), b=[[1.0]], sizes=[1])
    periods = (LENGTH, *[1] * (tiers - 2))
    far = [float(state.model[0]) for state in run(algorithm, tree, slope, periods=periods, iterations=ROUNDS * LENGTH)]
    rounds = len(far)
    speed = (far[-1] - far[rounds // 2]) / (rounds - 1 - rounds // 2) if rounds > 4 else 0.0
    if not (speed > 0 and np.isfinite(far).all()):
        return Start()
    return Start(tuple(float(x) for x in np.clip(np.array(far) / (speed * np.arange(1, rounds + 1)), 0.05, 1.0)))


@dataclass(frozen=True, kw_only=True)
class EffectiveObjective:
    """1 / (gain * effective iterations): least where the run gets farthest. `gain` is omega alpha sigma^2."""

    times: Times
    drift: tuple[float, ...]
    gain: float
    start: Start = Start()

    @property
    def n_periods(self) -> int:
        return len(self.times.upper)

    def waste(self, periods: Counts) -> Numbers:
        """How many iterations are worth one with all periods 1, of each row."""
        lengths = np.cumprod(periods, axis=1)
        before = np.column_stack([np.ones(len(periods)), lengths[:, :-1]])
        found: Numbers = 1 + ((lengths - before) * np.array(self.drift)).sum(1)
        return found

    def effective(self, periods: Counts, rounds: Numbers | None = None) -> Numbers:
        """Iterations that count, of each row, in the whole rounds that the budget allows or in these."""
        seconds = self.times.round_s(np.asarray(periods, float).T)
        whole = np.floor(self.times.budget_s / seconds * (1 + 1e-12)) if rounds is None else rounds
        iterations = whole * np.prod(periods, axis=1)
        found: Numbers = iterations * self.start.at(iterations / periods[:, 0]) / self.waste(periods)
        return found

    def values(self, periods: Counts) -> Numbers:
        with np.errstate(divide="ignore"):
            found: Numbers = 1 / (self.gain * self.effective(periods))
        return found

    def value(self, periods: Sequence[float]) -> float:
        return float(self.values(np.array([periods]))[0])

    def slope(self, periods: Sequence[float], k: int) -> float:
        """Of the smooth part, without whole rounds and without the start."""
        at = [float(period) for period in periods]

        def smooth(here: Sequence[float]) -> float:
            waste = self.waste(np.array([here]))[0]
            return float(waste / (self.gain * self.times.iterations(here)))

        step = 1e-6 * at[k]
        before, after = at.copy(), at.copy()
        before[k], after[k] = at[k] - step, at[k] + step
        return (smooth(after) - smooth(before)) / (2 * step)

    def floor(self, periods: Sequence[float]) -> float:
        """Merges that take no time, and no round cut short."""
        most = self.times.budget_s / self.times.theta_w / self.waste(np.array([periods]))[0]
        return float(1 / (self.gain * most)) if most > 0 else inf
