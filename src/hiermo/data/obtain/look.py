"""Looking for a data set below a folder of the user's: by name, by checksum, and by the reader's own eyes."""

from collections.abc import Iterator
from itertools import product
import os
from pathlib import Path, PurePosixPath
import tempfile
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hiermo.data.download import Download
from hiermo.data.obtain.checksum import fault
from hiermo.data.obtain.fetchable import Fetchable
from hiermo.data.obtain.place import SHOWN, several
from hiermo.data.obtain.side import Side

LEVELS = 2  # of folders below PATH in which an unpacked set without checksums is looked for


def below(path: Path, skipped: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if Path(folder, name).resolve() != skipped]
        yield from (file for name in names if (file := Path(folder, name)).is_file())


def official(wanted: Fetchable, path: Path, files: list[Path]) -> tuple[dict[Download, Path], list[str]]:
    """The files that were downloaded by other means, and what is wrong with archives that look like it."""
    found, wrong = {}, []
    for download in wanted.downloads:
        names = {download.name, *(unquote(PurePosixPath(urlsplit(url).path).name) for url in download.urls)}
        named = [file for file in files if file.name in names]
        faults = {file: fault(file, download.checksum) for file in named or files[: path.is_file()]}
        if right := [file for file, why in faults.items() if not why]:
            found[download] = right[0]
        elif download.archive:
            wrong += [f"{file} is not {download.name}: it {why}" for file, why in faults.items()]
    return found, wrong


class ByName(NamedTuple):
    """Of each declared file, which one to copy, what is wrong with those that look like it, or that there is none."""

    chosen: dict[str, Path]
    wrong: list[str]
    missing: list[str]


def by_name(wanted: Fetchable, files: list[Path]) -> ByName:
    """Looks for each declared file by its name, wherever it lies; an unpacked one will do instead of a .gz."""
    found = ByName({}, [], [])
    for name, checksum in wanted.known.items():
        candidates = {file: fault(file, checksum) for file in _named(name, files)}
        right = [file for file, why in candidates.items() if not why]
        plain = _named(name.removesuffix(".gz"), files) if name.endswith(".gz") else []
        if right:
            found.chosen[name] = right[0]
        elif plain:
            found.chosen[name.removesuffix(".gz")] = plain[0]
        elif candidates:
            found.wrong.append(next(f"{file} {why}" for file, why in candidates.items()))
        else:
            found.missing.append(name)
    return found


def what_lacks(wanted: Fetchable, path: Path, declared: ByName | None, wrong: list[str]) -> str:
    """Of all that was not found, what the user most likely meant."""
    whole = " and ".join(archives(wanted))
    if wrong and not (declared and (declared.chosen or declared.wrong)):
        return several(wrong)
    if declared is None:
        return f"neither {whole} nor the unpacked set is in {path}"
    absent = f"not in {path}: {several(declared.missing)}{f' (nor {whole})' if whole else ''}"
    return "; ".join([*declared.wrong[:SHOWN], *([absent] if declared.missing else [])])


def archives(wanted: Fetchable) -> list[str]:
    return [each.name for each in wanted.downloads if each.archive]


def _named(name: str, files: list[Path]) -> list[Path]:
    """Files of that name, those first whose folders are called alike too."""
    parts = PurePosixPath(name).parts[::-1]

    def alike(file: Path) -> int:
        same = [ours == theirs for ours, theirs in zip(parts, file.parts[::-1], strict=False)]
        return (*same, False).index(False)

    return sorted((file for file in files if file.name == parts[0]), key=lambda file: (-alike(file), len(file.parts)))


def recognised(wanted: Fetchable, path: Path, side: Side) -> tuple[Path, str] | None:
    """A folder at or below `path`, and where in the set's folder it belongs; the narrowest: others may lie beside."""
    folders = level = [path] if path.is_dir() else []
    for _ in range(LEVELS):
        level = [each for folder in level for each in sorted(folder.iterdir()) if each.is_dir()]
        folders = folders + [each for each in level if each.resolve() != side.path]
    with tempfile.TemporaryDirectory(dir=side.path) as trials:
        for k, (inside, folder) in enumerate(product((True, False), folders)):
            below = folder.name if inside else ""
            link = Path(trials, str(k), wanted.folder, below)  # a data directory that holds nothing else
            link.parent.mkdir(parents=True)
            link.symlink_to(folder.resolve(), target_is_directory=True)
            if wanted.source.find(Path(trials, str(k))):
                return folder, below
    return None
