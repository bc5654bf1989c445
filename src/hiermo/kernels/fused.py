"""Works off what a rule computes in one pass over memory, with the bits that torch's operations have one by one."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from hiermo.core.problem import Together, in_order
from hiermo.kernels.arrays import compiles, is_double
from hiermo.kernels.trace import Ask, Form, Pass, Program

AT_ONCE = 1 << 18  # numbers of one task, where there are several


def work_off(
    found: Program,
    records: Sequence[Any],
    gradient: Callable[[Any], Any] | None,
    *,
    own: Sequence[Any] = (),
    into: Any = None,
    together: Together = in_order,
) -> tuple[Any, list[Any]]:
    """The record that a rule makes, and those of its fields that are new here.

    `own` are fields of the records that nobody else has: they may be written over. `into` is where the new fields are
    to be, or None; so for each of them.
    """
    slots = [field for record in records for field in record]
    made: list[Any] = []
    for step in found.steps:
        if isinstance(step, Ask):
            assert gradient is not None
            slots.append(gradient(slots[step.at]))
            continue
        room: dict[int, Any] = {}  # by place among those that are made
        if step is found.steps[-1]:
            room = _room(found.result, len(slots), slots, own, into)
        made = _computed(step, [slots[k] for k in step.reads], room, together)
        slots.extend(made)
    return found.kind(*(slots[k] for k in found.result)), made


def _room(result: tuple[int, ...], first: int, slots: list[Any], own: Sequence[Any], into: Any) -> dict[int, Any]:
    """Where the vectors of a last pass may be written; they are to have the slots from `first` on."""
    kept = {id(slots[k]) for k in result if k < first}
    spare = [each for each in own if id(each) not in kept]
    room: dict[int, Any] = {}
    for field, k in enumerate(result):
        if k >= first and k - first not in room:
            if into is not None and into[field] is not None:
                room[k - first] = into[field]
            elif spare:
                room[k - first] = spare.pop()
    return room


def _computed(step: Pass, reads: list[Any], room: dict[int, Any], together: Together) -> list[Any]:
    if not _side_by_side(reads):
        return _one_by_one(step, reads)
    first = reads[0]
    made: list[Any] = []
    for k in range(len(step.form.makes)):
        place = room.get(k)
        fits = place is not None and place.shape == first.shape and place.dtype == first.dtype and place.is_contiguous()
        made.append(place if fits else first.new_empty(first.shape))
    call, count = _function(step.form, is_double(first)), first.numel()
    places = [each.data_ptr() for each in (*reads, *made)]

    def some(begin: int) -> None:
        here = [place + begin * first.itemsize for place in places]
        call(min(AT_ONCE, count - begin), *here, *step.numbers)

    if together is in_order or count <= AT_ONCE:
        call(count, *places, *step.numbers)
    else:
        together([partial(some, begin) for begin in range(0, count, AT_ONCE)])
    return made


def _one_by_one(step: Pass, reads: list[Any]) -> list[Any]:
    """For vectors of several shapes: as the rule itself would."""
    values = list(reads)
    for sign, *operands in step.form.terms:
        a, b = (values[k] if k >= 0 else step.numbers[-k - 1] for k in operands)
        values.append(a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b)
    return [values[k] for k in step.form.makes]


def _side_by_side(arrays: Sequence[Any]) -> bool:
    """Whether vectors can be read as numbers in a row, each beside the others."""
    first = arrays[0]
    return all(
        compiles(each) and each.shape == first.shape and each.dtype == first.dtype and each.is_contiguous()
        for each in arrays
    )


@cache
def _function(form: Form, double: bool) -> Any:
    from hiermo.kernels.elementwise import function  # not before it is needed: the compiler is large

    return function(form, double=double)
