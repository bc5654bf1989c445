"""Whether two runs agree: to the bit, or to rounding."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hiermo.engine.state import State, to_arrays

# some hundred operations of float64 (1.1e-16 each) on contracting losses; what is wrong shows at 1e-3
ROUNDING = 1e-12


def bits(a: State, b: State) -> str:
    """Where two states differ, in words; empty where no later iteration could tell them apart."""
    (left, here), (right, there) = to_arrays(a), to_arrays(b)
    if here != there:
        return f"one is at {here}, the other at {there}"
    for name, value in left.items():
        if name not in right or not np.array_equal(value, right[name]):
            return f"{name} differs at iteration {a.t}"
    return ""


def all_bits(run: Sequence[State], other: Sequence[State]) -> str:
    if len(run) != len(other):
        return f"one has {len(run)} states, the other {len(other)}"
    return next((where for a, b in zip(run, other, strict=True) if (where := bits(a, b))), "")


def rounding(run: Sequence[State], other: Sequence[State], rows: Sequence[Any] | None = None) -> str:
    """Where two runs differ by more than rounding; node i of tier k of `run` is node rows[k][i] of `other`."""
    if len(run) != len(other):
        return f"one has {len(run)} states, the other {len(other)}"
    for name in (some := [to_arrays(state)[0] for state in run])[0]:
        values = np.stack([arrays[name] for arrays in some])
        others = np.stack([to_arrays(state)[0][name] for state in other])
        if rows is not None:
            others = others[:, rows[1 if name.startswith("down.") else int(name.split(".")[0].removeprefix("tier"))]]
        off = np.abs(values - others).max(axis=(1, 2)) / max(1.0, np.abs(others).max())
        if (off > ROUNDING).any():
            return f"{name} is off by {off.max():.1e}, first at iteration {run[int(np.argmax(off > ROUNDING))].t}"
    return ""
