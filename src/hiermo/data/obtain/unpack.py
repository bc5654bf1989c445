"""Unpacking an archive from the web: nothing outside the folder, no links, no bombs."""

from collections.abc import Iterator
from errno import EINVAL
import lzma
from pathlib import Path, PurePosixPath, PureWindowsPath
import shutil
import stat
import tarfile
import zipfile
import zlib

from hiermo.core.errors import UserError
from hiermo.data.obtain.listener import Listener

SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar")
MOST_BYTES = 8 * 1024**3  # ten times the largest set that hiermo knows
MOST_FILES = 1_000_000
DEPTH = 2  # an archive may lie in another, as that of UCI-HAR does, but not for ever
CLUTTER = "__MACOSX"

CORRUPT = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, RuntimeError, ValueError)


def unpack(archive: Path, folder: Path, listener: Listener | None = None, most_bytes: int = MOST_BYTES) -> None:
    """Unpacks into `folder`, also the archives inside, which are not kept; refuses what a data set would not hold."""
    _unpack(archive, folder, Bound(archive.name, most_bytes), listener or Listener(), DEPTH)


class Bound:
    """How much may still come out of an archive and of those inside it."""

    def __init__(self, name: str, most_bytes: int) -> None:
        self.name, self.most, self.bytes, self.files = name, most_bytes, 0, 0

    def add(self, size: int) -> None:
        self.bytes += size
        self.files += 1
        if self.bytes > self.most or self.files > MOST_FILES:
            raise UserError(
                f"{self.name} is refused: it would unpack to more than {self.most} bytes or {MOST_FILES} files, "
                "which no data set of hiermo has"
            )


def _unpack(archive: Path, folder: Path, bound: Bound, listener: Listener, depth: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    members = _zip if zipfile.is_zipfile(archive) else _tar
    inner = []
    try:
        for name in members(archive, folder, bound, listener):
            if name.endswith(SUFFIXES):
                inner.append(folder / name)
    except (*CORRUPT, OSError) as error:
        if isinstance(error, UserError) or getattr(error, "errno", None) not in (None, EINVAL):  # that is the disk's
            raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{archive.name} is cut short, damaged, or neither .zip nor .tar.gz: {why}") from error
    for each in inner:
        if depth == 1:
            raise UserError(f"{archive.name} is refused: it holds {each.name}, archives in archives without end")
        _unpack(each, each.parent, bound, listener, depth - 1)
        each.unlink()


def _zip(archive: Path, folder: Path, bound: Bound, listener: Listener) -> Iterator[str]:
    with zipfile.ZipFile(archive) as packed:
        members = [each for each in packed.infolist() if _wanted(each.filename)]
        done, total = 0, sum(each.file_size for each in members)
        for each in members:
            kind = stat.S_IFMT(each.external_attr >> 16)
            _check(archive, each.filename, plain=kind in (0, stat.S_IFREG, stat.S_IFDIR))
            bound.add(each.file_size)
            target = folder / each.filename
            if each.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(each) as content, target.open("wb") as file:  # never more than it declares, or BadZipFile
                shutil.copyfileobj(content, file)
            done += each.file_size
            listener.progress("unpacking", archive.name, done, total)
            yield each.filename


def _tar(archive: Path, folder: Path, bound: Bound, listener: Listener) -> Iterator[str]:
    total = archive.stat().st_size
    with archive.open("rb") as raw, tarfile.open(fileobj=raw) as packed:
        for each in packed:
            if not _wanted(each.name):
                continue
            _check(archive, each.name, plain=each.isreg() or each.isdir())
            bound.add(each.size)
            target = folder / each.name
            if not (content := packed.extractfile(each)):  # a folder
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with content, target.open("wb") as file:
                shutil.copyfileobj(content, file)
            listener.progress("unpacking", archive.name, raw.tell(), total)
            yield each.name
        while packed.fileobj and packed.fileobj.read(2**20):  # gzip checks itself at its very end
            pass


def _wanted(name: str) -> bool:
    return PurePosixPath(name).parts[:1] != (CLUTTER,)


def _check(archive: Path, name: str, plain: bool) -> None:
    """Refuses names that lead out of the folder, on any system, and links and devices."""
    parts = PurePosixPath(name).parts
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor or "\\" in name or ".." in parts:
        raise UserError(f"{archive.name} is refused: its entry '{name}' would lie outside the folder it is unpacked in")
    if not plain:
        raise UserError(f"{archive.name} is refused: its entry '{name}' is neither a file nor a folder")
