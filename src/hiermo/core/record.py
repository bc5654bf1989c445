"""Records: the state of a node as a NamedTuple of vectors, and the messages picked from it."""

from dataclasses import field
from typing import Any


def pick(kind: Any, record: Any) -> Any:
    """The message of type `kind` out of a node's record.

    >>> from typing import NamedTuple
    >>> class Model(NamedTuple):
    ...     x: float
    >>> class Edge(NamedTuple):
    ...     x: float
    ...     y: float
    >>> pick(Model, Edge(x=1.0, y=2.0))
    Model(x=1.0)
    """
    return kind(*(getattr(record, name) for name in kind._fields))


def adopt(record: Any, message: Any) -> Any:
    """Overwrite the same-named fields; others stay; fields that the record lacks are ignored."""
    known = {name: value for name, value in zip(message._fields, message, strict=True) if name in record._fields}
    return record._replace(**known)


def of(kinds: Any, k: int) -> Any:
    """Entry k of a per-tier or per-link sequence whose last entry serves all above."""
    return kinds[min(k, len(kinds) - 1)] if type(kinds) is tuple else kinds


def bound() -> Any:
    """A field that `bind` fills in; None before, so that a forgotten bind fails loudly."""
    return field(default=None, repr=False, metadata={"bound": True})
