"""Hyper-parameters and options as typed dataclass fields, checked when a run starts.

Constructors store and do nothing else; `faults` says what is wrong with the values, in words, for the library and
for recipes alike.
"""

from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from math import inf
from numbers import Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from hiermo.core.errors import UserError


class Range(NamedTuple):
    """Bounds of a number; None = unbounded."""

    ge: float | None = None
    gt: float | None = None
    lt: float | None = None
    le: float | None = None

    def admits(self, value: Any) -> bool:
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.lt is None or value < self.lt)
            and (self.le is None or value <= self.le)
        )

    def __str__(self) -> str:
        """In words: `at least 1`, `above 0`, `in [0, 1)`."""
        if self.lt in (None, inf) and self.le is None:
            return f"at least {self.ge:g}" if self.ge is not None else f"above {self.gt:g}"
        low = f"[{self.ge:g}" if self.ge is not None else f"({self.gt:g}" if self.gt is not None else "(-inf"
        return f"in {low}, {self.le:g}]" if self.le is not None else f"in {low}, {self.lt:g})"


Momentum = Annotated[float, Range(ge=0, lt=1)]
Rate = Annotated[float, Range(gt=0, lt=inf)]
Weight = Annotated[float, Range(ge=0, lt=inf)]
Portion = Annotated[float, Range(ge=0, le=1)]
Count = Annotated[int, Range(ge=1)]
Seconds = Annotated[float, Range(ge=0, lt=inf)]


class FromRecipe(NamedTuple):
    """Marks a text that is the path of a file or folder, looked for from the recipe's own folder."""


Location = Annotated[str, FromRecipe()]


def options(kind: Any) -> dict[str, Any]:
    """Name -> type of every parameter a user may set; those that `bind` fills in are not among them."""
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: hints[f.name] for f in fields(kind) if f.init and "bound" not in f.metadata}


def locations(kind: Any) -> set[str]:
    """Names of the options that are paths."""

    def is_path(hint: Any) -> bool:
        inside = get_args(hint)
        return any(isinstance(each, FromRecipe) or is_path(each) for each in inside)

    return {name for name, hint in options(kind).items() if is_path(hint)}


def faults(kind: Any, values: dict[str, Any]) -> list[tuple[str, str]]:
    """(parameter, what is wrong) for each value that the dataclass `kind` would not take.

    >>> from hiermo.algorithms.hiermo import HierMo
    >>> faults(HierMo, {"gama": 0.5})
    [('gama', "is not a parameter of HierMo; did you mean 'gamma'?")]
    >>> faults(HierMo, {"gamma": 1.0})
    [('gamma', 'must be in [0, 1), not 1.0')]
    """
    known, found = options(kind), []
    for name, value in values.items():
        if name not in known:
            found.append((name, f"is not a parameter of {kind.__name__}{suggestion(name, known)}"))
        elif wrong := _mismatch(known[name], value):
            found.append((name, wrong))
    missing = [
        f.name for f in fields(kind) if f.name in known and f.default is MISSING and f.default_factory is MISSING
    ]
    return found + [(name, f"is missing: {kind.__name__} needs it") for name in missing if name not in values]


def check_values(thing: Any) -> None:
    """Refuses a class where an object is due, and values out of range."""
    if isinstance(thing, type):
        raise UserError(f"{thing.__name__} is a class; write {thing.__name__}(...)")
    if not is_dataclass(thing):
        return  # anyone's own object: it knows its options best
    kind = type(thing)
    for name, wrong in faults(kind, {name: getattr(thing, name) for name in options(kind)}):
        raise UserError(f"{kind.__name__}: {name} {wrong}")


def suggestion(name: str, known: Any) -> str:
    """`; did you mean 'x'?`, or the list of what is known where nothing is near."""
    if near := get_close_matches(name, list(known), n=1):
        return f"; did you mean '{near[0]}'?"
    return f"; known are {', '.join(sorted(known))}" if known else ""


def _mismatch(kind: Any, value: Any) -> str:
    """What is wrong with `value` as a `kind`; empty where nothing is."""
    bounds = [meta for meta in get_args(kind)[1:] if isinstance(meta, Range)] if get_origin(kind) is Annotated else []
    base = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if wrong := _wrong_type(base, value):
        return wrong
    return next((f"must be {b}, not {value}" for b in bounds if isinstance(value, Real) and not b.admits(value)), "")


def _wrong_type(kind: Any, value: Any) -> str:
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return ""
    if origin is Literal:
        return "" if value in inside else f"must be one of {', '.join(map(repr, inside))}, not {value!r}"
    if origin in (Union, UnionType):
        answers = [_mismatch(each, value) for each in inside]
        return "" if "" in answers else answers[0]
    if origin in (tuple, list):
        if not isinstance(value, (list, tuple)):
            return f"must be a list, not {value!r}"
        return next((wrong for item in value if (wrong := _mismatch(inside[0], item))), "")
    if origin is dict:
        if not isinstance(value, dict):
            return f"must be a table, not {value!r}"
        return next((f"{key}: {wrong}" for key, item in value.items() if (wrong := _mismatch(inside[1], item))), "")
    if kind is float:
        return "" if type(value) is not bool and isinstance(value, Real) else f"must be a number, not {value!r}"
    if kind is int:
        return (
            "" if isinstance(value, int) and not isinstance(value, bool) else f"must be a whole number, not {value!r}"
        )
    if kind in (bool, str):
        words = {bool: "true or false", str: "a text"}
        return "" if isinstance(value, kind) else f"must be {words[kind]}, not {value!r}"
    if kind is NoneType:
        return "" if value is None else "must be left out"
    return ""
