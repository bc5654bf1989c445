"""`hiermo.run`: an algorithm on a tree, for a problem, as a stream of states."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, get_args

import numpy as np

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.parameter import check_values
from hiermo.core.plan import ClockLike, Event, Merge, Schedule, Setting, Step
from hiermo.core.problem import Problem, computing, model_size, together
from hiermo.core.record import of
from hiermo.core.until import SIMULATED, reached
from hiermo.engine.loop import Loop, begin
from hiermo.engine.pernode import PerNode
from hiermo.engine.stacked import Stacked
from hiermo.engine.state import State
from hiermo.topology.tree import Tree

Every = Literal["cloud", "edge", "iteration"]
Until = Mapping[str, float] | Callable[[State], bool]
ENGINES: dict[str, type[Stacked]] = {"stacked": Stacked, "pernode": PerNode}


def run(
    algorithm: Algorithm,
    tree: Tree,
    problem: Problem,
    *,
    periods: Sequence[int],
    iterations: int,
    seed: int = 0,
    every: Every = "cloud",
    start: State | None = None,
    until: Until | None = None,
    engine: str = "stacked",
    schedule: Schedule | None = None,
    clock: ClockLike | None = None,
) -> Iterator[State]:
    """Train, and yield a state at every cloud merge (or edge merge, or iteration).

    `periods` is (tau, pi, ...), one per aggregating tier, lowest first. `iterations` counts from the beginning, also
    where the run goes on from the state `start`; from a cloud merge it may go on with other periods. `until` ends the
    run at the first cloud merge where its targets, `{"accuracy": 0.95}`, or a function of the state are met.
    `schedule` gives the step size of each iteration. A `clock` tells simulated seconds and bytes (`state.elapsed`), the
    order in which asynchronous messages arrive, and who is absent; `until` may then name `simulated_seconds`.

    >>> import hiermo
    >>> tree = hiermo.Tree.regular(edges=2, workers_per_edge=1)
    >>> problem = hiermo.Quadratic(A=[[[1.0]], [[1.0]]], b=[[0.0], [2.0]], sizes=[1, 1])
    >>> for state in hiermo.run(hiermo.HierFAVG(eta=0.5), tree, problem, periods=(1, 1), iterations=3):
    ...     print(state.t, state.model)
    1 [0.5]
    2 [0.75]
    3 [0.875]
    """
    checked = check(
        algorithm,
        tree,
        problem,
        periods=periods,
        iterations=iterations,
        seed=seed,
        every=every,
        start=start,
        until=until,
        engine=engine,
        schedule=schedule,
        clock=clock,
    )
    # bound here and not in `check`, for what it warns of points to the line that called this function
    return _chosen(checked.prepared(algorithm.bind(checked.setting)))


def check(
    algorithm: Algorithm,
    tree: Tree,
    problem: Problem,
    *,
    periods: Sequence[int],
    iterations: int,
    seed: int = 0,
    every: Every = "cloud",
    start: State | None = None,
    until: Until | None = None,
    engine: str = "stacked",
    schedule: Schedule | None = None,
    clock: ClockLike | None = None,
) -> "Checked":
    """What `run` is given, refused where it is wrong."""
    periods = tuple(map(_plain, periods))
    if every not in get_args(Every):
        raise UserError(f"every must be one of {', '.join(map(repr, get_args(Every)))}, not {every!r}")
    if engine not in ENGINES:
        raise UserError(f"engine must be one of {', '.join(map(repr, ENGINES))}, not {engine!r}")
    check_algorithm_values(algorithm)
    check_shape(type(algorithm).__name__, algorithm.tiers, tree, periods)
    if len(problem.sizes) != tree.n_workers:
        raise UserError(f"the problem has data for {len(problem.sizes)} workers, the tree has {tree.n_workers}")
    if start is not None:
        check_start(start, algorithm, problem, tree, periods, seed)
        ordered = type(algorithm).plan is Algorithm.plan  # else fast workers may be ahead of the horizon
        if ordered and iterations < start.t:
            raise UserError(f"iterations = {iterations}: the state to start from has done {start.t} already")
    began = 0 if start is None else start.start if start.periods == periods else start.t
    check_iterations(iterations := _plain(iterations), periods, began)

    setting = Setting(tree, periods, iterations, seed, start=began)
    return Checked(algorithm, tree, problem, setting, every, start, until, engine, schedule, clock)


@dataclass(frozen=True)
class Checked:
    """A run whose algorithm is still to be bound to its setting."""

    algorithm: Algorithm
    tree: Tree
    problem: Problem
    setting: Setting
    every: Every
    start: State | None
    until: Until | None
    engine: str
    schedule: Schedule | None
    clock: ClockLike | None

    def prepared(self, bound: Algorithm) -> "Prepared":
        setting, engine = self.setting, ENGINES[self.engine](together(self.problem))
        loop = Loop(bound, self.tree, self.problem, engine, setting.seed, self.schedule)
        state = self.start or begin(bound, self.tree, self.problem, engine, setting)
        if state.periods != setting.periods:
            new = {"periods": setting.periods, "start": setting.start, "position": 0}
            state = State(**{**vars(state), **new})
        if self.clock is None:
            return Prepared(loop, state, bound.plan(setting), self.every, self.until)
        before = None if self.start is None else self.start.before if state is self.start else self.start.elapsed
        clock = self.clock.of_run(bound, setting, model_size(self.problem, setting.seed), before)
        followed = clock.events()
        return Prepared(loop, state, followed, self.every, self.until, followed, before)


@dataclass(frozen=True)
class Prepared:
    """A run that can begin."""

    loop: Loop
    state: State
    events: Iterator[Event]
    every: Every
    until: Until | None
    followed: Any = None  # what a clock says of the events
    before: Any = None  # what had elapsed before these periods

    @property
    def fine(self) -> bool:
        return self.every == "iteration"

    def told(self, now: State) -> State:
        """The state with the time."""
        if self.followed is None:
            return now
        return replace(now, elapsed=self.followed.at(now.position), before=self.before)

    def judge(self, now: State, closing: bool) -> tuple[bool, bool]:
        """Whether a state is one of those asked for, and whether the run ends with it."""
        at_cloud = isinstance(now.event, Merge) and now.event.tier == self.loop.tree.tiers - 1
        wanted = {"cloud": at_cloud, "edge": closing and isinstance(now.event, Merge)}
        stop = at_cloud and self.until is not None and _met(self.until, now, self.loop.problem)
        return stop or wanted.get(self.every, closing and isinstance(now.event, (Step, Merge))), stop


def _plain(number: Any) -> Any:
    """numpy's whole numbers are as good as Python's."""
    return number.item() if isinstance(number, np.integer) else number


def _chosen(run: Prepared) -> Iterator[State]:
    states = run.loop.states(run.state, run.events, fine=run.fine)
    for found, closing in _computed(states, run.loop.problem):
        now = run.told(found)
        wanted, stop = run.judge(now, closing)
        if wanted:
            yield now
        if stop:
            return


def _computed(states: Iterator[tuple[State, bool]], problem: Problem) -> Iterator[tuple[State, bool]]:
    """Each state is computed inside `problem.computing()`, and handed out outside of it."""
    while True:
        with computing(problem):
            found = next(states, None)
        if found is None:
            return
        yield found


def _met(until: Until, state: State, problem: Problem) -> bool:
    if callable(until):
        return until(state)
    known = {} if state.elapsed is None else {SIMULATED: state.elapsed.seconds}
    asked = set(until) - set(known)
    return reached(until, known | (problem.evaluate(state.model, state.model_buffers) if asked else {}))


def check_algorithm_values(algorithm: Any) -> None:
    """Refuses what is not an algorithm, and hyper-parameters out of range."""
    check_values(algorithm)
    if not isinstance(algorithm, Algorithm):
        raise UserError(f"{algorithm!r} is not an algorithm: it must be a hiermo.Algorithm")


def check_shape(name: str, tiers: int | None, tree: Tree, periods: Sequence[int]) -> None:
    """Refuses a tree of the wrong depth, and periods that do not fit the tree."""
    if tiers is not None and tiers != tree.tiers:
        way_out = "; use tree.flatten() and one period, tau * pi" if tiers == 2 else ""
        raise UserError(f"{name} is an algorithm for {tiers} tiers and the tree has {tree.tiers}{way_out}")
    if len(periods) != tree.tiers - 1:
        raise UserError(f"periods: a tree of {tree.tiers} tiers needs {tree.tiers - 1}, not {list(periods)}")
    for name, period in zip(["tau", "pi", *[f"period {k}" for k in range(3, tree.tiers)]], periods, strict=False):
        if isinstance(period, bool) or not isinstance(period, int) or period < 1:
            raise UserError(f"periods: {name} must be a whole number of at least 1, not {period!r}")


def check_iterations(iterations: int, periods: Sequence[int], began: int = 0) -> None:
    """Refuses a horizon that is not a whole number of cloud rounds."""
    cloud = prod(periods)
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise UserError(f"iterations must be a whole number of at least 1, not {iterations!r}")
    if (iterations - began) % cloud:
        below = began + (iterations - began) // cloud * cloud
        near = f"{below} or {below + cloud}" if below > 0 else f"{below + cloud}"
        after = f" after iteration {began}" if began else ""
        product = " * ".join(map(str, periods))
        raise UserError(f"iterations = {iterations} is not a multiple of {product} = {cloud}{after}; try {near}")


def check_start(
    start: State, algorithm: Algorithm, problem: Problem, tree: Tree, periods: Sequence[int], seed: int
) -> None:
    """Refuses to go on from a state of another run."""
    counts = tuple(tier[0].shape[0] for tier in start.tiers)
    if counts != tree.counts:
        raise UserError(f"start: the state is of a tree with {counts} nodes per tier, this one has {tree.counts}")
    records = algorithm.init(problem.initial(seed))
    if any(tier._fields != of(records, k)._fields for k, tier in enumerate(start.tiers)):
        raise UserError(f"start: the state is not one of {type(algorithm).__name__}: it has other fields")
    if start.seed != seed:
        raise UserError(f"start: the state is of a run with seed {start.seed}; pass seed={start.seed}")
    if tuple(periods) != start.periods and (start.t - start.start) % prod(start.periods):
        raise UserError(f"periods can change at a cloud merge only; the state is at iteration {start.t}, between two")
