"""Arrays that are slow to decode: kept as files after the first time, and mapped into memory from then on."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from hashlib import sha256
import json
import os
from pathlib import Path
import re
import shutil
from typing import Any

from filelock import FileLock, Timeout
import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from hiermo.core.errors import UserError
from hiermo.core.files import sync_folder

Arrays = dict[str, NDArray[Any]]
Progress = Callable[[int, int, str], object]  # done, of how many, what

FORMAT = 1  # of these files and of what the sources put into them: with another number all is decoded again
INDEX = "index.json"
KEY = 16  # digits of the fingerprint that are in a folder's name

progress: ContextVar[Progress] = ContextVar("progress", default=lambda done, total, what: None)


def decoded(directory: Path, name: str, sources: Sequence[str | Path], make: Callable[[], Arrays]) -> Arrays:
    """What `make` returns; from the second time on mapped from files, as long as the `sources` stay as they are.

    The files lie in `decoded/` of the data directory, or in the user's cache where that cannot be written. Whoever
    writes to the arrays, as torch wants to be able to, does not change the files.
    """
    fingerprint = _fingerprint(directory, name, sources)
    places = [home / f"{name}-{fingerprint[:KEY]}" for home in _homes(directory)]
    for place in places:
        if found := _mapped(place, fingerprint):
            return found
    for place in places:
        if lock := _locked(place.parent, name):
            break
    else:
        return make()
    try:
        if found := _mapped(place, fingerprint):  # another process was faster
            return found
        made = make()
        if _fingerprint(directory, name, sources) != fingerprint:
            raise UserError(
                f"data set {name}: its files were changed while they were read; try again when that is over"
            )
        return (_mapped(place, fingerprint) if _stored(place, fingerprint, made) else None) or made
    finally:
        lock.release()


def _fingerprint(directory: Path, name: str, sources: Sequence[str | Path]) -> str:
    """Of the names, sizes and times of the files: to read them would take as long as to decode them."""
    files = sorted(os.fspath(source) for source in sources)
    try:
        facts = [os.stat(file) for file in files]  # noqa: PTH116 - a hundred thousand paths would take a second
    except OSError as error:
        raise UserError(f"data set {name}: {error.filename} cannot be read: {error.strerror}") from error
    names = "\0".join(file.removeprefix(f"{directory}{os.sep}") for file in files)
    numbers = np.array([(fact.st_size, fact.st_mtime_ns) for fact in facts], "<i8")
    return sha256(os.fsencode(f"{FORMAT}\0{names}\0\0") + numbers.tobytes()).hexdigest()


def _homes(directory: Path) -> list[Path]:
    """Where to look, and where to write; in the user's cache, each data directory has a folder of its own."""
    own = sha256(os.fsencode(directory.resolve())).hexdigest()[:KEY]
    return [directory / "decoded", user_cache_path("hiermo") / "decoded" / own]


def _locked(home: Path, name: str) -> FileLock | None:
    """A lock, taken, that keeps others from decoding the same; None where nothing can be written."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = FileLock(home / f".{name}.lock")
        while not lock.is_locked:
            try:
                lock.acquire(timeout=1)
            except Timeout:
                progress.get()(0, 1, f"waiting for another process that decodes {name}")
    except (OSError, NotImplementedError):  # the latter: a file system that has no locks
        return None
    return lock


def _mapped(place: Path, fingerprint: str) -> Arrays | None:
    """The arrays in a folder, or None if anything about it is not as it was written."""
    try:
        index = json.loads((place / INDEX).read_text(encoding="utf-8"))
        if index["fingerprint"] != fingerprint:
            return None
        return {name: _array(place / f"{name}.npy", **facts) for name, facts in index["arrays"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _array(file: Path, size: int, kind: str, shape: list[int]) -> NDArray[Any]:
    if file.stat().st_size != size:
        raise ValueError(f"{file} has not {size} bytes")
    array = np.load(file, mmap_mode="c", allow_pickle=False)
    if array.dtype.str != kind or list(array.shape) != shape:
        raise ValueError(f"{file} does not hold {shape} of {kind}")
    return np.asarray(array)  # a plain array over the map: the subclass makes every slice slower


def _stored(place: Path, fingerprint: str, arrays: Arrays) -> bool:
    """Puts the arrays where they were not, and removes what was made of earlier files; False if the disk refuses."""
    side = place.with_name(f".{place.name}.part")
    shutil.rmtree(side, ignore_errors=True)  # left by a kill
    try:
        _write(side, fingerprint, arrays)
        shutil.rmtree(place, ignore_errors=True)  # damaged, or it would have been used
        side.rename(place)
        sync_folder(place.parent)
    except OSError:
        return False
    finally:
        shutil.rmtree(side, ignore_errors=True)
    name = place.name[: -KEY - 1]
    for other in place.parent.iterdir():
        if other != place and re.fullmatch(rf"\.?{re.escape(name)}-[0-9a-f]{{{KEY}}}(\.part)?", other.name):
            shutil.rmtree(other, ignore_errors=True)
    return True


def _write(folder: Path, fingerprint: str, arrays: Arrays) -> None:
    """A folder whose content is on the disk when this returns."""
    folder.mkdir()
    index: dict[str, Any] = {}
    for done, (name, array) in enumerate(arrays.items()):
        progress.get()(done, len(arrays), f"storing decoded arrays in {folder.parent}")
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            index[name] = {"size": file.tell(), "kind": array.dtype.str, "shape": array.shape}
            file.flush()
            os.fsync(file.fileno())
    with (folder / INDEX).open("w", encoding="utf-8") as text:
        json.dump({"fingerprint": fingerprint, "arrays": index}, text)
        text.flush()
        os.fsync(text.fileno())
    sync_folder(folder)
