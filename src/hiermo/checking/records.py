"""Checks of what nodes keep and what they send."""

from typing import Any

from hiermo.checking.case import Case, cases
from hiermo.checking.fault import Fault, naming, shown
from hiermo.checking.watched import Watched
from hiermo.core.algorithm import Algorithm
from hiermo.core.record import adopt, of


def init(algorithm: Algorithm) -> None:
    """A tuple of NamedTuples of vectors, `x` at the top; the same kinds before `bind`, as a checkpoint is read then."""
    for case in cases(algorithm):
        try:
            before = records(algorithm, case)
        except Fault as fault:
            raise Fault(f"{fault}, before `bind`; a checkpoint is read so") if _binds(algorithm) else fault from None
        after = records(Watched(algorithm).bind(case.setting()).inner, case)
        if list(map(type, before)) != list(map(type, after)):
            raise Fault("`init` returns other records after `bind`; a checkpoint is read by those before")


def records(algorithm: Algorithm, case: Case) -> tuple[Any, ...]:
    """The record of each tier at the start."""
    x = case.problem().initial(0)
    with naming("init"):
        found: Any = algorithm.init(x)
    if is_record(found):
        raise Fault("`init` returns one record, not a tuple of them: write `return (Model(x),)`")
    if type(found) is not tuple or not found:
        raise Fault(f"`init` returns {shown(found)}, not a tuple of records, workers first")
    for record in found:
        if not is_record(record):
            raise Fault(f"`init` returns {shown(record)} among its records, which must be NamedTuples of vectors")
        for name, value in record._asdict().items():
            if getattr(value, "ndim", None) != 1:
                raise Fault(
                    f"`init` returns {name} of {type(record).__name__} as {shown(value)}, not as a vector [k]; "
                    "write 0 * x for zeros and 0 * x[:1] for a scalar"
                )
    tiers = tuple(of(found, k) for k in range(case.tree.tiers))
    if "x" not in tiers[-1]._fields:
        raise Fault(f"the highest record, {type(tiers[-1]).__name__}, has no field `x`: the model is read from there")
    if tiers[-1].x.shape != x.shape:
        raise Fault(f"`init` returns a model of shape {list(tiers[-1].x.shape)} for one of {list(x.shape)}")
    return tiers


def messages(algorithm: Algorithm) -> None:
    """What `up`, `down` and `asks` name, its sender has; and a receiver that adopts it has a place for it."""
    for case in cases(algorithm):
        bound = Watched(algorithm).bind(case.setting())
        tiers = records(bound.inner, case)
        bound.aggregators()  # they are a tuple of rules
        rules = bound.inner.aggregators()
        for k in range(case.tree.tiers - 1):
            below, above = tiers[k], tiers[k + 1]
            _sent(_kind(bound, "up", k), f"`up` of link {k}", below, above if of(rules, k) is adopt else None)
            _sent(_kind(bound, "down", k), f"`down` of link {k}", above, below if k else None)
        if bound.asks is not None:
            _asked(_kind(bound, "asks", 0), tiers[1:])


def _kind(algorithm: Watched, which: str, k: int) -> Any:
    kind = of(getattr(algorithm, which), k)
    if not (isinstance(kind, type) and is_record(kind)):
        raise Fault(f"`{which}` is {shown(kind)}, not a NamedTuple class, or a tuple with one per link")
    return kind


def _sent(kind: Any, link: str, sender: Any, adopter: Any) -> None:
    for name in kind._fields:
        if name not in sender._fields:
            raise Fault(f"{link} sends {name}, which its sender's record, {type(sender).__name__}, does not have")
        if adopter is None:
            continue  # a rule of the algorithm's own makes what it likes of it
        if name not in adopter._fields:
            raise Fault(f"{link} sends {name}, which its receiver's record, {type(adopter).__name__}, has no field for")
        if getattr(sender, name).shape != getattr(adopter, name).shape:
            shapes = [list(getattr(record, name).shape) for record in (sender, adopter)]
            raise Fault(
                f"{link} sends {name}, which has shape {shapes[0]} at its sender and {shapes[1]} at its receiver"
            )


def _asked(kind: Any, aggregators: tuple[Any, ...]) -> None:
    for name in kind._fields:
        if not any(name in record._fields for record in aggregators):
            raise Fault(f"`asks` asks for {name}, and no aggregator's record has a field of that name to keep it")


def is_record(thing: Any) -> bool:
    """A NamedTuple, or a class of them."""
    kind = thing if isinstance(thing, type) else type(thing)
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _binds(algorithm: Algorithm) -> bool:
    return type(algorithm).bind is not Algorithm.bind
