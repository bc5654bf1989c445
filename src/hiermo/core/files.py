"""Writing so that a kill at any moment leaves either the old file or the new one, never a half."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import json
import os
from pathlib import Path
import shutil
import tempfile
from typing import Any


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Writes beside the target, makes it durable, then renames."""
    side = path.with_name(f".{path.name}.part")
    try:
        write(side)
        with side.open("rb+") as handle:
            os.fsync(handle.fileno())
        side.replace(path)
    except BaseException:
        side.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def made_aside(target: Path) -> Iterator[Path]:
    """A folder beside the target, to be filled and renamed into its place; what is left of it goes."""
    side = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    side.chmod(0o755)
    try:
        yield side
    finally:
        shutil.rmtree(side, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda side: side.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n")


def sync_folder(folder: Path) -> None:
    """Makes a rename durable; a no-op where folders cannot be opened (Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
