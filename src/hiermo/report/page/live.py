"""A store that is read again and again while runs go on: files alone, and only those that have changed."""

from collections.abc import Sequence
from hashlib import sha256
import json
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from hiermo.core.errors import UserError
from hiermo.experiment.store import Found, StoredRun, Unreadable, read_run
from hiermo.report.page.folders import folders
from hiermo.report.page.page_data import page_data
from hiermo.report.page.plain import text
from hiermo.report.page.tunings import FoundTuning, read_tuning

WRITTEN = ("recipe.toml", "metrics.jsonl", "result.json", "failed.json", "provenance.json", "holdings.json")
TUNED = ("tuning.json", "tuned.toml")
LEAST_S = 0.8  # between two looks at the files, however many pages are open

Marks = tuple[tuple[int, int] | None, ...]  # of each file: when it was changed, and its size


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
        self._runs: dict[Path, tuple[Marks, StoredRun | Unreadable]] = {}
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
        found = list(folders(self.paths))
        runs = {path: self._run(path) for path, kind in found if kind == "run"}
        tunings = {path: self._tuning(path) for path, kind in found if kind == "tuning"}
        lacking = [Unreadable(path, kind) for path, kind in found if kind not in ("run", "tuning")]
        self._runs, self._tunings = runs, tunings
        good = [run for _, run in runs.values() if isinstance(run, StoredRun)]
        seen = (
            [(path, marks) for path, (marks, _) in (*runs.items(), *tunings.items())],
            [_condition(run) for run in good],  # a process may end without writing a word
            lacking,
        )
        if self._told is not None and seen == self._seen:
            return
        self._seen = seen
        bad = [run for _, run in runs.values() if isinstance(run, Unreadable)]
        kept = [tuning for _, tuning in tunings.values() if tuning is not None]
        data = page_data(Found(good, [*bad, *lacking]), kept, title=self.title, until=self.until, live=True)
        body = json.dumps(data, allow_nan=False, separators=(",", ":")).encode("utf-8")
        self._told = Told(f'"{sha256(body).hexdigest()[:20]}"', body, data)

    def _run(self, path: Path) -> tuple[Marks, StoredRun | Unreadable]:
        marks = _marks(path, WRITTEN)
        known = self._runs.get(path)
        if known is not None and known[0] == marks:
            return known
        self.reads += 1
        try:
            return marks, read_run(path)
        except (UserError, OSError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return marks, Unreadable(path, text(error))

    def _tuning(self, path: Path) -> tuple[Marks, FoundTuning | None]:
        marks = _marks(path, TUNED)
        known = self._tunings.get(path)
        return known if known is not None and known[0] == marks else (marks, read_tuning(path))


def _condition(run: StoredRun) -> str:
    try:
        return str(run.condition)
    except (AttributeError, TypeError, KeyError):
        return "damaged"


def _marks(path: Path, names: Sequence[str]) -> Marks:
    def mark(name: str) -> tuple[int, int] | None:
        try:
            found = (path / name).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    return tuple(mark(name) for name in names)
