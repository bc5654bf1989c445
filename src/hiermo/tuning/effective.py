"""HierOPT calibrated: how many iterations of a perfectly synchronous run those of a budget are worth.

Measured on whole grids of periods (docs/reproduction/hieropt.md), a run of T iterations with periods p_1, p_2, ... gets
as far as one of T / (1 + d_1(P_1) + d_2(P_2) + ...) iterations with all periods 1, whatever T; P_k is p_1 ... p_k, the
iterations for which the nodes of tier k - 1 go apart, and d what that costs (`drift`). That is what the bound says
where eta beta is small, but with what workers lose along the gradient in the place of the worst case: Theorem 5
without drift, 1 / (omega alpha sigma^2 T), with fewer iterations.

Two more things count. A round that is cut short by the end of the budget is lost, so T is a whole number of rounds.
And momentum at the aggregators acts once per round, on gradients that were larger when the round began (`Start`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any
import warnings

import numpy as np

from hiermo.core.algorithm import Algorithm
from hiermo.engine.run import run
from hiermo.topology.tree import Tree
from hiermo.tuning.drift import Drift
from hiermo.tuning.objective import Counts, Numbers, Times

COUNTS = (1, 2, 3, 5, 10, 20, 40, 80)  # of rounds that are tried
LENGTH = 8  # iterations of one of them
SMALLER = 6.0  # by how much a run makes its loss smaller
LEAST = 0.05  # of its iterations any run is worth
SEVERAL = 10  # rounds
SLOW = 1e-9  # an eta


@dataclass(frozen=True)
class Start:
    """How many rounds more, or less, than it has a run is worth, because aggregators act once per round.

    What a few rounds gain beyond `SEVERAL` is of the loss and not of the accuracy; there momentum that has not come up
    to speed is lost, as on a constant gradient (`shares` after 1, 2, ... rounds).
    """

    counts: tuple[int, ...] = (1,)
    gained: tuple[float, ...] = (0.0,)
    shares: tuple[float, ...] = (1.0,)

    def at(self, rounds: Numbers) -> Numbers:
        """As a factor on the iterations of so many rounds of the lowest aggregators."""
        several = np.maximum(rounds, SEVERAL)
        gained = np.interp(several, self.counts, self.gained)
        if len(self.counts) > 1:  # an algorithm whose steps are longer in longer rounds goes on gaining
            slope = (self.gained[-1] - self.gained[-2]) / (self.counts[-1] - self.counts[-2])
            gained = gained + slope * np.maximum(rounds - self.counts[-1], 0)
        speed = np.interp(rounds, np.arange(1, len(self.shares) + 1), self.shares) / self.shares[-1]
        found: Numbers = np.maximum((1 + gained / several) * speed, LEAST)
        return found


class Slowing:
    """F(x) = exp(-x), one worker: its gradient gets smaller as that of a training does, and 1 / F grows evenly."""

    sizes = (1,)

    def initial(self, seed: int) -> Numbers:
        return np.zeros(1)

    def grad(self, seed: int, t: int, workers: Any, x: Numbers, buffers: Any = None) -> Numbers:
        return self.full_grad(workers, x)

    def full_grad(self, workers: Any, x: Numbers, buffers: Any = None) -> Numbers:
        found: Numbers = -np.exp(-np.clip(x, -50.0, 50.0))
        return found

    def evaluate(self, x: Numbers, buffers: Any = None) -> dict[str, float]:
        return {"loss": float(np.exp(-x[0]))}


def start_of(algorithm: Algorithm, tiers: int) -> Start:
    """Seen by trying: one node in each tier, in rounds and with a merge at every iteration."""
    even = _far(algorithm, tiers, LENGTH, SLOW, LENGTH * COUNTS[-1])  # so slow that the gradient stays as it is
    plain = _far(algorithm, tiers, 1, SLOW, LENGTH * COUNTS[-1])
    speed = (even[-1] - even[len(even) // 2]) / (len(even) - 1 - len(even) // 2)
    if not (np.isfinite([*even, *plain]).all() and speed > 0 and plain[-1] > 0):
        return Start()
    shares = np.clip(even[:SEVERAL] / (speed * np.arange(1, SEVERAL + 1)), LEAST, 1.0)
    gained = []
    for count in COUNTS:
        iterations = LENGTH * count
        eta = SMALLER / iterations / (plain[-1] / (SLOW * len(plain)))
        reached = _far(algorithm, tiers, LENGTH, eta, iterations)[-1]
        steady = _far(algorithm, tiers, 1, eta, 2 * iterations)
        if not (np.isfinite(reached) and (np.diff(steady) > 0).all()):
            return Start()
        gained.append((float(np.interp(reached, steady, np.arange(1, len(steady) + 1))) - iterations) / LENGTH)
    return Start(COUNTS, tuple(gained), tuple(map(float, shares)))


def _far(algorithm: Algorithm, tiers: int, tau: int, eta: float, iterations: int) -> Numbers:
    """1 / F - 1 at every merge of the root."""
    tree, periods = Tree.branching(*[1] * (tiers - 1)), (tau, *[1] * (tiers - 2))
    of_eta: Any = replace(algorithm, eta=eta) if hasattr(algorithm, "eta") else algorithm  # type: ignore[type-var]  # a dataclass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to warn of, the run itself will
        states = run(of_eta, tree, Slowing(), periods=periods, iterations=iterations)
        found: Numbers = np.expm1(np.clip([float(state.model[0]) for state in states], -50.0, 50.0))
    return found


@dataclass(frozen=True, kw_only=True)
class EffectiveObjective:
    """1 / (gain * effective iterations): least where the run gets farthest. `gain` is omega alpha sigma^2."""

    times: Times
    drift: tuple[Drift, ...]
    gain: float
    start: Start = Start()

    @property
    def n_periods(self) -> int:
        return len(self.times.upper)

    def waste(self, periods: Counts) -> Numbers:
        """How many iterations are worth one with all periods 1, of each row."""
        lengths = np.cumprod(periods, axis=1)
        found: Numbers = 1 + np.sum([drift.at(lengths[:, k]) for k, drift in enumerate(self.drift)], axis=0)
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
        """Merges that take no time, no round cut short, and the best start."""
        best = 1 + max(0.0, *self.start.gained)  # that many rounds more than one
        most = best * self.times.budget_s / self.times.theta_w / self.waste(np.array([periods]))[0]
        return float(1 / (self.gain * most)) if most > 0 else inf
