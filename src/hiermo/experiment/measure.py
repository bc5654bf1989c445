"""Measures delays on this machine, for a recipe's first algorithm, and writes them as a trace.

A trace is a CSV or Parquet file with the columns of `COLUMNS`, one sample per row. What is timed is what a run does: a
worker's iteration and the merges through the engine, messages of the size that the algorithm sends.
"""

from collections.abc import Callable, Iterator, Sequence
import csv
from dataclasses import replace
from importlib import import_module
from io import StringIO
from itertools import count
from pathlib import Path
from statistics import fmean, median, stdev
from tempfile import TemporaryFile
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hiermo.clock.costs import gradient_calls
from hiermo.clock.ledger import per_exchange
from hiermo.clock.traces import COLUMNS, PARQUET
from hiermo.clock.transfer import Client
from hiermo.core.errors import UserError
from hiermo.core.files import write_atomically
from hiermo.core.plan import Merge, Setting, Spread, Step, Survey
from hiermo.core.problem import ModelSize, computing
from hiermo.core.record import of, pick
from hiermo.core.schedule import eta_of
from hiermo.core.units import human
from hiermo.data.partition.iid import Iid
from hiermo.engine.families import Families
from hiermo.engine.loop import Loop
from hiermo.engine.run import check
from hiermo.engine.state import State
from hiermo.experiment.holdings import load_data
from hiermo.experiment.memory import available_bytes, item_bytes
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.tables import TreeTable
from hiermo.topology.tree import Tree

if TYPE_CHECKING:
    from hiermo.problems.supervised import Supervised

ROLES = ("worker", "edge", "cloud")
WARM_UP, WARM_UP_S = 3, 0.2  # samples that are thrown away, at least: so many, for so long
LEAST, BUDGET_S = 5, 60.0  # of one kind: so many samples whatever they take, no more once this time is over
TINY_S = 1e-9  # no delay is less: a clock may stand still, and half a round trip be more than was measured

Show = Callable[[int, int], object]  # samples done, of how many
Once = Callable[[], float]  # seconds that one more took


class Sample(NamedTuple):
    """A row of a trace."""

    node: str
    kind: str
    seconds: float
    bytes: int | None = None


def sampled(once: Once, wanted: int, show: Show = lambda done, wanted: None) -> list[float]:
    """So many samples, or as many as there is time for, after a warm-up."""
    begun, warm = perf_counter(), 0
    show(0, wanted)
    while warm < WARM_UP or perf_counter() - begun < WARM_UP_S:
        once()
        warm += 1
    found: list[float] = []
    begun = perf_counter()
    while len(found) < wanted and (len(found) < LEAST or perf_counter() - begun < BUDGET_S):
        found.append(max(TINY_S, once()))
        show(len(found), wanted)
    return found


