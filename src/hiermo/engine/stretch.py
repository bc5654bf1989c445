"""Iterations in a row of some workers, between two merges: what is to be computed, and what comes of it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import Diverged
from hiermo.core.plan import Event, Spread
from hiermo.core.problem import blocks, foresee
from hiermo.engine.stacked import Compute, Pieces, Where, finished
from hiermo.engine.state import State

if TYPE_CHECKING:
    from hiermo.engine.loop import Loop

Todo = list[tuple[int, Algorithm, Compute]]


class Part(NamedTuple):
    """Some of the workers, as they begin."""

    w: Any
    down: Any
    buffers: Any
    where: Where


class Stretch:
    """Some workers receive, where a Spread comes first, and make their steps; blocks of them do so independently."""

    def __init__(self, loop: "Loop", state: State, act: Sequence[Event]) -> None:
        self.loop, steps = loop, act
        self._arrived: Callable[[Any], Any] | None = None
        if isinstance(act[0], Spread):
            state, self._arrived = loop.spread_above(state, act[0])
            self._received_by, self._received_t, steps = loop.at(act[0].t), act[0].t, act[1:]
        self.state, self._some = state, steps[0].workers  # type: ignore[union-attr]  # acts() groups steps only
        self.where = loop.where(0, self._some, steps[-1].t)
        self._before = None if state.buffers is None else loop.engine.rows(state.buffers[0], self.where.nodes)
        self._buffers = loop.engine.copy(self._before)
        self.todo: Todo = [(s.t, loop.at(s.t), partial(loop.problem.grad, loop.seed, s.t)) for s in steps]
        self.w = loop.engine.take(state.tiers[0], self._some)
        self._broken = False

    @property
    def blocks(self) -> list[slice]:
        return blocks(self.loop.problem, len(self.where.nodes))

    def begin(self, rows: slice, w: Any) -> Part:
        """The workers of a block, before their first step; `w` is those rows of `self.w`."""
        loop, where = self.loop, self.where._replace(nodes=self.where.nodes[rows])
        foresee(loop.problem, loop.seed, self.todo[0][0], len(self.todo), where.nodes)
        down = loop.received(self.state, where.nodes)
        return Part(self._start(w, where), down, None if self._buffers is None else self._buffers[rows], where)

    def compute(self, rows: slice, w: Any, into: Any = None) -> Pieces:
        """All steps of a block."""
        part = self.begin(rows, w)
        new = yield from self.loop.engine.advance(self.todo, part.w, part.down, part.buffers, part.where, into)
        return self.checked(new)

    def checked(self, new: Any) -> Any:
        """Looks once per stretch whether a number broke."""
        if self.loop.engine.first_broken(new) is not None:
            self._broken = True
        return new

    def finish(self, new: Any) -> State:
        """The state with all workers' new records."""
        if self._broken:
            raise self._find_broken()
        return self.loop.put(self.state, 0, self._some, new, self._buffers)

    def _start(self, w: Any, where: Where) -> Any:
        if self._arrived is None:
            return w
        here = where._replace(t=self._received_t)
        return self.loop.engine.each(self._received_by.receive, w, self._arrived(where.nodes), where=here)

    def _find_broken(self) -> Diverged:
        """Walks the stretch again, to name node and iteration."""
        engine, where, buffers = self.loop.engine, self.where, self._before

        def watched(compute: Any, t: int) -> Any:
            def gradient(workers: Any, x: Any, statistics: Any) -> Any:
                g = compute(workers, x, statistics)
                if (row := engine.broken_row(g)) is not None:
                    raise Diverged("the gradient", 0, int(workers[row]), t, where.tiers)
                return g

            return gradient

        w, down = self._start(self.w, where), self.loop.received(self.state, where.nodes)
        for t, algorithm, compute in self.todo:
            try:
                w = finished(engine.advance([(t, algorithm, watched(compute, t))], w, down, buffers, where))
            except Diverged as found:
                return found
            if (row := engine.first_broken(w)) is not None:
                return Diverged("the model", 0, int(where.nodes[row]), t, where.tiers)
        return Diverged("the model", 0, int(where.nodes[0]), where.t, where.tiers)
