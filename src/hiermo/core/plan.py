"""The plan of a run: periods and horizon as one stream of events.

The same stream drives every engine, the clock and the ledger. An event carries `t`; None means all.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

Nodes = Any  # indices: a sequence or an array of whole numbers; None = all


class Spread(NamedTuple):
    """From `tier` to `children` (indices in the tier below), then to all below them; precedes iteration t.

    Where it says `workers`, it reaches those alone, and the nodes on the way to them.
    """

    t: int
    tier: int
    children: Nodes = None
    workers: Nodes = None


class Survey(NamedTuple):
    """Workers answer `asks`, before their first step of a cloud round."""

    t: int
    workers: Nodes = None


class Step(NamedTuple):
    """One local iteration; t counts the iterations of those workers and picks their batch."""

    t: int
    workers: Nodes = None


class Merge(NamedTuple):
    """`children` (indices in the tier below) climb into their parents in `tier`."""

    t: int
    tier: int
    children: Nodes = None


Event = Spread | Survey | Step | Merge


class TreeLike(Protocol):
    """What a plan may ask of a tree."""

    @property
    def counts(self) -> tuple[int, ...]: ...
    def children(self, tier: int, nodes: Any) -> Any: ...
    def ancestors(self, tier: int, workers: Any) -> Any: ...


class Player(Protocol):
    """A clock that runs: events are played one after the other, those of different branches in any order."""

    def play(self, event: "Event") -> int:
        """How many iterations workers have made by that."""
        ...

    def arrival(self, merge: "Merge") -> float:
        """The second at which the last of the children's messages of a merge to come is there."""
        ...

    def waits(self, spread: "Spread") -> float:
        """Until when nobody is there whom a Spread to come could reach: 0 if someone is, inf if nobody ever will be."""
        ...


class Clock(Protocol):
    """What a plan may ask about time."""

    def player(self) -> Player:
        """A new one, that stands at zero."""
        ...


class ClockLike(Protocol):
    """What `run` asks of a clock."""

    def of_run(self, algorithm: Any, setting: Any, model: Any, before: Any = None) -> Any: ...


class Setting(NamedTuple):
    """What a plan is a function of; `start` is the cloud merge at which these periods began."""

    tree: TreeLike
    periods: tuple[int, ...]  # (tau, pi, ...), one per aggregating tier, lowest first
    iterations: int
    seed: int = 0
    start: int = 0
    clock: "Clock | None" = None  # for plans that depend on when things happen; None = all nodes are equally fast


def reached(tree: TreeLike, event: Spread) -> list[Nodes]:
    """The nodes of each tier below the sender, workers first, that a Spread reaches; None = all."""
    nodes: list[Nodes] = []
    below = event.children
    for tier in range(event.tier - 1, -1, -1):
        if event.workers is not None:
            below = tree.ancestors(tier, event.workers)
        nodes.insert(0, below)
        below = None if below is None or tier == 0 else tree.children(tier, below)
    return nodes


Schedule = Callable[[int], float]


def synchronous(setting: Setting, *, survey: bool = False) -> Iterator[Event]:
    """Spread, tau steps, merge: every due tier merges bottom-up, workers receive once, from the highest.

    A round begins with its Spread, so the broadcast at the start is not special and none follows the last merge.
    """
    root = due = len(setting.periods)
    for t in range(setting.start + 1, setting.iterations + 1):
        if due:
            yield Spread(t, due)
        if due == root and survey:
            yield Survey(t)
        yield Step(t)
        due, rest = 0, t - setting.start
        while due < root and rest % setting.periods[due] == 0:
            rest //= setting.periods[due]
            due += 1
            yield Merge(t, due)
