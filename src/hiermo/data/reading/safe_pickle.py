"""Reads the pickles of arrays that some data sets are published as, and runs nothing that is in them."""

import io
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
PLAIN = {bool, int, float, bytes, str, list, tuple, type(None)}


class Refused(ValueError):  # noqa: N818 - a fact about the file, not a mistake
    """The pickle is damaged, or holds more than a dict of arrays and plain values."""


def read_pickle(content: bytes) -> dict[Any, Any]:
    """The dict in a pickle, its values arrays, numbers, bytes or lists; text of Python 2 comes as bytes.

    Not even numpy's own functions are handed out, for a made-up type can lead them outside their memory: stand-ins
    take note of what the pickle says of an array, and the array is made of the noted bytes.
    """
    try:
        found = _Reader(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise Refused(f"is not a pickle of arrays: {error}") from error
    if type(found) is not dict:
        raise Refused(f"is not a pickle of a dict, but of a {type(found).__name__}")
    return {key: _value(value) for key, value in found.items()}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in STAND_INS:
            raise Refused(f"{module}.{name} is not admitted")
        return STAND_INS[module, name]


class _Type:
    """Of an array; `__setstate__` also keeps a pickle from setting attributes."""

    def __init__(self, name: bytes | str, *_: object) -> None:
        self.name = name.decode("ascii") if isinstance(name, bytes) else name
        self.order = "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, *fields = state
        if any(field is not None for field in fields[:3]):
            raise Refused("an array of records is not admitted")
        self.order = order.decode("ascii") if isinstance(order, bytes) else order

    def made(self) -> np.dtype[Any]:
        if self.name not in NUMBERS or self.order not in ("<", ">", "=", "|"):
            raise Refused(f"an array of {self.name!r} is not admitted")
        return np.dtype(self.order + self.name)


class _Array:
    """An array; what it is called with, all of it, comes again in the state."""

    values: NDArray[Any] | None = None

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, data = state
        if type(kind) is not _Type or type(data) is not bytes:
            raise Refused("an array must be a type and bytes")
        self.values = np.frombuffer(data, kind.made()).reshape(shape, order="F" if fortran else "C")


STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,  # as numpy 1 wrote it
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
}


def _value(value: Any) -> Any:
    if isinstance(value, _Array) and value.values is not None:
        return value.values
    if type(value) not in PLAIN:
        raise Refused(f"a value that is a {type(value).__name__} is not admitted")
    return value