class Bench:
    """A recipe's first algorithm with one worker, alone on this machine; `notes` says what is not as one might think.

    The worker holds as much data as one of the recipe's does on average, and no more of the tree is made.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.part, self.notes = recipe.algorithms[0], list[str]()
        self.tree, self.periods = recipe.placed(self.part)
        self.bound, _ = recipe.bound(self.part)
        self.recipe = alone(recipe, self.part)
        self.problem = self._problem()
        self.loop, self.start = self._engine()

    def _problem(self) -> "Supervised":
        from hiermo.experiment.assemble import problem_of

        whole, n = load_data(self.recipe), self.tree.n_workers
        share = replace(whole, train_x=whole.train_x[::n], train_y=whole.train_y[::n], owners=None, test_owners=None)
        return problem_of(self.recipe, share)

    def _engine(self) -> tuple[Loop, State]:
        """The engine, and the state in which the worker makes its first step."""
        tree, periods = self.recipe.placed(self.part)
        checked = check(
            self.part.made,
            tree,
            self.problem,
            periods=periods,
            iterations=self.recipe.train.iterations,
            seed=self.recipe.train.seed,
            engine=self.recipe.engine.name,
            schedule=eta_of(self.recipe.schedule.made, self.part.made, periods),
        )
        ready = checked.prepared(self.bound)
        asked = [] if self.bound.asks is None else [Survey(1)]
        with computing(self.problem):
            for state, _ in ready.loop.states(ready.state, iter([Spread(1, tree.tiers - 1), *asked]), fine=True):
                start = replace(state, position=0)
        return ready.loop, start

    def compute(self, role: str) -> Once:
        """One iteration of a worker, or one merge of an edge or of the cloud."""
        return self._iterations().__next__ if role == "worker" else self._merge({"edge": 1}.get(role, self.root))

    @property
    def root(self) -> int:
        return self.tree.tiers - 1

    def _iterations(self) -> Iterator[float]:
        """Round after round of tau, each from the start: a worker that never merges may diverge.

        A trace has the time of an iteration with one gradient; the clock counts what an algorithm asks for beyond it.
        """
        gradients = max(1, gradient_calls(self.bound)["step"])
        tau, last = self.periods[0], self.recipe.train.iterations
        for first in count(1, tau):
            steps = (Step(1 + (t - 1) % last) for t in range(first, first + tau))
            states = self.loop.states(self.start, steps, fine=True)
            for _ in range(tau):
                begun = perf_counter()
                with computing(self.problem):
                    next(states)
                yield (perf_counter() - begun) / gradients

    def _merge(self, tier: int) -> Once:
        """As the loop does it, but for what workers compute before they send."""
        engine, algorithm, n = self.loop.engine, self.bound, self._affordable(tier)
        records = algorithm.init(self.problem.initial(self.recipe.train.seed))
        messages = engine.fill(pick(of(algorithm.up, tier - 1), of(records, tier - 1)), n)
        node = engine.fill(of(records, tier), 1)
        kept = self.problem.initial_buffers()
        statistics = None if kept is None else engine.repeat(kept, n)
        families = Families(np.full(n, self.problem.sizes[0]), np.zeros(n, int), 1)
        here = self.loop.where(tier, None, 1)

        def once() -> float:
            begun = perf_counter()
            with computing(self.problem):
                means = engine.mean(self.loop.carry(messages, tier - 1), families)
                rule = of(self.loop.at(1).aggregators(), tier - 1)
                engine.first_broken(engine.merged(rule, node, means, here))
                if statistics is not None:
                    engine.average(statistics, families)
            return perf_counter() - begun

        return once

    def children(self, tier: int) -> int:
        """How many messages a node of this tier merges at once, on average."""
        twins = Tree.branching(*[2] * self.root)
        events = self.bound.plan(Setting(twins, (1,) * self.root, 1))
        merge = next((each for each in events if isinstance(each, Merge) and each.tier == tier), None)
        if merge is not None and merge.children is not None:
            parents = np.unique(twins.parents[tier - 1][np.asarray(merge.children)])
            if len(merge.children) < 2 * len(parents):  # an asynchronous algorithm merges whoever arrives
                return 1
        return max(1, round(self.tree.counts[tier - 1] / self.tree.counts[tier]))

    def _affordable(self, tier: int) -> int:
        """As many children, or as many as a quarter of the free memory holds the messages of."""
        wanted, each, free = self.children(tier), self.message(tier - 1)[0], available_bytes()
        n = max(1, min(wanted, free // 4 // max(1, each)))
        if n < wanted:
            name = "edge" if tier == 1 < self.root else "cloud"
            self.notes.append(
                f"{name} compute: a merge of {n:,} messages, not of {wanted:,}, which with {human(each)} each are more "
                f"than a quarter of the {human(free)} of free memory"
            )
        return n

    def message(self, link: int) -> tuple[int, int]:
        """Bytes of a message up and of one down; running statistics travel with every model."""
        up, down = per_exchange(self.bound, self.tree.tiers)[link]
        model = ModelSize(self.problem.dimension, item_bytes(self.recipe), self.problem.flat.buffers.size)
        return up.bytes(model), down.bytes(model)


def alone(recipe: Recipe, part: Part) -> Recipe:
    """The recipe with this algorithm and one worker, under as many tiers as the algorithm runs with."""
    tree, periods = recipe.placed(part)
    return replace(
        recipe.single(part),
        tree=TreeTable(branching=(1,) * (tree.tiers - 1)),
        periods=periods,
        partition=Part("iid", Iid()),
        edges=None,
        delays=None,
        evaluate=replace(recipe.evaluate, per=()),
    )


def roles_of(recipe: Recipe, role: str | None) -> tuple[str, ...]:
    """Those that can be measured, all or the one that is asked for."""
    part = recipe.algorithms[0]
    there = ROLES if recipe.placed(part)[0].tiers > 2 else ("worker", "cloud")
    if role is None:
        return there
    if role not in there:
        raise UserError(f"--as {role}: {part.label}, the recipe's first algorithm, runs without edges here")
    return (role,)


def link_samples(
    client: Client, node: str, kinds: tuple[str, str], sizes: tuple[int, int], wanted: int, show: Callable[[str], Show]
) -> list[Sample]:
    """Messages up and down of these sizes, and empty ones; `show` is told what comes next."""
    trips = sampled(client.ping, wanted, show("latency"))
    half_s = median(trips) / 2
    found = [Sample(node, kind, trip_s / 2, 0) for kind in kinds for trip_s in trips]
    for kind, size, send in zip(kinds, sizes, (client.up, client.down), strict=True):
        seconds = sampled(lambda size=size, send=send: send(size), wanted, show(kind))  # type: ignore[misc]
        found += [Sample(node, kind, max(TINY_S, each - half_s), size) for each in seconds]
    return found


def figures(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Of every node, kind and size, in the order of the samples: how many, how long, how different."""
    groups: dict[tuple[str, str, int | None], list[float]] = {}
    for each in samples:
        groups.setdefault((each.node, each.kind, each.bytes), []).append(each.seconds)
    found = []
    for (node, kind, size), seconds in groups.items():
        low, middle, high = map(float, np.percentile(seconds, (10, 50, 90)))
        found.append(
            {
                "node": node,
                "kind": kind,
                "bytes": size,
                "samples": len(seconds),
                "median_s": middle,
                "mean_s": fmean(seconds),
                "p10_s": low,
                "p90_s": high,
                "cv": stdev(seconds) / fmean(seconds) if len(seconds) > 1 else None,
                "megabytes_per_s": size / middle / 1e6 if size else None,
            }
        )
    return found


