"""A store is a folder of run directories, at any depth: what is in it, as values and as a table.

Reading is safe and disturbs nothing: no code that a recipe names is imported, no lock is taken, nothing is written, and
what cannot be read is named beside the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
import warnings

from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.experiment.provenance import is_alive
from hiermo.experiment.recipe import FORMAT
from hiermo.experiment.run_directory import GROUP, RunDirectory

if TYPE_CHECKING:
    from pandas import DataFrame

Condition = Literal["finished", "running", "stopped", "failed", "new"]
DEEP = 8  # folders within folders that are looked into
# what other verbs leave beside runs: a folder with one of these is no foreign one
OURS = ("tuning.json", "pilot.json", "sweep.json", GROUP)
PLACES = ("iteration", "cloud_round", "seconds", "simulated_seconds", "bytes")


class Unreadable(NamedTuple):
    """What stands in a store and is not a run that can be read."""

    path: Path
    why: str


@dataclass(frozen=True, eq=False)
class StoredRun:
    """One run as its files say; nothing of it is made anew."""

    directory: RunDirectory
    recipe: dict[str, Any]  # as TOML says it, every default written out
    result: dict[str, Any] | None
    failure: str | None
    evaluations: list[dict[str, Any]]
    starts: list[dict[str, Any]]  # its provenance, one entry per start

    @property
    def path(self) -> Path:
        return self.directory.path

    @cached_property
    def keys(self) -> dict[str, Any]:
        """The recipe with dotted keys: `periods.tau`, `algorithm.gamma`."""
        return flat(self.recipe)

    @property
    def algorithm(self) -> str:
        return str(self.keys.get("algorithm.name", "?"))

    @property
    def label(self) -> str:
        return str(self.keys.get("algorithm.label", self.algorithm))

    @property
    def seed(self) -> int:
        return int(self.keys.get("train.seed", 0))

    @property
    def condition(self) -> Condition:
        """`running` where its process still lives; one on another machine counts as stopped."""
        if self.result is not None:
            return "finished"
        if self.failure is not None:
            return "failed"
        if self.starts and is_alive(self.starts[-1].get("process", {})):
            return "running"
        return "stopped" if self.starts else "new"

    @property
    def date(self) -> str | None:
        """When it ended, else when it began last; ISO 8601 in UTC."""
        began = self.starts[-1].get("started") if self.starts else None
        return self.result.get("finished", began) if self.result else began

    def row(self) -> dict[str, Any]:
        """The run in one line of a table."""
        last = self.evaluations[-1] if self.evaluations else {}
        ended = self.result or {}
        measured = {k: v for k, v in last.items() if k not in PLACES and not isinstance(v, list)}
        return {
            "run": str(self.path),
            "name": self.keys.get("name"),
            "condition": self.condition,
            "algorithm": self.algorithm,
            "label": self.label,
            "data": self.keys.get("data.source"),
            "model": self.keys.get("model.name"),
            "seed": self.seed,
            **{"accuracy": None, "loss": None, **measured},
            "iterations": last.get("iteration"),
            "cloud_rounds": last.get("cloud_round"),
            **{name: last.get(name) for name in ("simulated_seconds", "bytes", "seconds")},
            "parameters": ended.get("parameters"),
            "delays": ended.get("delays"),
            "date": self.date,
            "error": self.failure,
        }


class Found(NamedTuple):
    """What a store holds."""

    runs: list[StoredRun]
    unreadable: list[Unreadable]


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

    found = find_runs(map(Path, paths or ("runs",)))
    for path, why in found.unreadable:
        warnings.warn(f"{path}: {why}", stacklevel=2)
    rows = [row for run in found.runs for row in (_evaluation_rows(run) if evaluations else [run.row() | run.keys])]
    table = pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=[*EMPTY])
    for name in ("date", "started"):
        if name in table:
            table[name] = pandas.to_datetime(table[name], utc=True, format="ISO8601")
    table.attrs["unreadable"] = [(str(path), why) for path, why in found.unreadable]
    return table


EMPTY = ("run", "name", "condition", "algorithm", "label", "data", "model", "seed", "accuracy", "loss", "iterations")


def _evaluation_rows(run: StoredRun) -> Iterator[dict[str, Any]]:
    told = {key: run.row()[key] for key in EMPTY[:8]}
    for line in run.evaluations:
        yield {**told, **line, **run.keys}


def find_runs(paths: Iterable[Path]) -> Found:
    """Every run at or below the paths, in the order of their names; refuses a path that is not there."""
    found = Found([], [])
    seen: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            raise UserError(f"there is no directory {path}")
        _look(path, found, seen, DEEP)
    return found


def read_run(path: Path) -> StoredRun:
    """One run; a UserError says what is wrong with it."""
    directory = RunDirectory(path)
    if not directory.is_run:
        raise UserError(f"{path}: is not a run directory: it has no recipe.toml")
    recipe = recipe_file.read(directory.recipe_path)
    if recipe.get("format") != FORMAT:
        found = recipe.get("format", "none")
        raise UserError(f"{directory.recipe_path}: has format {found}, and this version of hiermo reads {FORMAT}")
    if not isinstance(recipe.get("algorithm"), dict):
        raise UserError(f"{directory.recipe_path}: is not the recipe of one run: it has no [algorithm] table")
    starts = directory.read_json(directory.provenance_path)["starts"] if directory.provenance_path.is_file() else []
    return StoredRun(directory, recipe, directory.result(), directory.failure(), directory.evaluations(), starts)


def _look(path: Path, found: Found, seen: set[Path], deep: int) -> None:
    if (real := path.resolve()) in seen:
        return
    seen.add(real)
    try:
        if (path / "recipe.toml").is_file():
            found.runs.append(read_run(path))
            return
        inside = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
        missing = _missing(path, inside)
    except UserError as error:
        found.unreadable.append(Unreadable(path, _short(path, error)))
        return
    except (OSError, KeyError, TypeError, AttributeError) as error:  # permissions; files of another make
        found.unreadable.append(Unreadable(path, f"cannot be read: {error}"))
        return
    for label in missing:
        found.unreadable.append(Unreadable(path / label, "the group names this run, and it is not there"))
    if not inside and not any((path / name).is_file() for name in OURS):
        what = "an empty folder" if not any(path.iterdir()) else "not a run directory: it has no recipe.toml"
        found.unreadable.append(Unreadable(path, what))
    for each in inside if deep else ():
        _look(each, found, seen, deep - 1)


def _missing(path: Path, inside: Sequence[Path]) -> list[str]:
    if not (path / GROUP).is_file():
        return []
    names = RunDirectory(path).read_json(path / GROUP).get("runs", [])
    return [str(name) for name in names if path / str(name) not in inside]


def _short(path: Path, error: UserError) -> str:
    """What is wrong, without the path that is told beside it."""
    return "; ".join(line.removeprefix(f"{path}: ").removeprefix(f"{path}/") for line in str(error).splitlines())


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted keys.

    >>> flat({"periods": {"tau": 10}, "tree": {"groups": [[0, 1], [2]]}})
    {'periods.tau': 10, 'tree.groups': [[0, 1], [2]]}
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def varied(runs: Sequence[StoredRun], but: Sequence[str] = ("train.seed", "name", "description")) -> list[str]:
    """The keys in which recipes differ, beside the seed and names."""
    keys = dict.fromkeys(key for run in runs for key in run.keys)
    return [key for key in keys if key not in but and any(run.keys.get(key) != runs[0].keys.get(key) for run in runs)]
