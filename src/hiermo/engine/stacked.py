"""The default engine: a tier is one array `[n, d]` per field, and a rule is applied to all of it at once.

What can be done side by side is handed to the problem's threads: blocks of workers between two merges, blocks of rows
and columns in a merge. Which thread does what cannot change a bit: every number is computed by one task, in one order.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from math import isfinite
from threading import Lock
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device

from hiermo.core.algorithm import Algorithm, Gradient
from hiermo.core.plan import Nodes
from hiermo.core.problem import Together, in_order
from hiermo.engine.families import Families
from hiermo.kernels import fused, sums, trace
from hiermo.kernels.arrays import compiles
from hiermo.kernels.trace import Program

Compute = Callable[..., Any]  # (workers, x [m, d], buffers [m, b]) -> gradients [m, d]
Pieces = Generator[None, None, Any]  # a task that lets others have their turn at every yield, and what it makes
COLUMNS = 1 << 16  # of a merge in one task: their sums stay in cache
PROGRAMS = 256  # rules that are remembered; a step size of its own for each iteration makes as many
MANY = 1 << 20  # numbers that one task adds up, if it can
FEW = 1 << 17  # numbers that are merged at once: tasks would cost more than the sums


class Where(NamedTuple):
    """Which nodes an operation concerns, for error messages."""

    tier: int
    nodes: Nodes
    t: int
    tiers: int


class Stacked:
    """Operations on a tier; works on numpy arrays and on torch tensors of any device."""

    name = "stacked"

    def __init__(self, together: Together = in_order) -> None:
        self.together = together
        self._programs: dict[Any, tuple[Any, Program | None]] = {}

    def fill(self, record: Any, n: int) -> Any:
        """One node's record `[d]`, n times."""
        return type(record)(*(self.repeat(field, n) for field in record))

    def repeat(self, vector: Any, n: int) -> Any:
        xp = array_namespace(vector)
        return xp.stack([vector] * n)

    def take(self, record: Any, nodes: Nodes) -> Any:
        """The rows of some nodes; all of them for None."""
        return record if nodes is None else type(record)(*(self.rows(field, nodes) for field in record))

    def put(self, record: Any, nodes: Nodes, new: Any) -> Any:
        """The record with the rows of some nodes replaced."""
        if nodes is None:
            return new
        return type(record)(*(self.replace(old, nodes, rows) for old, rows in zip(record, new, strict=True)))

    def rows(self, array: Any, nodes: Nodes) -> Any:
        if len(nodes) == 1:
            return array[int(nodes[0]) : int(nodes[0]) + 1]  # no copy
        xp = array_namespace(array)
        return xp.take(array, xp.asarray(nodes, device=device(array)), axis=0)

    def replace(self, array: Any, nodes: Nodes, rows: Any) -> Any:
        xp = array_namespace(array)
        result = xp.asarray(array, copy=True)
        result[xp.asarray(nodes, device=device(array))] = rows
        return result

    def in_blocks(
        self, rule: Callable[..., Pieces], record: Any, blocks: Sequence[slice], *, alike: bool = False
    ) -> Any:
        """The record that `rule(rows, those rows of the record)` makes of every block, piece by piece.

        Where it makes one `alike`, it is told as `into` where that is to be, which it need not heed.
        """
        if len(blocks) == 1:
            return finished(rule(blocks[0], record))
        new = [_tall(record, record)] if alike else []
        first = Lock()

        def one(rows: slice) -> Iterator[None]:
            into = cut(new[0], rows) if alike else ()
            made = yield from rule(rows, cut(record, rows), **({"into": into} if alike else {}))
            with first:
                if not new:
                    new.append(_tall(made, record))
            for place, part in zip(into or cut(new[0], rows), made, strict=True):
                if place is not part:
                    place[...] = part

        self.together([partial(one, rows) for rows in blocks])
        return new[0]

    def each(self, rule: Callable[..., Any], *records: Any, where: Where, grad: Any = None) -> Any:
        """The rule on every node."""
        return self.worked_off(rule, records, grad)[0]

    def merged(self, rule: Callable[..., Any], node: Any, mean: Any, where: Where) -> Any:
        """The rule of aggregators, on large models by several threads."""
        if compiles(node[0]) and (program := self._program(rule, (node, mean), None)) is not None:
            return fused.work_off(program, (node, mean), None, together=self.together)[0]
        each = max(1, FEW // mean[0].shape[1])  # nodes of one task

        def one(rows: slice, some: Any) -> Pieces:
            yield
            return self.each(rule, some, cut(mean, rows), where=where._replace(nodes=where.nodes[rows]))

        parts = [slice(j, min(j + each, len(where.nodes))) for j in range(0, len(where.nodes), each)]
        return self.in_blocks(one, node, parts)

    def worked_off(
        self, rule: Callable[..., Any], records: Any, grad: Any, own: Sequence[Any] = (), into: Any = None
    ) -> Any:
        """What the rule makes, if possible `into` a place, and those of its fields that nobody else has.

        `own` may be written over.
        """
        if compiles(records[0][0]) and (program := self._program(rule, records, grad)) is not None:
            return fused.work_off(program, records, grad, own=own, into=into)
        return (rule(*records) if grad is None else rule(*records, grad)), ()

    def _program(self, rule: Callable[..., Any], records: Any, grad: Any) -> Program | None:
        owner, function = getattr(rule, "__self__", None), getattr(rule, "__func__", rule)
        key = (id(owner), function, *map(type, records))
        known = self._programs.get(key)
        if known is None:
            if len(self._programs) >= PROGRAMS:
                self._programs.clear()
            kinds = [type(record) for record in records]
            known = (rule, trace.program(rule, kinds, asks=grad is not None))  # holding the rule keeps its id its own
            self._programs[key] = known
        return known[1]

    def gradient(self, compute: Compute, workers: Nodes, buffers: Any = None) -> Any:
        """The `grad` that a rule gets; running statistics move with the first call of an iteration alone."""
        return once(partial(compute, workers), buffers)

    def advance(
        self,
        steps: Sequence[tuple[int, Algorithm, Compute]],
        w: Any,
        down: Any,
        buffers: Any,
        where: Where,
        into: Any = None,
    ) -> Pieces:
        """Iterations in a row without a merge, one by one; `buffers` is updated in place."""
        own: Sequence[Any] = ()  # what the step before made
        for k, (_, algorithm, compute) in enumerate(steps):
            grad = self.gradient(compute, where.nodes, buffers)
            place = into if k == len(steps) - 1 else None
            w, own = self.worked_off(algorithm.step, (w, down), grad, own, place)
            yield
        return w

    def mean(self, messages: Any, families: Families) -> Any:
        """Weighted mean of each family of rows: the message that each parent gets."""
        return type(messages)(*(self.average(field, families) for field in messages))

    def average(self, rows: Any, families: Families) -> Any:
        """Children are added in the order of their index, in float64, and cast once: placement cannot change a bit."""
        xp, n, d = array_namespace(rows), families.n, rows.shape[1]
        if sums.fits(rows):
            return self._compiled_average(rows, families)
        if n * d <= FEW and (turns := families.turns(xp, device(rows))) is not None:
            return xp.astype(_weighted_sum(xp, rows, turns), rows.dtype)
        result = xp.empty((n, d), dtype=rows.dtype, device=device(rows))
        own = [[(int(i), float(families.shares[i])) for i in each] for each in families.children]

        def one(parent: int, columns: slice) -> None:
            result[parent, columns] = xp.astype(_weighted_sum(xp, rows[:, columns], own[parent]), rows.dtype)

        spans = [slice(k, k + COLUMNS) for k in range(0, d, COLUMNS)]
        self.together([partial(one, parent, columns) for parent in range(n) for columns in spans])
        return result

    def _compiled_average(self, rows: Any, families: Families) -> Any:
        n, d = families.n, rows.shape[1]
        result = rows.new_empty(n, d)
        each = max(1, MANY * n // (len(rows) * min(d, COLUMNS)))  # parents of one task
        groups = [range(k, min(k + each, n)) for k in range(0, n, each)]
        spans = [slice(k, min(k + COLUMNS, d)) for k in range(0, d, COLUMNS)]
        self.together(
            [
                partial(sums.weighted_sums, rows, families.plan, group, span, result)
                for group in groups
                for span in spans
            ]
        )
        return result

    def copy(self, array: Any) -> Any:
        return None if array is None else array_namespace(array).asarray(array, copy=True)

    def first_broken(self, record: Any) -> int | None:
        """The first row with a number that is not finite, or None."""
        broken = [row for field in record if (row := self.broken_row(field)) is not None]
        return min(broken) if broken else None

    def broken_row(self, field: Any) -> int | None:
        xp = array_namespace(field)
        if field.dtype == object:
            return None  # exact numbers are finite
        # a sum is one cheap pass and is never finite where a term is not; that it can overflow by itself needs a look
        if isfinite(xp.sum(field)):
            return None
        (suspects,) = xp.nonzero(~xp.isfinite(xp.sum(field, axis=-1)))
        return next((int(i) for i in suspects if not bool(xp.all(xp.isfinite(field[int(i)])))), None)


def _weighted_sum(xp: Any, rows: Any, turns: Any) -> Any:
    total: Any = None
    for child, share in turns:
        part = xp.astype(rows[child], xp.float64)
        part *= share
        if total is None:
            total = part
        else:
            total += part
    return total


def finished(pieces: Pieces) -> Any:
    """What a task makes, all its pieces in a row."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


def cut(record: Any, rows: slice) -> Any:
    """Views of some rows."""
    return type(record)(*(field[rows] for field in record))


def _tall(part: Any, record: Any) -> Any:
    """Room for a whole record like a part of it."""
    return type(part)(*(tall(field, len(record[0])) for field in part))


def tall(field: Any, n: int) -> Any:
    xp = array_namespace(field)
    return xp.empty((n, *field.shape[1:]), dtype=field.dtype, device=device(field))


def once(compute: Callable[..., Any], buffers: Any) -> Gradient:
    left = [buffers]
    return lambda x: compute(x, left.pop() if left else None)
