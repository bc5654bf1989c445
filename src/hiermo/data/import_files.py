"""Taking over a data set that the user has on disk: found by name, verified aside, and only then put in place."""

from collections.abc import Iterator, Mapping
import os
from pathlib import Path, PurePosixPath
import shutil
import tempfile
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hiermo.core.errors import UserError
from hiermo.data.checksum import fault
from hiermo.data.download import Download
from hiermo.data.fetchable import Fetchable
from hiermo.data.listener import Listener
from hiermo.data.place import Side, assemble, locked, place, several, wrong_contents

LEVELS = 2  # of folders below PATH in which an unpacked set without checksums is looked for


def import_files(wanted: Fetchable, path: Path, directory: Path, listener: Listener | None = None) -> None:
    """Copies the set from `path`, a folder that holds it or its official archive; what is wrong is named."""
    if not path.exists():
        raise UserError(f"data set {wanted.name}: {path} does not exist; name the folder or the archive that holds it")
    path = path if path.name not in ("", "..") else path.resolve()
    listener = listener or Listener()
    with locked(wanted, directory, listener) as side:
        try:
            _stage(wanted, path, side, listener)
            place(side)
        finally:
            side.tidy()


def _stage(wanted: Fetchable, path: Path, side: Side, listener: Listener) -> None:
    """Tries the declared files one by one, then what is on the web, then a folder that the reader knows its way in."""
    files = sorted(_below(path, side.path))
    by_name = _by_name(wanted, files) if wanted.contents or not _archives(wanted) else None
    if by_name and not by_name.missing and not by_name.wrong:
        _stage_files(wanted, by_name.chosen, side, listener)
        return
    official, wrong = _official(wanted, path, files)
    if len(official) == len(wanted.downloads):
        _stage_downloads(wanted, official, side, listener)
    elif (by_name is None or not by_name.chosen and not by_name.wrong) and (found := _recognised(wanted, path, side)):
        _stage_folder(wanted, *found, side, listener)
    else:
        raise _refusal(wanted, _why(wanted, path, by_name, wrong))


def _below(path: Path, skipped: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if Path(folder, name).resolve() != skipped]
        yield from (file for name in names if (file := Path(folder, name)).is_file())


def _official(wanted: Fetchable, path: Path, files: list[Path]) -> tuple[dict[Download, Path], list[str]]:
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


def _by_name(wanted: Fetchable, files: list[Path]) -> ByName:
    """Looks for each declared file by its name, wherever it lies; an unpacked one will do instead of a .gz."""
    by_name = ByName({}, [], [])
    for name, checksum in wanted.known.items():
        candidates = {file: fault(file, checksum) for file in _named(name, files)}
        right = [file for file, why in candidates.items() if not why]
        plain = _named(name.removesuffix(".gz"), files) if name.endswith(".gz") else []
        if right:
            by_name.chosen[name] = right[0]
        elif plain:
            by_name.chosen[name.removesuffix(".gz")] = plain[0]
        elif candidates:
            by_name.wrong.append(next(f"{file} {why}" for file, why in candidates.items()))
        else:
            by_name.missing.append(name)
    return by_name


def _why(wanted: Fetchable, path: Path, by_name: ByName | None, wrong: list[str]) -> str:
    """Of all that was not found, what the user most likely meant."""
    archives = " and ".join(_archives(wanted))
    if by_name is None:
        return several(wrong) or f"neither {archives} nor the unpacked set is in {path}"
    if wrong and not by_name.chosen and not by_name.wrong:
        return several(wrong)
    absent = [f"not in {path}: {several(by_name.missing)}"] if by_name.missing else []
    return "; ".join([several(each) for each in (by_name.wrong, absent) if each]) + (
        f" (nor {archives} whole)" if archives and not by_name.wrong else ""
    )


def _archives(wanted: Fetchable) -> list[str]:
    return [each.name for each in wanted.downloads if each.archive]


