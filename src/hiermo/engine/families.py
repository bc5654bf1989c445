"""Which children climb into which parents, with what weight: the plan of a weighted mean, made once for many."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.kernels.sums import Plan


class Families:
    """Children (rows) of each of n parents, in the order of their index, and what share of its data each has."""

    def __init__(self, sizes: Any, group: Any, n: int) -> None:
        group = np.asarray(group)
        total = np.zeros(n, sizes.dtype)
        np.add.at(total, group, sizes)
        self.sizes, self.totals, self.n = sizes, total[group], n
        self.children_totals = total  # of each parent
        self.group = group
        self.shares: NDArray[np.float64] = sizes / self.totals
        counts = np.bincount(group, minlength=n)
        self.children = np.split(np.argsort(group, kind="stable"), np.cumsum(counts)[:-1])

    @cached_property
    def plan(self) -> Plan:
        """For compiled code: every parent's children and their shares, one parent after the other."""
        rows = np.concatenate(self.children).astype(np.int64)
        return Plan(rows, self.shares[rows], np.cumsum([0, *map(len, self.children)], dtype=np.int64))

    def turns(self, xp: Any, device: Any) -> list[tuple[Any, Any]] | None:
        """The k-th child of every parent, for each k, and their shares; None where some parents have fewer."""
        if self._table is None:
            return None
        key = (xp.__name__, str(device))
        if key not in self._turns:
            self._turns[key] = [
                (_as_slice(column), xp.asarray(self.shares[column][:, None], dtype=xp.float64, device=device))
                for column in self._table.T
            ]
        return self._turns[key]

    @cached_property
    def _table(self) -> NDArray[np.intp] | None:
        return np.stack(self.children) if len({len(each) for each in self.children}) == 1 else None  # [n, c]

    @cached_property
    def _turns(self) -> dict[tuple[str, str], list[tuple[Any, Any]]]:
        return {}


def _as_slice(rows: NDArray[np.intp]) -> Any:
    """Rows at equal distances are a view."""
    step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
    even = step > 0 and bool((np.diff(rows) == step).all())
    return slice(int(rows[0]), int(rows[-1]) + 1, step) if even else rows
