"""What a check has to say, and what a hook raised, in words."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from typing import Any

from hiermo.core.errors import Diverged


class Fault(Exception):  # noqa: N818 - what is wrong with an algorithm, not with this package
    """One sentence: what is wrong, and the usual cause."""


@contextmanager
def naming(hook: str) -> Iterator[None]:
    """An error in here is a sentence that names the hook."""
    try:
        yield
    except (Fault, Diverged):
        raise
    except Exception as error:
        raise Fault(f"`{hook}` raised {said(error)}{_cause(error)}") from error


def said(error: BaseException) -> str:
    """The error's own text, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


def shown(thing: Any) -> str:
    """What a hook returned instead of what it should."""
    if thing is None:
        return "nothing (is a `return` missing?)"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _cause(error: BaseException) -> str:
    if isinstance(error, FrozenInstanceError):
        return "; an algorithm keeps nothing on itself: what changes in a run belongs into a record"
    if isinstance(error, ValueError) and "read-only" in str(error):
        return "; it changes an array that it was handed: write `x = w.x - d`, not `x = w.x; x -= d`"
    return ""
