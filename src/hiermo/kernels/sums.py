"""Weighted sums of rows, added in double precision in the order that is given, and rounded once."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.kernels.arrays import compiles, is_double


def fits(rows: Any) -> bool:
    return compiles(rows) and rows.stride(1) == 1


def weighted_sum(rows: Any, chosen: NDArray[np.int64], shares: NDArray[np.float64], into: Any) -> None:
    """Of some rows, each times its share, into a vector; both arrays are in one piece."""
    places = rows.data_ptr(), rows.stride(0), chosen.ctypes.data, shares.ctypes.data
    _function(is_double(rows))(*places, len(chosen), into.data_ptr(), into.shape[0])


@cache
def _function(double: bool) -> Any:
    from hiermo.kernels.weighted import function  # not before it is needed: the compiler is large

    return function(double=double)