def check_target(path: Path, append: bool) -> None:
    """Refuses a file that could not be written in the end, before anything is measured."""
    if path.suffix.lower() in PARQUET:
        _parquet(path)
    if path.is_dir():
        raise UserError(f"--out {path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UserError(f"--out {path}: there is no folder {path.parent}")
    try:
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UserError(f"--out {path}: cannot be written: {error.strerror}") from None
    if path.exists():
        if not append:
            raise UserError(f"--out {path}: exists already; add to it with --append, or name another file")
        _existing(path)


def write_trace(path: Path, samples: Sequence[Sample], append: bool) -> None:
    """All or nothing of it is there, also after a kill."""
    check_target(path, append)
    old = _existing(path) if path.exists() else None
    if path.suffix.lower() in PARQUET:
        pyarrow, parquet = _parquet(path)
        kinds = zip(COLUMNS, (pyarrow.string(), pyarrow.string(), pyarrow.float64(), pyarrow.int64()), strict=True)
        table = pyarrow.Table.from_pylist([each._asdict() for each in samples], pyarrow.schema(list(kinds)))
        if old is not None:
            try:
                table = pyarrow.concat_tables([old.cast(table.schema), table])
            except pyarrow.ArrowException as error:
                raise UserError(f"--out {path}: its columns are of other types: {error}") from None
        write_atomically(path, lambda side: parquet.write_table(table, side))
        return
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    if old is None:
        rows.writerow(COLUMNS)
    elif not old.endswith(b"\n"):
        text.write("\n")
    for node, kind, seconds, size in samples:
        rows.writerow((node, kind, f"{seconds:.9f}", "" if size is None else size))
    write_atomically(path, lambda side: side.write_bytes((old or b"") + text.getvalue().encode()))


def _existing(path: Path) -> Any:
    """The trace that is there, a table of Parquet or the bytes of a CSV file; refuses what has other columns."""
    try:
        if path.suffix.lower() in PARQUET:
            pyarrow, parquet = _parquet(path)
            try:
                old = parquet.read_table(path)
            except pyarrow.ArrowException as error:
                raise UserError(f"--out {path}: cannot be read as Parquet: {error}") from None
            names = tuple(old.column_names)
        else:
            old = path.read_bytes()
            header = old.partition(b"\n")[0].decode("utf-8-sig", errors="replace")
            names = tuple(name.strip() for name in header.split(","))
    except OSError as error:
        raise UserError(f"--out {path}: cannot be read: {error.strerror}") from None
    if names != COLUMNS:
        found = ", ".join(names) if any(names) else "none"
        raise UserError(f"--append: {path} should have the columns {', '.join(COLUMNS)}, it has {found}")
    return old


def _parquet(path: Path) -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise UserError(
            f"--out {path}: Parquet needs pyarrow; pip install 'hiermo[parquet]', or name a .csv file"
        ) from None
