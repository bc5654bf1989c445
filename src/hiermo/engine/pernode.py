"""One node at a time, in any number type: slow, to trust and to debug with.

States are laid out as in the stacked engine, so that one engine can go on where the other stopped.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from array_api_compat import array_namespace

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import node_name
from hiermo.core.plan import Nodes
from hiermo.engine.families import Families
from hiermo.engine.stacked import Compute, Pieces, Stacked, Where, once


class PerNode(Stacked):
    """Applies every rule node by node and adds children one by one; errors name the node."""

    name = "pernode"

    def each(self, rule: Callable[..., Any], *records: Any, where: Where, grad: Any = None) -> Any:
        done = []
        for j, node in enumerate(where.nodes):
            own = [type(record)(*(field[j] for field in record)) for record in records]
            try:
                done.append(rule(*own) if grad is None else rule(*own, grad[j]))
            except Exception as error:
                stage = getattr(rule, "__name__", type(rule).__name__)
                name = node_name(where.tier, int(node), where.tiers)
                error.add_note(f"in '{stage}' of {name} (tier {where.tier}) at iteration {where.t}")
                raise
        kind = type(done[0])
        return kind(*(_stack([getattr(node, name) for node in done]) for name in kind._fields))

    def merged(self, rule: Callable[..., Any], node: Any, mean: Any, where: Where) -> Any:
        return self.each(rule, node, mean, where=where)

    def advance(
        self,
        steps: Sequence[tuple[int, Algorithm, Compute]],
        w: Any,
        down: Any,
        buffers: Any,
        where: Where,
        into: Any = None,
    ) -> Pieces:
        for t, algorithm, compute in steps:
            grad = self.gradient(compute, where.nodes, buffers)
            w = self.each(algorithm.step, w, down, where=where._replace(t=t), grad=grad)
            yield
        return w

    def gradient(self, compute: Compute, workers: Nodes, buffers: Any = None) -> Any:
        return [
            once(partial(_single, compute, int(i)), None if buffers is None else buffers[j : j + 1])
            for j, i in enumerate(workers)
        ]

    def average(self, rows: Any, families: Families) -> Any:
        exact = rows.dtype == object
        parents: list[Any] = [None] * families.n
        for j, parent in enumerate(families.group):
            share = Fraction(int(families.sizes[j]), int(families.totals[j])) if exact else float(families.shares[j])
            part = share * rows[j]
            parents[parent] = part if parents[parent] is None else parents[parent] + part
        return _stack(parents)


def _single(compute: Compute, worker: int, x: Any, buffers: Any) -> Any:
    return compute([worker], x[None], buffers)[0]


def _stack(rows: list[Any]) -> Any:
    return array_namespace(rows[0]).stack(rows)
