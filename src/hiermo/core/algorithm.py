"""The contract of an algorithm: a frozen dataclass of hyper-parameters with pure functions, and no state.

The names used below: `w` is a worker's record, `down` the last message it received, `[d]` a vector of one node
and `[n, d]` one of a whole tier; every hook works on both.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from hiermo.core.plan import Event, Setting, synchronous
from hiermo.core.record import adopt
from hiermo.core.vector import Vector

Gradient = Callable[[Any], Any]
Rule = Callable[[Any, Any], Any]


class Algorithm(ABC):
    """Base class of every algorithm, ours or yours.

    >>> from dataclasses import dataclass
    >>> import hiermo
    >>> @dataclass(frozen=True, kw_only=True)
    ... class MyAverage(hiermo.Algorithm):
    ...     eta: float = 0.01
    ...     up = down = hiermo.Model
    ...     def init(self, x):
    ...         return (hiermo.Model(x),)
    ...     def step(self, w, down, grad):
    ...         return hiermo.Model(w.x - self.eta * grad(w.x))
    >>> MyAverage(eta=0.1)
    MyAverage(eta=0.1)
    """

    up: Any  # message that climbs: a type, or a tuple with one per link, lowest first, the last serving all above
    down: Any  # message that descends, likewise
    asks: Any = None  # what workers answer before each cloud round; None = no survey
    tiers: ClassVar[int | None] = None  # required number of tiers; None = any
    eta_per_round: ClassVar[bool] = False  # its merge or send uses eta, which must not change within a round
    momentum_at: ClassVar[str] = "-"  # where it keeps momentum, for listings
    cites: ClassVar[tuple[str, ...]] = ()  # keys of algorithms/references.bib, or whole BibTeX entries of one's own

    @abstractmethod
    def init(self, x: Any) -> tuple[Any, ...]:
        """Records at the start, workers first, the last serving all tiers above; x is `[d]`."""

    @abstractmethod
    def step(self, w: Any, down: Any, grad: Gradient) -> Any:
        """One local iteration -> w. `grad(x)` uses this iteration's batch and may be called twice."""

    def aggregators(self) -> tuple[Rule, ...]:
        """Rules (node, mean of its children's messages) -> node, lowest aggregating tier first."""
        return (adopt,)

    def send(self, w: Any, down: Any, full_grad: Gradient) -> Any:
        """Before a worker climbs -> w, which is stored; `up` is picked from it."""
        return w

    def receive(self, w: Any, down: Any) -> Any:
        """At every Spread that reaches a worker -> w; resets go here."""
        return adopt(w, down)

    def survey(self, w: Any, down: Any, full_grad: Gradient) -> Any:
        """-> `asks(...)`; its mean is adopted by every aggregator and by each worker's `down`."""
        raise TypeError(f"{type(self).__name__} has `asks` but no `survey`")

    def bind(self, setting: Setting) -> "Algorithm":
        """At the start and when periods change -> self or `replace(self, ...)`; may refuse or warn."""
        return self

    def present(self, share: Any) -> "Algorithm":
        """At a merge where only this share of the children's data takes part -> self or `replace(self, ...)`.

        The mean is of those who are there in any case; this is for rules that must know how many that is.
        """
        return self

    def plan(self, setting: Setting) -> Iterator[Event]:
        """The events of a run: deterministic, and a longer horizon only appends."""
        return synchronous(setting, survey=self.asks is not None)


class Model(NamedTuple):
    """The record of a node that holds a model and nothing else."""

    x: Vector
