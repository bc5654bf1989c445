"""Which folders of a store hold something, by their names alone: nothing in them is read."""

from collections.abc import Iterable, Iterator
import os
from pathlib import Path
from typing import NamedTuple

from hiermo.experiment.store import DEEP, NOT_OURS, OURS


class Folder(NamedTuple):
    """A run, a tuning, or what cannot be shown."""

    path: Path
    kind: str  # "run", "tuning", or why it is neither


def folders(paths: Iterable[Path]) -> Iterator[Folder]:
    """At or below the paths, each once, in the order of their names."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        yield from _at(path, DEEP, seen)


def _at(path: Path, deep: int, seen: set[tuple[int, int]]) -> Iterator[Folder]:
    try:
        there = path.stat()
        if (there.st_dev, there.st_ino) in seen:  # by two paths, or by a link that leads back
            return
        seen.add((there.st_dev, there.st_ino))
        with os.scandir(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        inside = [entry.name for entry in found if not entry.name.startswith(".") and _is_dir(entry)]
    except OSError as error:
        yield Folder(path, f"cannot be read: {error.strerror or error}")
        return
    names = {entry.name for entry in found}
    if "recipe.toml" in names:
        yield Folder(path, "run")
        return
    if "tuning.json" in names:
        yield Folder(path, "tuning")
    elif not inside and names.isdisjoint(OURS) and deep < DEEP:
        yield Folder(path, "not a run directory: it has no recipe.toml" if names else "an empty folder")
    for name in inside if deep else ():
        if name not in NOT_OURS:
            yield from _at(path / name, deep - 1, seen)


def _is_dir(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links in a circle
        return False
