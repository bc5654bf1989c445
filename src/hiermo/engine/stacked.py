"""The default engine: a tier is one array `[n, d]` per field, and a rule is applied to all of it at once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device
import numpy as np

from hiermo.core.algorithm import Algorithm, Gradient
from hiermo.core.plan import Nodes

Compute = Callable[..., Any]  # (workers, x [m, d], buffers [m, b]) -> gradients [m, d]


class Where(NamedTuple):
    """Which nodes an operation concerns, for error messages."""

    tier: int
    nodes: Nodes
    t: int
    tiers: int


class Stacked:
    """Operations on a tier; works on numpy arrays and on torch tensors of any device."""

    name = "stacked"

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
        xp = array_namespace(array)
        return xp.take(array, xp.asarray(nodes, device=device(array)), axis=0)

    def replace(self, array: Any, nodes: Nodes, rows: Any) -> Any:
        xp = array_namespace(array)
        result = xp.asarray(array, copy=True)
        result[xp.asarray(nodes, device=device(array))] = rows
        return result

    def each(self, rule: Callable[..., Any], *records: Any, where: Where, grad: Any = None) -> Any:
        """The rule on every node."""
        return rule(*records) if grad is None else rule(*records, grad)

    def gradient(self, compute: Compute, workers: Nodes, buffers: Any = None) -> Any:
        """The `grad` that a rule gets; running statistics move with the first call of an iteration alone."""
        return once(partial(compute, workers), buffers)

    def advance(
        self, steps: Sequence[tuple[int, Algorithm, Compute]], w: Any, down: Any, buffers: Any, where: Where
    ) -> Any:
        """Iterations in a row without a merge; `buffers` is updated in place."""
        for t, algorithm, compute in steps:
            grad = self.gradient(compute, where.nodes, buffers)
            w = self.each(algorithm.step, w, down, where=where._replace(t=t), grad=grad)
        return w

    def mean(self, messages: Any, sizes: Any, group: Any, n: int) -> Any:
        """Weighted mean of each group of rows: the message that each of n parents gets."""
        return type(messages)(*(self.average(field, sizes, group, n) for field in messages))

    def average(self, rows: Any, sizes: Any, group: Any, n: int) -> Any:
        """Children are added in the order of their index, in float64, and cast once: placement cannot change a bit."""
        xp = array_namespace(rows)
        share = xp.asarray(sizes / totals(sizes, group, n), dtype=xp.float64, device=device(rows))[:, None]
        result = xp.zeros((n, rows.shape[1]), dtype=xp.float64, device=device(rows))
        for turn in _turns(group):
            at = xp.asarray(turn, device=device(rows))
            to = xp.asarray(group[turn], device=device(rows))
            result[to] += xp.take(share, at, axis=0) * xp.astype(xp.take(rows, at, axis=0), xp.float64)
        return xp.astype(result, rows.dtype)

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
        (suspects,) = xp.nonzero(~xp.isfinite(xp.sum(field, axis=-1)))
        return next((int(i) for i in suspects if not bool(xp.all(xp.isfinite(field[int(i)])))), None)


def totals(sizes: Any, group: Any, n: int) -> Any:
    """The sum of its group, for every row."""
    total = np.zeros(n, sizes.dtype)
    np.add.at(total, group, sizes)
    return total[group]


def once(compute: Callable[..., Any], buffers: Any) -> Gradient:
    left = [buffers]
    return lambda x: compute(x, left.pop() if left else None)


def _turns(group: Any) -> list[Any]:
    """Rows by their place among their siblings: adding turn by turn keeps the order within every group."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], group[order])
    turn = np.arange(len(group)) - starts
    return [order[turn == k] for k in range(int(turn.max()) + 1)]
