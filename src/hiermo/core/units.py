"""Numbers for people."""

from math import inf
from re import fullmatch

LENGTHS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}  # in seconds


def human(size_bytes: float) -> str:
    """A number of bytes with its unit.

    >>> human(1536)
    '1.5 KiB'
    """
    unit = "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size_bytes >= 1024:
            size_bytes, unit = size_bytes / 1024, larger
    return f"{size_bytes:.0f} {unit}" if size_bytes >= 100 else f"{size_bytes:.3g} {unit}"


def duration(seconds: float) -> str:
    """A length of time, as exactly as anyone wants to know it beforehand.

    >>> duration(0.4), duration(59), duration(200), duration(9000), duration(200_000)
    ('1 s', '59 s', '3 min', '2.5 h', '2.3 days')
    """
    for length, unit, form in ((86400, "days", ".1f"), (3600, "h", ".1f"), (60, "min", ".0f")):
        if seconds >= 1.5 * length:
            return f"{seconds / length:{form}} {unit}"
    return f"{max(1, seconds):.0f} s"


def three_digits(value: float) -> str:
    """A number with three digits that count, and never fewer than stand before the point.

    >>> three_digits(8756.7), three_digits(59.83), three_digits(1.9)
    ('8757', '59.8', '1.90')
    """
    return f"{value:.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"


def seconds_of(text: str) -> float | None:
    """A length of time as people write it; None where it is none.

    >>> seconds_of("400s"), seconds_of("1.5 h"), seconds_of("90"), seconds_of("soon")
    (400.0, 5400.0, 90.0, None)
    """
    found = fullmatch(r"\s*([0-9.eE+-]+)\s*([a-z]*)\s*", text)
    if found is None or found[2] not in LENGTHS:
        return None
    try:
        seconds = float(found[1]) * LENGTHS[found[2]]
    except ValueError:
        return None
    return seconds if 0 < seconds < inf else None
