"""`hiermo.run_many`: several runs at once, their workers computed together where their models are alike.

Between two merges the workers of all runs are as independent of each other as those of one. A run of four workers is
too small to fill a batched product, let alone several threads; ten such runs are not. The bits of every run are those
that it has alone.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal, overload

from hiermo.core.errors import Diverged
from hiermo.core.problem import computing, together
from hiermo.engine.loop import Course
from hiermo.engine.run import Prepared, check
from hiermo.engine.stacked import cut, tall
from hiermo.engine.state import State
from hiermo.engine.stretch import Stretch

Block = tuple[int, slice]  # which of the stretches, and which of its rows


@overload
def run_many(
    runs: Sequence[Mapping[str, Any]], *, left: Collection[int] = (), raising: Literal[True] = True
) -> Iterator[tuple[int, State]]: ...
@overload
def run_many(
    runs: Sequence[Mapping[str, Any]], *, left: Collection[int] = (), raising: Literal[False]
) -> Iterator[tuple[int, State | Diverged]]: ...
def run_many(
    runs: Sequence[Mapping[str, Any]], *, left: Collection[int] = (), raising: bool = True
) -> Iterator[tuple[int, State | Diverged]]:
    """Train several runs side by side, and yield (which run, state) as they come.

    Every run is the arguments of `hiermo.run`, by name. Those whose problems have the same model, the same batch and
    the same training set in memory are computed together between their merges, whatever their algorithms, trees and
    seeds; others take turns. The caller may add to `left` while it goes on: runs that are in it are not gone on with.
    Where not `raising`, a run whose numbers break ends with (which run, the error), and the others go on.

    >>> import hiermo
    >>> tree = hiermo.Tree.regular(edges=2, workers_per_edge=1)
    >>> problem = hiermo.Quadratic(A=[[[1.0]], [[1.0]]], b=[[0.0], [2.0]], sizes=[1, 1])
    >>> common = {"tree": tree, "problem": problem, "periods": (1, 1), "iterations": 2}
    >>> for which, state in hiermo.run_many([{"algorithm": hiermo.HierFAVG(eta=eta), **common} for eta in (0.5, 1.0)]):
    ...     print(which, state.t, state.model)
    0 1 [0.5]
    1 1 [1.]
    0 2 [0.75]
    1 2 [1.]
    """
    prepared = []
    for run in runs:
        checked = check(**run)
        prepared.append(checked.prepared(checked.algorithm.bind(checked.setting)))
    return _turns(prepared, left, raising)


def _turns(runs: Sequence[Prepared], left: Collection[int], raising: bool) -> Iterator[tuple[int, State | Diverged]]:
    courses: dict[int, Course] = {
        k: run.loop.course(run.state, run.events, fine=run.fine) for k, run in enumerate(runs)
    }
    answers: dict[int, Any] = dict.fromkeys(courses)
    while courses:
        waiting: dict[int, Stretch] = {}
        for k in list(courses):
            for found in _until_stretch(k, runs[k], courses[k], answers.pop(k, None)):
                if k in left:
                    break
                if isinstance(found, Diverged) and raising:
                    raise found
                if isinstance(found, Stretch):
                    waiting[k] = found
                else:
                    yield k, found
            if k not in waiting:
                del courses[k]
        for group in _alike(runs, waiting):
            with ExitStack() as inside:
                for k in group:
                    inside.enter_context(computing(runs[k].loop.problem))
                answers |= zip(group, _computed([waiting[k] for k in group]), strict=True)


def _until_stretch(k: int, run: Prepared, course: Course, answer: Any) -> Iterator[Stretch | State | Diverged]:
    """The states that a run yields before its workers compute again, and then that; nothing more at its end."""
    while True:
        with computing(run.loop.problem):
            try:
                found = course.send(answer)
            except StopIteration:
                return
            except Exception as error:
                error.add_note(f"in run {k}")
                if not isinstance(error, Diverged):
                    raise
                yield error
                return
        answer = None
        if isinstance(found, Stretch):
            yield found
            return
        now = run.told(found[0])
        wanted, stop = run.judge(now, found[1])
        if wanted:
            yield now
        if stop:
            return


def _alike(runs: Sequence[Prepared], waiting: Mapping[int, Stretch]) -> list[list[int]]:
    """Runs whose gradients can be computed together, now: those of one kind and with as many steps to make."""
    groups: dict[Hashable, list[int]] = {}
    for k, stretch in waiting.items():
        kind = getattr(runs[k].loop.problem, "kind", None)
        joint = kind is not None and "x" in stretch.w._fields and runs[k].loop.engine.name == "stacked"
        groups.setdefault((kind, len(stretch.todo)) if joint else ("alone", k), []).append(k)
    return list(groups.values())


def _computed(stretches: Sequence[Stretch]) -> list[Any]:
    """The workers' new records of each."""
    if len(stretches) == 1:
        (only,) = stretches
        return [only.loop.engine.in_blocks(only.compute, only.w, only.blocks, alike=True)]
    problem = stretches[0].loop.problem
    everyone = [(k, row) for k, stretch in enumerate(stretches) for row in range(len(stretch.where.nodes))]
    new = [type(stretch.w)(*(tall(field, len(stretch.where.nodes)) for field in stretch.w)) for stretch in stretches]
    packs = [_pack(everyone[part]) for part in problem.blocks(len(everyone))]  # type: ignore[attr-defined]  # it has a kind
    together(problem)([partial(_advance, stretches, pack, new) for pack in packs])
    return new


