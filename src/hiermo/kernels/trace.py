"""What a rule computes, found by calling it once with vectors that only note what is asked of them.

A rule is a pure function of records: one that uses nothing but + - * / on its vectors is thereby known whole, and can
be worked off in one pass over memory instead of one per sign. Any other rule is left as it is.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

LARGEST = 2**1023  # of whole numbers, to be numbers of floating point too


class Noted:
    """A vector that is not there yet: one that the rule was given, or what a sign makes of two others."""

    __array_ufunc__ = None  # numpy's numbers leave what is multiplied by them to us

    def __init__(self, sign: str = "", a: Any = None, b: Any = None) -> None:
        self.sign, self.a, self.b = sign, a, b

    def __add__(self, other: Any) -> Any:
        return _noted("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _noted("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _noted("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _noted("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _noted("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _noted("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _noted("/", self, other)

    def __bool__(self) -> NoReturn:
        raise TypeError("its numbers are not known yet")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("its numbers are not known yet")

    __hash__ = object.__hash__


def _noted(sign: str, a: Any, b: Any) -> Any:
    return Noted(sign, a, b) if _known(a) and _known(b) else NotImplemented


def _known(value: Any) -> bool:
    return isinstance(value, Noted | float) or (type(value) is int and abs(value) <= LARGEST)


class Ask(NamedTuple):
    """The gradient at a vector."""

    at: int  # its slot


class Form(NamedTuple):
    """Of a pass: all but its numbers. Operands count the vectors read, then the terms; numbers are -1, -2, ..."""

    reads: int
    terms: tuple[tuple[str, int, int], ...]  # sign and two operands
    makes: tuple[int, ...]  # operands that are kept


class Pass(NamedTuple):
    """Vectors that are computed in one go."""

    form: Form
    reads: tuple[int, ...]  # slots
    numbers: tuple[float, ...]


class Program(NamedTuple):
    """A rule as steps, each of which fills the next slots; the first slots are the fields of the rule's records."""

    steps: tuple[Ask | Pass, ...]
    kind: Any  # record that comes of it
    result: tuple[int, ...]  # slots of its fields


def program(rule: Callable[..., Any], kinds: Sequence[Any], *, asks: bool) -> Program | None:
    """Of a rule on records of some kinds, with a gradient after them if it `asks`; None where it is not known whole."""
    slots: dict[Noted, int] = {}
    steps: list[Ask | Pass] = []

    def new(node: Noted) -> Noted:
        slots[node] = len(slots)
        return node

    def gradient(x: Any) -> Noted:
        _check([x])
        steps.extend(_missing([x], slots))
        steps.append(Ask(slots[x]))
        return new(Noted())

    records = [kind(*(new(Noted()) for _ in kind._fields)) for kind in kinds]
    try:
        found = rule(*records, gradient) if asks else rule(*records)
        _check(found._asdict().values())  # a record, of vectors
        steps.extend(_missing(list(found), slots))
        return Program(tuple(steps), type(found), tuple(slots[node] for node in found))
    except Exception:  # whatever a rule does that vectors of this kind cannot; if it is wrong, the real ones will show
        return None


def _check(values: Iterable[Any]) -> None:
    if not all(isinstance(each, Noted) for each in values):
        raise TypeError("a number where a vector should be")


def _missing(wanted: Sequence[Noted], slots: dict[Noted, int]) -> list[Pass]:
    """What computes the wanted vectors that have no slot yet, and gives them one."""
    missing = list(dict.fromkeys(node for node in wanted if node not in slots))
    reads: dict[Noted, int] = {}
    terms: dict[Noted, int] = {}
    numbers: list[float] = []

    def visit(node: Any) -> None:
        if not isinstance(node, Noted) or node in reads or node in terms:
            return
        if node in slots:
            reads[node] = len(reads)
            return
        visit(node.a)
        visit(node.b)
        terms[node] = len(terms)

    def operand(value: Any) -> int:
        if isinstance(value, Noted):
            return reads[value] if value in reads else len(reads) + terms[value]
        numbers.append(value)
        return -len(numbers)

    for node in missing:
        visit(node)
    if not missing:
        return []
    signs = tuple((node.sign, operand(node.a), operand(node.b)) for node in terms)
    form = Form(len(reads), signs, tuple(operand(node) for node in missing))
    found = Pass(form, tuple(slots[node] for node in reads), tuple(numbers))
    for node in missing:
        slots[node] = len(slots)
    return [found]
