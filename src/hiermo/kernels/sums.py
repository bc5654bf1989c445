"""Weighted sums of rows, added in double precision in the order that is given, and rounded once."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.kernels.arrays import compiles, is_double


class Plan(NamedTuple):
    """Which rows are added up for each of n sums, and with what share: those from `ends[k]` to `ends[k + 1]`."""

    rows: NDArray[np.int64]
    shares: NDArray[np.float64]
    ends: NDArray[np.int64]  # [n + 1]


def fits(rows: Any) -> bool:
    return compiles(rows) and rows.stride(1) == 1


def weighted_sums(rows: Any, plan: Plan, which: range, columns: slice, into: Any) -> None:
    """Some of the sums, of some columns, into the same place of `[n, d]`."""
    begin, size = columns.start, rows.itemsize
    _function(is_double(rows))(
        rows.data_ptr() + begin * size,
        rows.stride(0),
        *(array.ctypes.data for array in plan),
        which.start,
        which.stop,
        into.data_ptr() + begin * size,
        into.stride(0),
        columns.stop - begin,
    )


@cache
def _function(double: bool) -> Any:
    from hiermo.kernels.weighted import function  # not before it is needed: the compiler is large

    return function(double=double)
