"""A store is a folder of run directories, at any depth: what is in it, as values and as a table.

Reading is safe and disturbs nothing: no code that a recipe names is imported, no lock is taken, nothing is written, and
what cannot be read is named beside the rest.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
import warnings

from hiermo.core.errors import UserError
from hiermo.experiment.run_directory import GROUP, SWEEP, group_labels
from hiermo.experiment.stored_run import ASIDE, Condition, StoredRun, flat, identity, read_run, varied

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "ASIDE",
    "Condition",
    "Found",
    "StoredRun",
    "Unreadable",
    "find_runs",
    "flat",
    "identity",
    "load_runs",
    "read_run",
    "varied",
]

DEEP = 8  # folders within folders that are looked into
# what other verbs leave beside runs: a folder with one of these is no foreign one
OURS = ("tuning.json", "pilot.json", SWEEP, GROUP)
NOT_OURS = ("mlruns",)  # what a tracker keeps beside runs: thousands of folders, none of them a run


class Unreadable(NamedTuple):
    """What stands in a store and is not a run that can be read."""

    path: Path
    why: str


class Found(NamedTuple):
    """What a store holds."""

    runs: list[StoredRun]
    unreadable: list[Unreadable]
    tuned: Sequence[Path] = ()  # folders of `hiermo tune`


def load_runs(*paths: str | Path, evaluations: bool = False) -> "DataFrame":
    """The runs of one or several stores, groups, sweeps or run directories as a table.

    One row per run, with its last evaluation; with `evaluations`, one row per evaluation. Columns: what is told of a
    run (`run`, `condition`, `algorithm`, `label`, `data`, `model`, `seed`, `date`, `error`, ...), what was measured
    (`accuracy`, `loss`, `iterations`, `simulated_seconds`, `bytes`, ...), and every key of its recipe with dots, as
    `periods.tau` and `algorithm.gamma`. What could not be read is in `attrs["unreadable"]`, a list of (path, why), and
    warned of; it never hides the others.

    >>> from tempfile import TemporaryDirectory
    >>> from hiermo.experiment.recipe import parse
    >>> from hiermo.experiment.run_directory import create
    >>> recipe = {"data": "mnist-5k", "model": "cnn", "tree": {"workers": 4}, "train": {"iterations": 20}}
    >>> with TemporaryDirectory() as folder:
    ...     _ = create(Path(folder) / "a", parse({**recipe, "algorithm": ["FedAvg", "FedNAG"]}))
    ...     load_runs(folder)[["label", "condition", "periods.tau"]]
        label condition  periods.tau
    0  FedAvg       new           10
    1  FedNAG       new           10
    """
    import pandas

    found = find_runs(map(Path, paths or ("runs",)), partial(read_run, last_only=not evaluations))
    for path, why in found.unreadable:
        warnings.warn(f"{path}: {why}", stacklevel=2)
    rows = [row for run in found.runs for row in (_evaluation_rows(run) if evaluations else [run.whole_row()])]
    table = pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=[*EMPTY])
    if "date" in table:
        table["date"] = pandas.to_datetime(table["date"], utc=True, format="ISO8601", errors="coerce")
    table.attrs["unreadable"] = [(str(path), why) for path, why in found.unreadable]
    return table


ABOUT = ("run", "name", "condition", "algorithm", "label", "data", "model", "seed")
EMPTY = (*ABOUT, "accuracy", "loss", "iterations")


def _evaluation_rows(run: StoredRun) -> Iterator[dict[str, Any]]:
    row = run.row()
    told = {key: row[key] for key in ABOUT}
    for line in run.evaluations:
        yield {**told, **line, **run.keys, **line, **told}


def find_runs(
    paths: Iterable[Path],
    read: Callable[[Path], StoredRun] = read_run,
    show: Callable[[int], object] = lambda count: None,
) -> Found:
    """Every run at or below the paths, in the order of their names; refuses a path that is not there.

    `read` makes a run of its directory, or raises a UserError. `show` is told how many were read.
    """
    tuned: list[Path] = []
    found = Found([], [], tuned)
    looked = _Look(found, tuned, read, show)
    for path in paths:
        try:
            there = path.is_dir()
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
        if not there:
            raise UserError(f"there is no directory {path}")
        looked.at(path, DEEP)
    return found


class _Look:
    """Walks through a store."""

    def __init__(
        self, found: Found, tuned: list[Path], read: Callable[[Path], StoredRun], show: Callable[[int], object]
    ) -> None:
        self._found, self._tuned, self._read, self._show = found, tuned, read, show
        self._seen: set[tuple[int, int]] = set()

    def at(self, path: Path, deep: int) -> None:
        """A folder that cannot be read is noted; whatever is wrong with it, the next one is looked at."""
        try:
            inside = self._look(path)
        except UserError as error:
            self._note(path, _short(path, error))
        except OSError as error:  # permissions; it has gone meanwhile
            self._note(path, f"cannot be read: {error.strerror or error}")
        else:
            if inside and not deep:
                self._note(path, f"more than {DEEP} folders deep, and not looked into")
            for each in inside if deep else ():
                self.at(each, deep - 1)

    def _look(self, path: Path) -> list[Path]:
        """Reads the run that is there, else names the folders in it."""
        there = path.stat()
        if (place := (there.st_dev, there.st_ino)) in self._seen:  # by two paths, or by a link that leads back
            return []
        self._seen.add(place)
        with os.scandir(path) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        names = {entry.name for entry in inside}
        if "recipe.toml" in names:
            self._found.runs.append(self._read(path))
            self._show(len(self._found.runs))
            return []
        if "tuning.json" in names:
            self._tuned.append(path)
        for entry in inside:
            if entry.is_symlink() and not _is_dir(entry) and not Path(entry.path).exists():
                self._note(path / entry.name, "a link that leads nowhere")
        folders = [entry.name for entry in inside if not entry.name.startswith(".") and _is_dir(entry)]
        if GROUP in names:
            self._check_group(path, folders)
        if not folders and names.isdisjoint(OURS):
            self._note(path, "not a run directory: it has no recipe.toml" if names else "an empty folder")
        return [path / name for name in folders if name not in NOT_OURS]

    def _check_group(self, path: Path, folders: list[str]) -> None:
        try:
            missing = [label for label in group_labels(path) if label not in folders]
        except (OSError, UserError) as error:  # its runs are there all the same
            self._note(path / GROUP, _short(path / GROUP, error))
            return
        for label in missing:
            self._note(path / label, "the group names this run, and it is not there")

    def _note(self, path: Path, why: str) -> None:
        self._found.unreadable.append(Unreadable(path, why))


def _is_dir(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links in a circle
        return False


def _short(path: Path, error: Exception) -> str:
    """What is wrong, without the path that is told beside it."""
    return "; ".join(line.removeprefix(f"{path}: ").removeprefix(f"{path}/") for line in str(error).splitlines())
