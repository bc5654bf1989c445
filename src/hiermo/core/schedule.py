"""Learning-rate schedules: a factor on eta for every iteration; the rules of an algorithm do not know of them.

None depends on the horizon of a run, so that a run can be made longer without changing what it did before.
"""

from dataclasses import dataclass
from math import cos, pi, prod
from typing import Annotated, Any, ClassVar, Literal

from hiermo.core.algorithm import Algorithm
from hiermo.core.parameter import Count, Range
from hiermo.core.plan import Schedule
from hiermo.core.registry import Registry

SCHEDULES = Registry(
    "schedule",
    {
        "constant": "hiermo.core.schedule:Constant",
        "step": "hiermo.core.schedule:Step",
        "cosine": "hiermo.core.schedule:Cosine",
    },
)
Factor = Annotated[float, Range(gt=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class Constant:
    """eta as it is, after a linear warm-up of so many iterations.

    >>> [Constant(warm_up=4).factor(t) for t in (1, 2, 4, 9)]
    [0.25, 0.5, 1.0, 1.0]
    """

    summary: ClassVar[str] = "eta as it is"

    warm_up: Annotated[int, Range(ge=0)] = 0
    per: Literal["iteration", "round"] = "iteration"  # how often it may change; a round is a cloud round

    def factor(self, t: int) -> float:
        """On eta in iteration t = 1, 2, ..."""
        return min(1.0, t / self.warm_up) if self.warm_up else 1.0


@dataclass(frozen=True, kw_only=True)
class Step(Constant):
    """Multiplied by `by` after every `every` iterations.

    >>> [Step(every=10, by=0.5).factor(t) for t in (1, 10, 11, 21)]
    [1.0, 1.0, 0.5, 0.25]
    """

    summary: ClassVar[str] = "multiplied by a factor at intervals"

    every: Count
    by: Factor = 0.1

    def factor(self, t: int) -> float:
        return super().factor(t) * self.by ** ((t - 1) // self.every)


@dataclass(frozen=True, kw_only=True)
class Cosine(Constant):
    """Falls along half a cosine wave to `floor` within `over` iterations, and stays there.

    >>> [round(Cosine(over=100, floor=0.1).factor(t), 3) for t in (1, 51, 101, 500)]
    [1.0, 0.55, 0.1, 0.1]
    """

    summary: ClassVar[str] = "falls along half a cosine wave"

    over: Count
    floor: Factor = 0.01

    def factor(self, t: int) -> float:
        share = min(1.0, (t - 1) / self.over)
        return super().factor(t) * (self.floor + (1 - self.floor) * (1 + cos(pi * share)) / 2)


def eta_of(schedule: Any, algorithm: Algorithm, periods: tuple[int, ...]) -> Schedule | None:
    """What `hiermo.run` takes: the step size of each iteration, or None where it never changes.

    Held for a whole cloud round if the schedule says so, or if the algorithm divides a round's step by its eta.

    >>> from hiermo.algorithms.slowmo import SlowMo
    >>> eta = eta_of(Step(every=1, by=0.5), SlowMo(eta=0.1), periods=(2,))
    >>> [eta(t) for t in (1, 2, 3, 4)]
    [0.1, 0.1, 0.025, 0.025]
    """
    if schedule == Constant():
        return None
    length = prod(periods) if schedule.per == "round" or algorithm.eta_per_round else 1
    base: Any = algorithm.eta  # type: ignore[attr-defined]  # every algorithm has one
    return lambda t: base * schedule.factor((t - 1) // length * length + 1)
