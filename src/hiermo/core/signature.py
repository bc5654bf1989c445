"""What somebody's function or class takes, for those who call it with the keys of a recipe."""

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Any

from hiermo.core.parameter import suggestion

BY_KEYWORD = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def parameters(target: Callable[..., Any]) -> Mapping[str, Parameter]:
    """By name; of compiled code, which does not tell, anything by keyword."""
    try:
        return signature(target).parameters
    except (TypeError, ValueError):
        return {"any": Parameter("any", Parameter.VAR_KEYWORD)}


def call_faults(
    taken: Mapping[str, Parameter], name: str, arguments: Iterable[str], noun: str, filled: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """(argument, what is wrong) with a call of `name`: unknown ones, and missing ones that are not `filled` in."""
    given, known = list(arguments), [key for key, each in taken.items() if each.kind in BY_KEYWORD]
    takes_all = any(each.kind is Parameter.VAR_KEYWORD for each in taken.values())
    unknown = [key for key in given if key not in known and not takes_all]
    missing = [key for key in known if taken[key].default is Parameter.empty and key not in (*given, *filled)]
    return [
        *((key, f"is not {noun} of {name}{suggestion(key, known)}") for key in unknown),
        *((key, f"is missing: {name} needs it") for key in missing),
    ]