def _pack(rows: Sequence[tuple[int, int]]) -> list[Block]:
    """Rows in a row of one stretch, for each of the stretches."""
    found: dict[int, list[int]] = {}
    for k, row in rows:
        found.setdefault(k, []).append(row)
    return [(k, slice(own[0], own[-1] + 1)) for k, own in found.items()]


def _advance(stretches: Sequence[Stretch], pack: Sequence[Block], new: Sequence[Any]) -> None:
    """All steps of some workers of several runs, whose gradients are found at once."""
    mine = [Mine(stretches[k], rows, new[k]) for k, rows in pack]
    first = mine[0]
    total, steps = sum(len(each.nodes) for each in mine), len(first.stretch.todo)
    models = tall(first.w.x, total)  # of all
    begin = 0
    for each in mine:
        each.own = slice(begin, begin := begin + len(each.nodes))
        each.place(models[each.own])
    for step in range(steps):
        asked = [each.asks(step) for each in mine]
        known = first.problem.grad_together(asked, models)  # type: ignore[attr-defined]  # it has a kind
        models = tall(models, total)  # not where older ones lie: a rule may keep them
        for each in mine:
            each.step(step, known[each.own], models, last=step == steps - 1)
    for each in mine:
        each.finish()


class Mine:
    """Some workers of one run, among those of others."""

    own: slice  # their rows among all

    def __init__(self, stretch: Stretch, rows: slice, new: Any) -> None:
        part = stretch.begin(rows, cut(stretch.w, rows))
        self.stretch, self.engine, self.problem = stretch, stretch.loop.engine, stretch.loop.problem
        self.w, self.down, self.nodes, self.into = part.w, part.down, part.where.nodes, cut(new, rows)
        self._spare: Sequence[Any] = ()

    def asks(self, step: int) -> tuple[Any, int, int, Any]:
        return self.problem, self.stretch.loop.seed, self.stretch.todo[step][0], self.nodes

    def place(self, where: Any) -> None:
        """Their models to where they lie beside those of others."""
        if self.w.x is not where:
            where[...] = self.w.x
            self.w = self.w._replace(x=where)

    def step(self, step: int, known: Any, models: Any, *, last: bool) -> None:
        """`known` is the gradient at their models; the new ones are to lie among `models`, the last ones at the end."""
        _, algorithm, compute = self.stretch.todo[step]
        grad = _first_at(self.w.x, known, self.engine.gradient(compute, self.nodes))
        place = models[self.own]
        into = self.into if last else type(self.w)(*(place if name == "x" else None for name in self.w._fields))
        self.w, made = self.engine.worked_off(algorithm.step, (self.w, self.down), grad, self._spare, into)
        self._spare = [field for field in made if field is not self.w.x]
        if not last:
            self.place(place)

    def finish(self) -> None:
        for place, field in zip(self.into, self.stretch.checked(self.w), strict=True):
            if place is not field:
                place[...] = field


def _first_at(x: Any, known: Any, compute: Any) -> Any:
    """The gradient that is known at the worker's model, or, where a rule wants it elsewhere, a computed one."""
    return lambda point: known if point is x else compute(point)
