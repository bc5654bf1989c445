"""Checks of what hooks return and leave alone, in small runs."""

from functools import cached_property
import pickle
from typing import Any

import numpy as np

from hiermo.checking.case import both_engines, cases
from hiermo.checking.compare import all_bits
from hiermo.checking.fault import Fault
from hiermo.checking.plans import same_plan
from hiermo.checking.watched import Watched
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import Diverged
from hiermo.engine.state import to_arrays


def hooks(algorithm: Algorithm) -> None:
    """They run in both engines, and return records of the type and shapes of their tier."""
    for case, engine in both_engines(algorithm):
        try:
            case.states(algorithm, engine)
        except Fault as fault:
            raise Fault(f"{fault} (engine {engine!r}, {case})") from None
        except Diverged:
            pass  # for `finite` to say


def finite(algorithm: Algorithm) -> None:
    """No number is infinite or undefined on well-conditioned losses (curvatures from 0.5 to 1)."""
    for case, engine in both_engines(algorithm):
        try:
            for state in case.run(algorithm, engine):
                for name, value in to_arrays(state)[0].items():
                    if not np.isfinite(value).all():
                        raise Fault(
                            f"{name} is not finite at iteration {state.t}; the usual cause is a division by zero"
                        )
        except Diverged as error:
            raise Fault(f"{error}; the losses here have curvatures from 0.5 to 1") from None


def attributes(algorithm: Algorithm) -> None:
    """Nothing on the object or its classes changes in a run: what changes is in records, which checkpoints hold."""
    for case in cases(algorithm):
        before = _attributes(algorithm)
        bound = Watched(algorithm).bind(case.setting())
        bound_before = _attributes(bound.inner)
        case.states(bound)
        for then, now in ((before, _attributes(algorithm)), (bound_before, _attributes(bound.inner))):
            if changed := sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name)):
                raise Fault(f"{changed[0]} of the object changes in a run; what changes belongs into a record")


def in_place(algorithm: Algorithm) -> None:
    """No array that a hook is handed is written to (all are read-only here): others hold the same array."""
    for case, engine in both_engines(algorithm):
        case.states(Watched(algorithm, locked=True), engine)


def dtype(algorithm: Algorithm) -> None:
    """A model in float32 stays in float32: no rule widens it."""
    for case, engine in both_engines(algorithm):
        for state in case.states(Watched(algorithm, keeps_dtype=True), engine, dtype=np.float32):
            for name, value in to_arrays(state)[0].items():
                if value.dtype != np.float32:
                    raise Fault(
                        f"{name} is in {value.dtype} for a model in float32; `init` must make it from x, as in 0 * x"
                    )


def repeatable(algorithm: Algorithm) -> None:
    """The same run twice gives the same events and the same bits."""
    for case in cases(algorithm):
        if not same_plan(algorithm, case.setting()):
            raise Fault(
                f"the plan on {case} is another when asked for again; draw from Random(f'{{setting.seed}} ...')"
            )
        if where := all_bits(case.states(algorithm), case.states(algorithm)):
            raise Fault(
                f"a second run on {case} gives other numbers: {where}; random numbers without a seed of their own, or "
                "state outside of records"
            )


def _attributes(algorithm: Any) -> dict[str, Any]:
    """Name -> its bytes, for the object and its own classes; what cannot be pickled is not looked at."""
    found: dict[str, Any] = {}
    kinds = [kind for kind in type(algorithm).__mro__ if issubclass(kind, Algorithm) and kind is not Algorithm]
    for owner in reversed([algorithm, *kinds]):
        for name, value in getattr(owner, "__dict__", {}).items():
            if name.startswith("__") or isinstance(getattr(type(algorithm), name, None), cached_property):
                continue
            try:
                found[name] = pickle.dumps(value)
            except Exception:
                continue
    return found
