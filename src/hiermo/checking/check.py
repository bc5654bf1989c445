"""`hiermo.check_algorithm`: everything that an algorithm must keep to."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple
import warnings

from hiermo.checking import form, hooks, plans, records, relations
from hiermo.checking.fault import Fault, said
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError


class Check(NamedTuple):
    name: str
    of: Callable[[Any], None]  # raises Fault; its docstring says what is checked and why
    needed: bool = False  # by those after it


FORM = (
    Check("dataclass", form.dataclass, needed=True),
    Check("parameters", form.parameters),
    Check("values", form.values, needed=True),
    Check("eta", form.eta, needed=True),
    Check("constructor", form.constructor, needed=True),
    Check("round trip", form.round_trip),
    Check("tiers", form.tiers, needed=True),
)
RUNS = (
    Check("init", records.init, needed=True),
    Check("messages", records.messages, needed=True),
    Check("plan", plans.plan, needed=True),
    Check("hooks", hooks.hooks, needed=True),
    Check("finite", hooks.finite, needed=True),
    Check("attributes", hooks.attributes),
    Check("dtype", hooks.dtype),
    Check("in place", hooks.in_place, needed=True),
    Check("repeatable", hooks.repeatable, needed=True),
    Check("horizon", plans.horizon),
    Check("engines", relations.engines),
    Check("resume", relations.resume),
    Check("siblings", relations.siblings),
    Check("copies", relations.copies),
)
CHECKS = FORM + RUNS
ETA = 0.05  # of the runs: at a tiny one, (x - y) / eta would be mostly rounding, and what is wrong would not show
SYNCHRONOUS = ("siblings", "copies")  # a plan of one's own may well depend on who comes first


def check_algorithm(algorithm: Any) -> None:
    """Refuses an algorithm, or a class of them with its defaults, that breaks the contract, and says all that is wrong.

    It is run on small quadratics, in both engines, on trees of 2, 3 and 4 tiers where it takes them, with a benign eta.

    >>> import hiermo
    >>> hiermo.check_algorithm(hiermo.HierMo(gamma=0.9))
    """
    name = (algorithm if isinstance(algorithm, type) else type(algorithm)).__name__
    if wrong := [f"{name}: {check}: {message}" for check, message in checks(algorithm) if message is not None]:
        raise UserError("\n".join(wrong))


def checks(algorithm: Any) -> Iterator[tuple[str, str | None]]:
    """(check, what is wrong or None), as they are done; those that need what failed are left out."""
    if isinstance(algorithm, type) and issubclass(algorithm, Algorithm):
        try:
            algorithm = algorithm()
        except Exception as error:
            yield "parameters", f"it cannot be constructed with its defaults: {said(error)} {_LEFT_OUT}"
            return
    for check in CHECKS:
        if check.name in SYNCHRONOUS and plans.own_plan(algorithm):
            continue
        message = _outcome(check, algorithm if check in FORM else replace(algorithm, eta=ETA))
        stop = check.needed and message is not None
        yield check.name, f"{message} {_LEFT_OUT}" if stop else message
        if stop:
            return


_LEFT_OUT = "(the checks after this one need it, and were left out)"


def _outcome(check: Check, algorithm: Any) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a `bind` that warns, of numbers in rules that guard them
        try:
            check.of(algorithm)
        except Fault as fault:
            return str(fault)
        except Exception as error:
            return f"it cannot be checked: {said(error)}"
    return None
