"""The time of a plan as plain loops over nodes and messages, one at a time: no part of the clock is used here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hiermo.core.plan import Event, Merge, Spread, Step, Survey


@dataclass
class Message:
    """Vectors and scalars of a message, and whether a model's running statistics travel with it."""

    vectors: int = 1
    scalars: int = 0
    model: bool = True

    def bytes(self, parameters: int, statistics: int = 0, item: int = 4) -> int:
        return item * (self.vectors * parameters + self.scalars + (statistics if self.model else 0))


@dataclass
class World:
    """Seconds: `compute(tier, node, t)`; `up` and `down(link, node, t)` give (latency, seconds per byte)."""

    parents: list[list[int]]
    compute: Callable[[int, int, int], float]
    up: Callable[[int, int, int], tuple[float, float]]
    down: Callable[[int, int, int], tuple[float, float]]
    sizes: dict[str, list[int]]  # bytes of up, down, asked, told on each link
    gradients: int = 1
    batches: list[float] = field(default_factory=list)  # of each worker
    full_on_sending: bool = False
    shared_up: frozenset[int] = frozenset()  # links whose siblings share a line
    shared_down: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        counts = [*(len(tier) for tier in self.parents), 1]
        self.free = [[0.0] * n for n in counts]
        self.now = 0.0

    def seconds(self, events: Iterable[Event]) -> list[float]:
        """After each event, until when iterations and merges took."""
        found = []
        for event in events:
            getattr(self, type(event).__name__.lower())(event)
            found.append(self.now)
        return found

    def step(self, event: Step) -> None:
        for i in self._nodes(0, event.workers):
            self.free[0][i] += self.gradients * self.compute(0, i, event.t)
            self.now = max(self.now, self.free[0][i])

    def merge(self, event: Merge) -> None:
        link, tier = event.tier - 1, event.tier
        children = self._nodes(link, event.children)
        ready = {i: self.free[link][i] for i in children}
        if link == 0 and self.full_on_sending:
            ready = {i: ready[i] + self.batches[i] * self.compute(0, i, event.t) for i in children}
        arrived = self._climb(link, ready, event.t, self.sizes["up"][link])
        for parent in sorted({self.parents[link][i] for i in children}):
            last = max(arrived[i] for i in children if self.parents[link][i] == parent)
            self.free[tier][parent] = max(self.free[tier][parent], last) + self.compute(tier, parent, event.t)
            self.now = max(self.now, self.free[tier][parent])

    def spread(self, event: Spread) -> None:
        nodes: Any = event.children
        for link in range(event.tier - 1, -1, -1):
            chosen = self._nodes(link, nodes)
            arrived = self._descend(link, chosen, event.t - 1, self.sizes["down"][link])
            for i in chosen:
                self.free[link][i] = arrived[i]
            if link:
                nodes = [i for i, parent in enumerate(self.parents[link - 1]) if parent in chosen]

    def survey(self, event: Survey) -> None:
        for i in range(len(self.free[0])):
            self.free[0][i] += self.batches[i] * self.compute(0, i, event.t)
        for link in range(len(self.parents)):
            ready = dict(enumerate(self.free[link]))
            for i, moment in self._climb(link, ready, event.t, self.sizes["asked"][link]).items():
                parent = self.parents[link][i]
                self.free[link + 1][parent] = max(self.free[link + 1][parent], moment)
        for link in range(len(self.parents) - 1, -1, -1):
            if self.sizes["told"][link]:
                everyone = range(len(self.free[link]))
                arrived = self._descend(link, everyone, event.t, self.sizes["told"][link])
                self.free[link] = [arrived[i] for i in everyone]
                self.now = max(self.now, *self.free[link])

    def _climb(self, link: int, ready: dict[int, float], t: int, size: int) -> dict[int, float]:
        """Latency, and then the bytes: at once, or when those before are through the parent's line."""
        there = {i: moment + self.up(link, i, t)[0] for i, moment in ready.items()}
        busy: dict[int, float] = {}
        found = {}
        for i in sorted(there, key=lambda i: (there[i], i)):
            begin = there[i]
            if link in self.shared_up:
                begin = max(begin, busy.get(self.parents[link][i], 0.0))
            found[i] = busy[self.parents[link][i]] = begin + size * self.up(link, i, t)[1]
        return found

    def _descend(self, link: int, nodes: Iterable[int], t: int, size: int) -> dict[int, float]:
        """The bytes, through the parent's line where it is shared, and then latency."""
        busy: dict[int, float] = {}
        found = {}
        for i in sorted(nodes):
            parent = self.parents[link][i]
            begin = self.free[link + 1][parent]
            if link in self.shared_down:
                begin = max(begin, busy.get(parent, 0.0))
            latency, per_byte = self.down(link, i, t)
            busy[parent] = begin + size * per_byte
            found[i] = busy[parent] + latency
        return found

    def _nodes(self, tier: int, some: Any) -> list[int]:
        return list(range(len(self.free[tier]))) if some is None else sorted(int(i) for i in some)
