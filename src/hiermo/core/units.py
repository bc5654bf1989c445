"""Numbers for people."""


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