def _stage_files(wanted: Fetchable, chosen: Mapping[str, Path], side: Side, listener: Listener) -> None:
    for name, file in chosen.items():
        target = side.staged / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        listener.progress("copying", name, target.stat().st_size, target.stat().st_size)
    if why := wrong_contents(wanted, side):  # of the copies
        raise _refusal(wanted, why)
    if chosen.keys() != wanted.known.keys():
        _read_once(wanted, side, {side.staged / name: file for name, file in chosen.items()}, listener)


def _stage_downloads(wanted: Fetchable, official: Mapping[Download, Path], side: Side, listener: Listener) -> None:
    try:
        assemble(official, side.staged, listener)
    except UserError as error:
        raise _refusal(wanted, str(error)) from error
    if why := wrong_contents(wanted, side):
        raise _refusal(wanted, f"in {', '.join(map(str, official.values()))}: {why}")


def _named(name: str, files: list[Path]) -> list[Path]:
    """Files of that name, those first whose folders are called alike too."""
    parts = PurePosixPath(name).parts[::-1]

    def alike(file: Path) -> int:
        same = [ours == theirs for ours, theirs in zip(parts, file.parts[::-1], strict=False)]
        return (*same, False).index(False)

    return sorted((file for file in files if file.name == parts[0]), key=lambda file: (-alike(file), len(file.parts)))


def _stage_folder(wanted: Fetchable, folder: Path, below: str, side: Side, listener: Listener) -> None:
    """A folder in which the source finds its set, copied and then read whole: nothing else can judge it."""
    copied = 0

    def copy(file: str, target: str) -> None:
        nonlocal copied
        shutil.copyfile(file, target)
        copied += Path(target).stat().st_size
        listener.progress("copying", folder.name, copied, None)

    try:
        shutil.copytree(folder, side.staged / below, copy_function=copy)
    except shutil.Error as error:
        file, _, why = error.args[0][0]
        raise _refusal(wanted, f"{file} cannot be copied: {why}") from error
    listener.note(f"reading {wanted.name} once, for it has no checksums in this form")
    _read_once(wanted, side, {side.staged / below: folder}, listener)


def _recognised(wanted: Fetchable, path: Path, side: Side) -> tuple[Path, str] | None:
    """A folder at or below `path`, and where in the set's folder it belongs; the narrowest: others may lie beside."""
    folders = level = [path] if path.is_dir() else []
    for _ in range(LEVELS):
        level = [each for folder in level for each in sorted(folder.iterdir()) if each.is_dir()]
        folders = folders + [each for each in level if each.resolve() != side.path]
    with tempfile.TemporaryDirectory(dir=side.path) as trial:
        for inside in (True, False):
            for folder in folders:
                below = folder.name if inside else ""
                link = Path(trial, wanted.folder, below)
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(folder.resolve(), target_is_directory=True)
                if wanted.source.find(Path(trial)):
                    return folder, below
                link.unlink()
            shutil.rmtree(Path(trial, wanted.folder))
    return None


def _read_once(wanted: Fetchable, side: Side, origins: Mapping[Path, Path], listener: Listener) -> None:
    """Lets the reader judge what is staged; its words are about the files that the user knows."""
    try:
        dataset = wanted.source.load(side.path)
    except UserError as error:
        why = str(error).removeprefix(f"data set {wanted.name}: ").partition("; ")[0]
        for staged in sorted(origins, key=lambda file: -len(str(file))):
            why = why.replace(str(staged), str(origins[staged]))
        raise _refusal(wanted, why) from error
    expected = getattr(wanted.source, "samples", None)
    if expected and len(dataset.train_y) != expected:
        listener.note(f"{wanted.name} has {len(dataset.train_y)} training samples here; the whole set has {expected}")


def _refusal(wanted: Fetchable, why: str) -> UserError:
    return UserError(f"data set {wanted.name}: {why}; nothing was imported: get the right files and try again")
