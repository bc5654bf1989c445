"""The few operations beyond + - * / that a rule may need, on numpy and torch arrays alike.

Each is dispatched on the type of its argument, so algorithm files import no framework.
Every function works on one node `[d]` and on a tier `[n, d]`.
"""

from typing import Any, Protocol, Self

from array_api_compat import array_namespace


class Vector(Protocol):
    """A model-sized array: `[d]` for one node, `[n, d]` for a tier."""

    def __add__(self, other: Any, /) -> Self: ...
    def __radd__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Self: ...
    def __rsub__(self, other: Any, /) -> Self: ...
    def __mul__(self, other: Any, /) -> Self: ...
    def __rmul__(self, other: Any, /) -> Self: ...
    def __truediv__(self, other: Any, /) -> Self: ...
    def __pow__(self, other: Any, /) -> Self: ...
    def __rpow__(self, other: Any, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __getitem__(self, index: Any, /) -> Self: ...


def dot(a: Any, b: Any) -> Any:
    """Inner product per node: `[1]` or `[n, 1]`."""
    return array_namespace(a, b).sum(a * b, axis=-1, keepdims=True)


def norm(a: Any) -> Any:
    """Euclidean norm per node: `[1]` or `[n, 1]`."""
    return sqrt(dot(a, a))


def cosine(a: Any, b: Any) -> Any:
    """Of the angle between two vectors, per node: `[1]` or `[n, 1]`; 0 where one of them is zero."""
    lengths = norm(a) * norm(b)
    return where(lengths > 0, dot(a, b) / where(lengths > 0, lengths, 1), 0)


def sqrt(a: Any) -> Any:
    return array_namespace(a).sqrt(a)


def sign(a: Any) -> Any:
    return array_namespace(a).sign(a)


def clip(a: Any, low: float, high: float) -> Any:
    return array_namespace(a).clip(a, low, high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Numbers take the type of the array beside them."""
    xp = array_namespace(condition)
    kind = next((each.dtype for each in (a, b) if hasattr(each, "dtype")), None)
    return xp.where(condition, *(each if hasattr(each, "dtype") else xp.asarray(each, dtype=kind) for each in (a, b)))
