"""Checks of the object itself: what dataclass it is, and that it is nothing but its parameters."""

from dataclasses import MISSING, fields, replace
from inspect import get_annotations
from numbers import Real
import pickle
from typing import Any

from hiermo.checking.fault import Fault, said
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.parameter import check_values


def dataclass(algorithm: Any) -> None:
    """A frozen dataclass and a hiermo.Algorithm: parameters are fields, and nothing can be kept on the object."""
    kind: Any = type(algorithm)
    decorator = "@dataclass(frozen=True, kw_only=True)"
    if not isinstance(algorithm, Algorithm):
        raise Fault(f"{algorithm!r} is not an algorithm; derive its class from hiermo.Algorithm")
    if not hasattr(kind, "__dataclass_params__"):
        raise Fault(f"{kind.__name__} is not a dataclass; write {decorator} above it")
    own = [name for name, note in get_annotations(kind).items() if not _of_class(note)]
    if own and "__dataclass_params__" not in vars(kind):
        raise Fault(f"{own[0]} is not taken as a parameter: {kind.__name__} has no {decorator} of its own")
    if not kind.__dataclass_params__.frozen:
        raise Fault(f"{kind.__name__} is a dataclass that is not frozen; write {decorator}")


def _of_class(note: Any) -> bool:
    return "ClassVar" in str(note)  # a string where annotations are postponed


def parameters(algorithm: Any) -> None:
    """Keyword-only, each with a default: recipes name some of them, and new ones can be added later."""
    for f in fields(algorithm):
        if f.init and not f.kw_only:
            raise Fault(f"{f.name} can be given without its name; write @dataclass(frozen=True, kw_only=True)")
        if f.init and f.default is MISSING and f.default_factory is MISSING:
            raise Fault(f"{f.name} has no default; give it one, so that the algorithm can be tried without a choice")


def values(algorithm: Any) -> None:
    """Types and ranges hold, and can be read: recipes check them before anything runs."""
    try:
        check_values(algorithm)
    except UserError as error:
        raise Fault(str(error).removeprefix(f"{type(algorithm).__name__}: ")) from None
    except Exception as error:
        raise Fault(f"the types of its parameters cannot be read: {said(error)}") from None


def eta(algorithm: Any) -> None:
    """A field `eta` that is a number: schedules replace it, iteration by iteration."""
    if "eta" not in {f.name for f in fields(algorithm) if f.init}:
        raise Fault("there is no parameter `eta`, the step size that schedules set; write `eta: float = 0.01`")
    if isinstance(algorithm.eta, bool) or not isinstance(algorithm.eta, Real):
        raise Fault(f"eta must be a number, not {algorithm.eta!r}")


def constructor(algorithm: Any) -> None:
    """It stores what it is given, whatever that is, and does nothing else: `replace` and checkpoints rely on it."""
    kind, way_out = type(algorithm), "check values by types such as Momentum, compute in a property or in `bind`"
    given = {f.name: getattr(algorithm, f.name) for f in fields(algorithm) if f.init}
    for name in given:
        anything = object()
        try:
            made = kind(**{**given, name: anything})
        except Exception as error:
            raise Fault(f"the constructor looks at {name} ({said(error)}) where it is to store it; {way_out}") from None
        if getattr(made, name) is not anything:
            raise Fault(f"the constructor changes {name} where it is to store it; {way_out}")
        if extra := sorted(set(getattr(made, "__dict__", ())) - {f.name for f in fields(kind)}):
            raise Fault(f"the constructor also sets {extra[0]}, which is no parameter; {way_out}")


def round_trip(algorithm: Any) -> None:
    """Equal to its copy by pickle and by `dataclasses.replace`: algorithms travel to processes and into sweeps."""
    for way in ("pickle", "dataclasses.replace"):
        try:
            copy = pickle.loads(pickle.dumps(algorithm)) if way == "pickle" else replace(algorithm)  # noqa: S301 - just written
            equal = bool(copy == algorithm)
        except Exception as error:
            cause = "; define the class at the top of a module" if "local object" in str(error) else ""
            raise Fault(f"it does not survive {way}: {said(error)}{cause}") from None
        if not equal:
            raise Fault(f"its copy by {way} is not equal to it; leave `eq` to the dataclass, and the state to records")


def tiers(algorithm: Any) -> None:
    """None, for trees of any depth, or a whole number of at least 2."""
    wanted = algorithm.tiers
    if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 2):
        raise Fault(f"tiers must be None or a whole number of at least 2, not {wanted!r}")
