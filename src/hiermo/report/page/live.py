"""A store that is read again and again while runs go on: files alone, and only those that have changed."""

from collections.abc import Sequence
from hashlib import sha256
import json
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from hiermo.core.errors import UserError
from hiermo.experiment.store import Found, StoredRun, Unreadable, find_runs, read_run
from hiermo.report.page.page_data import page_data
from hiermo.report.page.tunings import FoundTuning, read_tuning

WRITTEN = ("recipe.toml", "metrics.jsonl", "result.json", "failed.json", "provenance.json", "holdings.json")
TUNED = ("tuning.json", "tuned.toml")
LEAST_S = 0.8  # between two looks at the files, however many pages are open

Marks = tuple[tuple[int, int] | None, ...]  # of each file: when it was changed, and its size
Kept = tuple[Marks, StoredRun | UserError]


class Told(NamedTuple):
    """The data of the page, and a tag that changes with it."""

    tag: str
    body: bytes
    data: dict[str, Any]


class LiveStore:
    """What the page shows of some paths, as it is now."""

    def __init__(self, paths: Sequence[Path], title: str = "", until: dict[str, float] | None = None) -> None:
        for path in paths:
            if not path.is_dir():
                raise UserError(f"there is no directory {path}")
        self.paths, self.title, self.until = tuple(paths), title, until
        self.reads = 0  # of run directories, for those who want to know what this costs
        self._runs: dict[Path, Kept] = {}
        self._tunings: dict[Path, tuple[Marks, FoundTuning | None]] = {}
        self._lock, self._looked, self._told, self._seen = Lock(), 0.0, None, None

    _told: Told | None
    _seen: Any

    def told(self) -> Told:
        """Looks at the files, unless it has just done so."""
        with self._lock:
            if self._told is None or monotonic() - self._looked >= LEAST_S:
                self._look()
                self._looked = monotonic()
            assert self._told is not None
            return self._told

    def _look(self) -> None:
        before, self._runs = self._runs, {}
        try:
            found = find_runs(self.paths, lambda path: self._run(path, before.get(path)))
        except UserError as error:  # a folder that was there is gone
            found = Found([], [Unreadable(self.paths[0], str(error))])
        self._tunings = {path: self._tuning(path) for path in found.tuned}
        seen = (
            [(path, marks) for path, (marks, _) in (*self._runs.items(), *self._tunings.items())],
            [run.condition for run in found.runs],  # a process may end without writing a word
            found.unreadable,
        )
        if self._told is not None and seen == self._seen:
            return
        self._seen = seen
        kept = [tuning for _, tuning in self._tunings.values() if tuning is not None]
        data = page_data(found, kept, title=self.title, until=self.until, live=True)
        body = json.dumps(data, allow_nan=False, separators=(",", ":")).encode("utf-8")
        self._told = Told(f'"{sha256(body).hexdigest()[:20]}"', body, data)

    def _run(self, path: Path, known: Kept | None) -> StoredRun:
        """Read again where a file of it has changed."""
        marks = _marks(path, WRITTEN)
        if known is None or known[0] != marks:
            self.reads += 1
            try:
                known = marks, read_run(path)
            except UserError as error:
                known = marks, error
        self._runs[path] = known
        if isinstance(known[1], UserError):
            raise known[1]
        return known[1]

    def _tuning(self, path: Path) -> tuple[Marks, FoundTuning | None]:
        marks = _marks(path, TUNED)
        known = self._tunings.get(path)
        return known if known is not None and known[0] == marks else (marks, read_tuning(path))


def _marks(path: Path, names: Sequence[str]) -> Marks:
    def mark(name: str) -> tuple[int, int] | None:
        try:
            found = (path / name).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    return tuple(mark(name) for name in names)
