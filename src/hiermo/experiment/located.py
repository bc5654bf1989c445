"""Paths in a recipe: relative to its own folder, or else to where the command is run."""

from collections.abc import Sequence
from glob import escape, glob
from pathlib import Path
from typing import Any

Folders = Sequence[Path]


def located(value: Any, folders: Folders) -> Any:
    """The absolute path, if a file, a folder or a match of `*` is there in one of the folders; else the text itself.

    What is nowhere is left to whoever reads it: it may be the name of a set on a hub, and a run directory must stay
    readable when its data has moved.
    """
    if not isinstance(value, str) or not folders:
        return value
    given = Path(value).expanduser()
    for folder in folders:
        place = folder / given
        pattern = escape(str(place)).replace("[*]", "*")  # nothing but the star is special
        if place.exists() or glob(pattern):  # noqa: PTH207 - Path.glob takes no absolute patterns
            return str(place)
    return value
