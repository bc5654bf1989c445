"""The side folder in which a data set is made whole, and the step from there into its place."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import shutil

from filelock import FileLock, Timeout

from hiermo.core.errors import UserError
from hiermo.data.checksum import fault
from hiermo.data.download import Download
from hiermo.data.fetchable import Fetchable
from hiermo.data.listener import Listener
from hiermo.data.unpack import unpack

SHOWN = 3  # wrong files that a sentence names


class Side:
    """FOLDER.part beside a set's folder: downloads/ is kept for the next attempt, FOLDER/ is made anew by each.

    To a reader `path` is a data directory that holds nothing but the staged set.
    """

    def __init__(self, wanted: Fetchable, directory: Path) -> None:
        self.folder = (directory / wanted.folder).resolve()  # beside what a link points to: renames stay on one disk
        self.path = self.folder.with_name(f"{self.folder.name}.part")
        self.downloads = self.path / "downloads"
        self.staged = self.path / wanted.folder

    def clear(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def tidy(self) -> None:
        """Leaves nothing but what the next attempt can use."""
        with suppress(OSError):  # it is gone, or it is not empty
            for folder in self.path.iterdir():
                if folder != self.downloads:
                    shutil.rmtree(folder, ignore_errors=True)
            self.downloads.rmdir()
            self.path.rmdir()


@contextmanager
def locked(wanted: Fetchable, directory: Path, listener: Listener) -> Iterator[Side]:
    """The side folder, for one process at a time; says what the disk has against it."""
    side = Side(wanted, directory)
    try:
        side.folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(side.folder.with_name(f".{side.folder.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            listener.note(f"another process is fetching or importing {wanted.name}; waiting for it")
            lock.acquire()
        try:
            side.downloads.mkdir(parents=True, exist_ok=True)
            yield side
        finally:
            lock.release()
    except OSError as error:
        where = error.filename or side.path
        raise UserError(
            f"data set {wanted.name}: {where}: {error.strerror or error}; "
            "mend that, or let HIERMO_DATA name another directory"
        ) from error


def lacking(wanted: Fetchable, directory: Path) -> list[Download]:
    """What has to be fetched: files that are missing or wrong, and archives of which anything is."""
    folder = directory / wanted.folder
    others = {path for path in wanted.known if _plain(folder / path) or not (folder / path).is_file()}
    bad = {path for path in wanted.known.keys() - others if fault(folder / path, wanted.known[path])}
    if others and not _readable(wanted, directory):  # unpacked files, or the set in another form: the reader knows
        bad |= others
    files = {each.name for each in wanted.downloads if not each.archive}
    unpacked = not bad - files if wanted.contents else wanted.source.find(directory) is not None
    return [each for each in wanted.downloads if (not unpacked if each.archive else each.name in bad)]


def _readable(wanted: Fetchable, directory: Path) -> bool:
    if wanted.source.find(directory) is None:
        return False
    try:
        wanted.source.load(directory)
    except UserError:
        return False
    return True


def assemble(files: Mapping[Download, Path], staged: Path, listener: Listener) -> None:
    """The set's folder, made of the files that were fetched or found."""
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for download, file in files.items():
        if download.archive:
            unpack(file, staged, listener)
        else:
            shutil.copyfile(file, staged / download.name)


def wrong_contents(wanted: Fetchable, side: Side) -> str:
    """What is missing or wrong among the declared contents, staged or in place already."""
    found = []
    for path, checksum in wanted.contents.items():
        staged = side.staged / path
        if _plain(staged):
            continue
        file = staged if staged.is_file() else side.folder / path
        if (why := fault(file, checksum)) and not _plain(file):
            found.append(f"{path} {why}")
    return several(found)


def several(faults: list[str]) -> str:
    more = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return "; ".join(faults[:SHOWN]) + more


def place(side: Side) -> None:
    """Renames what is staged into the set's folder; what has the same name there goes, the rest stays."""
    if hasattr(os, "sync"):  # one for all files: there may be a hundred thousand
        os.sync()
    if not side.folder.exists():
        side.staged.rename(side.folder)
    else:
        replaced = side.path / "replaced"
        shutil.rmtree(replaced, ignore_errors=True)
        replaced.mkdir()
        for entry in sorted(side.staged.iterdir()):
            target = side.folder / entry.name
            if entry.is_dir() and target.exists():  # a folder cannot be renamed over another
                target.rename(replaced / entry.name)
            entry.replace(target)
            if plain := _plain(target):
                plain.unlink()  # readers would prefer it to what has just been verified
    side.clear()


def _plain(file: Path) -> Path | None:
    """The unpacked file beside or instead of a .gz."""
    plain = file.with_suffix("")
    return plain if file.suffix == ".gz" and plain.is_file() else None
