"""The side folder in which a data set is made whole, for one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
import shutil

from filelock import FileLock, Timeout

from hiermo.core.errors import UserError
from hiermo.data.obtain.fetchable import Fetchable
from hiermo.data.obtain.listener import Listener


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
            side.tidy()  # after a kill
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
