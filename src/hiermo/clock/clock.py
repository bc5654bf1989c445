"""The clock of a run: delays and absences, on its tree, for its algorithm and model."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from hiermo.clock.absence import Absence
from hiermo.clock.attendance import Attendance
from hiermo.clock.costs import costs_of, work_of
from hiermo.clock.delays import Delays
from hiermo.clock.ledger import Ledger, Link
from hiermo.clock.network import Network
from hiermo.clock.timeline import Timeline
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.plan import Event, Merge, Setting, Spread, Step
from hiermo.core.problem import ModelSize


class Elapsed(NamedTuple):
    """What a run has taken, at one point of its plan."""

    seconds: float  # simulated
    steps: int  # iterations of all workers together
    links: tuple[Link, ...]  # messages, vectors and scalars so far
    model: ModelSize

    @property
    def bytes(self) -> int:
        """Over all links, both ways."""
        return sum(self.bytes_per_link)

    @property
    def bytes_per_link(self) -> tuple[int, ...]:
        """Both ways, from the workers' link upwards."""
        return tuple(sum(load.bytes(self.model) for load in link) for link in self.links)

    def plus(self, later: "Elapsed") -> "Elapsed":
        """With what elapsed after it."""
        links = tuple(
            Link(*(a.plus(1, b) for a, b in zip(before, after, strict=True)))
            for before, after in zip(self.links, later.links, strict=True)
        )
        return Elapsed(self.seconds + later.seconds, self.steps + later.steps, links, self.model)


@dataclass(frozen=True)
class Clock:
    """Delays, and who is absent; what `hiermo.run` takes as `clock`.

    >>> import hiermo
    >>> tree = hiermo.Tree.regular(edges=2, workers_per_edge=1)
    >>> problem = hiermo.Quadratic(A=[[[1.0]], [[1.0]]], b=[[0.0], [2.0]], sizes=[1, 1])
    >>> clock = hiermo.Clock(hiermo.Delays.of_table({"theta_w": 1.0, "phi_w2e": 2.0, "phi_e2c": 10.0}))
    >>> for state in hiermo.run(hiermo.HierFAVG(eta=0.5), tree, problem, periods=(1, 1), iterations=2, clock=clock):
    ...     print(state.t, state.elapsed.seconds, state.elapsed.bytes)
    1 13.0 64
    2 26.0 128
    """

    delays: Delays
    absence: Absence = field(default_factory=Absence)
    orders: bool = True  # whether plans may go by it: the arrivals of an asynchronous algorithm
    draws: int | None = None  # seed of the delays; else that of the run, which says who is absent in any case

    def of_run(
        self, algorithm: Algorithm, setting: Setting, model: ModelSize, before: "Elapsed | None" = None
    ) -> "RunClock":
        """`algorithm` is bound; time goes on from what had elapsed `before`, with other periods."""
        self.check_plan(algorithm)
        return RunClock(self, algorithm, setting, model, before)

    def check_plan(self, algorithm: Algorithm) -> None:
        """A plan of its own counts iterations per edge, and has no cloud rounds in which all take part."""
        if type(algorithm).plan is Algorithm.plan:
            return
        name = type(algorithm).__name__
        if any(each.iterations is not None for each in self.absence.spells):
            raise UserError(f"absence.away: {name} has no common iterations: give seconds = [from, until]")
        for key in ("edge_drop_out", "cloud_deadline_s"):
            if getattr(self.absence, key):
                raise UserError(f"absence.{key}: {name} has no cloud rounds that an edge could miss; leave it out")


@dataclass(frozen=True)
class RunClock:
    """The clock of one run."""

    clock: Clock
    algorithm: Algorithm
    setting: Setting
    model: ModelSize
    before: Elapsed | None = None

    def player(self) -> "Player":
        tree: Any = self.setting.tree
        work = partial(work_of, self.algorithm, tree, self.model)
        seed = self.setting.seed if self.clock.draws is None else self.clock.draws
        network = Network(self.clock.delays, tree, seed, work)
        begin = 0.0 if self.before is None else self.before.seconds
        timeline = Timeline(network, tree, costs_of(self.algorithm, len(tree.counts), self.model), begin)
        absence = self.clock.absence
        return Player(timeline, None if absence.nobody else Attendance(absence, tree, timeline, self.setting.seed))

    def events(self) -> "Followed":
        """The events of the run as they happen, with those who are there."""
        setting = self.setting._replace(clock=self) if self.clock.orders else self.setting
        return self.follow(self.algorithm.plan(setting))

    def follow(self, events: Iterator[Event]) -> "Followed":
        """Any events as they happen."""
        return Followed(self, events)


class Player:
    """Plays events, and says what became of them."""

    def __init__(self, timeline: Timeline, attendance: Attendance | None) -> None:
        self.timeline, self.attendance = timeline, attendance

    def play(self, event: Event) -> int:
        """How many iterations workers have made by that; where somebody may be absent, those before a merge at it."""
        tree = self.timeline.tree
        return sum(made_by(each, tree) for each in self.let_through(event) if isinstance(each, Step))

    def arrival(self, merge: Merge) -> float:
        return float(self.timeline.arrivals(merge).max())

    def waits(self, spread: Spread) -> float:
        return 0.0 if self.attendance is None else self.attendance.waits(spread)

    def let_through(self, event: Event) -> Iterator[Event]:
        if self.attendance is None:
            self.timeline.play(event)
            yield event
        else:
            yield from self.attendance.let_through(event)

    def rest(self) -> Iterator[Event]:
        """What waited for a merge that did not come."""
        return iter(()) if self.attendance is None else self.attendance.rest()


class Followed:
    """An iterator of events that remembers what had elapsed after each."""

    def __init__(self, clock: RunClock, events: Iterator[Event]) -> None:
        self._clock, self._events = clock, self._through(events)
        self._seconds: list[float] = [0.0 if clock.before is None else clock.before.seconds]
        self._steps: list[int] = [0]
        self._links: list[tuple[Link, ...]] = []

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def at(self, position: int) -> Elapsed:
        """After so many events."""
        found = Elapsed(self._seconds[position], self._steps[position], self._links[position], self._clock.model)
        before = self._clock.before
        return found if before is None else before.plus(found)._replace(seconds=found.seconds)

    def _through(self, events: Iterator[Event]) -> Iterator[Event]:
        tree: Any = self._clock.setting.tree
        player, ledger = self._clock.player(), Ledger(self._clock.algorithm, tree)
        self._links.append(ledger.links)

        def noted(found: Iterator[Event]) -> Iterator[Event]:
            for event in found:
                steps, links = self._steps[-1], self._links[-1]
                if isinstance(event, Step):
                    steps += made_by(event, tree)
                else:
                    ledger.add(event)
                    links = ledger.links
                self._seconds.append(player.timeline.now)
                self._steps.append(steps)
                self._links.append(links)
                yield event

        for event in events:
            yield from noted(player.let_through(event))
        yield from noted(player.rest())


def made_by(step: Step, tree: Any) -> int:
    """How many workers make a step."""
    return int(tree.counts[0]) if step.workers is None else len(step.workers)
