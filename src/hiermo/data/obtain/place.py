"""From what was fetched or found to a verified set, and the step into its place."""

from collections.abc import Mapping
import os
from pathlib import Path, PurePosixPath
import shutil

from hiermo.data.download import Download
from hiermo.data.obtain.checksum import fault
from hiermo.data.obtain.fetchable import Fetchable
from hiermo.data.obtain.listener import Listener
from hiermo.data.obtain.side import Side
from hiermo.data.obtain.unpack import unpack

SHOWN = 3  # wrong files that a sentence names
MANY = 1000  # files that are not worth syncing one by one; but all disks at once take long on a busy machine


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
        replaced = (side.staged / PurePosixPath(path).parts[0]).exists() or plain(side.staged / path)
        file = (side.staged if replaced else side.folder) / path
        if not plain(file) and (why := fault(file, checksum)):
            found.append(f"{path} {why}")
    return several(found)


def several(faults: list[str]) -> str:
    more = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return "; ".join(faults[:SHOWN]) + more


def place(side: Side) -> None:
    """Renames what is staged into the set's folder; what has the same name there goes, the rest stays."""
    _make_durable(side.staged)
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
            if other := plain(target):
                other.unlink()  # readers would prefer it to what has just been verified
    side.clear()


def _make_durable(folder: Path) -> None:
    """A rename may reach the disk before what it renames."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    if len(files) > MANY and hasattr(os, "sync"):
        os.sync()
        return
    for file in files:
        with file.open("rb+") as content:
            os.fsync(content.fileno())


def plain(file: Path) -> Path | None:
    """The unpacked file beside or instead of a .gz."""
    unpacked = file.with_suffix("")
    return unpacked if file.suffix == ".gz" and unpacked.is_file() else None
