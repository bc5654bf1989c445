"""Taking over a data set that the user has on disk: found by name, verified aside, and only then put in place."""

from collections.abc import Mapping
from pathlib import Path
import shutil

from hiermo.core.errors import UserError
from hiermo.data.download import Download
from hiermo.data.obtain.fetchable import Fetchable
from hiermo.data.obtain.listener import Listener
from hiermo.data.obtain.look import archives, below, by_name, official, recognised, what_lacks
from hiermo.data.obtain.place import assemble, place, wrong_contents
from hiermo.data.obtain.side import Side, locked


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
    files = sorted(below(path, side.path))
    declared = by_name(wanted, files) if wanted.contents or not archives(wanted) else None
    if declared and not declared.missing and not declared.wrong:
        _stage_files(wanted, declared.chosen, side, listener)
        return
    downloaded, wrong = official(wanted, path, files)
    if len(downloaded) == len(wanted.downloads):
        _stage_downloads(wanted, downloaded, side, listener)
    elif not (declared and (declared.chosen or declared.wrong)) and (found := recognised(wanted, path, side)):
        _stage_folder(wanted, *found, side, listener)
    else:
        raise _refusal(wanted, what_lacks(wanted, path, declared, wrong))


def _stage_files(wanted: Fetchable, chosen: Mapping[str, Path], side: Side, listener: Listener) -> None:
    copied, total = 0, sum(file.stat().st_size for file in chosen.values())
    for name, file in chosen.items():
        target = side.staged / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        copied += target.stat().st_size
        listener.progress("copying", wanted.name, copied, total)
    if why := wrong_contents(wanted, side):  # of the copies
        raise _refusal(wanted, why)
    if chosen.keys() != wanted.known.keys():
        _read_once(wanted, side, {side.staged / name: file for name, file in chosen.items()}, listener)


def _stage_downloads(wanted: Fetchable, downloaded: Mapping[Download, Path], side: Side, listener: Listener) -> None:
    try:
        assemble(downloaded, side.staged, listener)
    except UserError as error:
        raise _refusal(wanted, str(error)) from error
    if why := wrong_contents(wanted, side):
        raise _refusal(wanted, f"in {', '.join(map(str, downloaded.values()))}: {why}")


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
