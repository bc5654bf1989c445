"""A data set that can be fetched or imported: its source, and what that says of its files."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

from hiermo.core.errors import UserError
from hiermo.core.parameter import faults
from hiermo.data.download import Download
from hiermo.data.sources import SOURCES


@dataclass(frozen=True, kw_only=True)
class Fetchable:
    """What a source declares: `folder` below the data directory, the files on the web, and what must be there then."""

    name: str
    folder: str
    downloads: tuple[Download, ...]
    contents: Mapping[str, str]
    source: Any

    @property
    def known(self) -> dict[str, str]:
        """Path below the folder -> checksum, of every file that can be judged by itself."""
        plain = {each.name: each.checksum for each in self.downloads if not each.archive}
        return {**plain, **self.contents}


def fetchable(name: str, search: tuple[Path, ...] = ()) -> Fetchable:
    """The data set of that name (or `module:Class`); one that has nothing to fetch is refused, and why."""
    kind = SOURCES.get(name, search)
    if downloads := getattr(kind, "downloads", ()):
        return Fetchable(
            name=name,
            folder=kind.folder,
            downloads=tuple(downloads),
            contents=dict(getattr(kind, "contents", {})),
            source=kind(),
        )
    needed = [f"data.{option}" for option, _ in faults(kind, {})] if is_dataclass(kind) else []
    ready = f'it is ready as it is: write data.source = "{name}" in a recipe'
    named = f"what it reads is named in the recipe itself, with {', '.join(needed)}"
    raise UserError(f"data set {name} has nothing to fetch or import: {named if needed else ready}")
