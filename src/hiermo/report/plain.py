"""What files say, as plain values that are safe to embed: a run directory may come from anyone."""

from math import isfinite
from typing import Any

TURNING = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)}
LONGEST = 300  # characters of a name that are kept


def number(value: Any) -> float | None:
    """A finite number, or None.

    >>> number(2), number("2"), number(True), number(float("nan")), number(10**400)
    (2.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def short(value: float | None, digits: int = 5) -> float | int | None:
    """Rounded to what a curve can show.

    >>> short(0.123456789), short(65176800.0), short(None)
    (0.12346, 65177000, None)
    """
    if value is None:
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def text(value: Any, longest: int = LONGEST) -> str:
    r"""Any value as a text of bounded length, in UTF-8, and with nothing that would turn the words beside it around.

    >>> text("a\u202eb"), text("abcdef", 4)
    ('a\\u202eb', 'abc…')
    """
    shown = str(value).encode("utf-8", "replace").decode("utf-8").translate(TURNING)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def listed(values: Any, most: int = 12) -> str:
    """`a, b and c`, or the first ones and how many more there are.

    >>> listed(["a", "b", "c"]), listed(range(5), most=2)
    ('a, b and c', '0, 1 and 3 more')
    """
    words = [text(each, 80) for each in values]
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def counted(n: int, what: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
