"""One run as its files say. Others may have written them: what is read is checked, and no code that they name runs."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.experiment.provenance import is_alive
from hiermo.experiment.recipe import FORMAT
from hiermo.experiment.run_directory import PLACE, RunDirectory

Condition = Literal["finished", "running", "stopped", "failed", "new"]
LARGEST_BYTES = 2**26  # of a recipe or a result: thousands of times the usual

NUMBER = (int, float)
IN_RECIPE = {
    "name": str,
    "algorithm.name": str,
    "algorithm.label": str,
    "data.source": str,
    "model.name": str,
    "train.seed": int,
}
IN_METRICS = dict.fromkeys((*PLACE, "accuracy", "loss"), NUMBER)
IN_RESULT = {
    **dict.fromkeys(("iterations", "cloud_rounds", *PLACE[2:], "accuracy", "loss", "parameters"), NUMBER),
    **dict.fromkeys(("model_sha256", "delays", "finished", "stopped_by"), str),
}


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
        if self.starts and _lives(self.starts[-1].get("process")):
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
        measured = {k: v for k, v in last.items() if k not in PLACE and not isinstance(v, (list, dict))}
        told = {
            "run": str(self.path),
            "name": self.keys.get("name"),
            "condition": self.condition,
            "algorithm": self.algorithm,
            "label": self.label,
            "data": self.keys.get("data.source"),
            "model": self.keys.get("model.name"),
            "seed": self.seed,
        }
        counted = {
            "iterations": last.get("iteration"),
            "cloud_rounds": last.get("cloud_round"),
            **{name: last.get(name) for name in ("simulated_seconds", "bytes", "seconds")},
            "parameters": ended.get("parameters"),
            "delays": ended.get("delays"),
            "date": self.date,
            "error": self.failure,
        }
        # what a run measures may have any name, and must not pass for something else
        return {**told, "accuracy": None, "loss": None, **measured, **told, **counted}

    def whole_row(self) -> dict[str, Any]:
        """The same, and every key of the recipe with dots; what is told of the run goes before a key of that name."""
        row = self.row()
        return {**row, **self.keys, **row}


def read_run(path: Path, last_only: bool = False) -> StoredRun:
    """One run, or with `last_only` its last evaluation alone, which is faster; a UserError says what is wrong with it.

    Everything that a StoredRun computes from what was read is tried here: later, nothing fails.
    """
    directory = RunDirectory(path)
    if not directory.is_run:
        raise UserError(f"{path}: is not a run directory: it has no file recipe.toml")
    try:
        return _checked(directory, last_only)
    except (OSError, UserError):
        raise
    except (ValueError, RecursionError, OverflowError, MemoryError) as error:  # digits or depths beyond all use
        raise UserError(f"{path}: damaged: {error or type(error).__name__}") from None


def _checked(directory: RunDirectory, last_only: bool) -> StoredRun:
    for small in (directory.recipe_path, directory.result_path, directory.failed_path, directory.provenance_path):
        with suppress(FileNotFoundError):
            if small.stat().st_size > LARGEST_BYTES:
                raise UserError(f"{small}: is larger than {LARGEST_BYTES // 2**20} MiB: not of hiermo's making")
    recipe = recipe_file.read(directory.recipe_path)
    if recipe.get("format") != FORMAT:
        found = recipe.get("format", "none")
        raise UserError(f"{directory.recipe_path}: has format {found}, and this version of hiermo reads {FORMAT}")
    if not isinstance(recipe.get("algorithm"), dict):
        raise UserError(f"{directory.recipe_path}: is not the recipe of one run: it has no [algorithm] table")
    run = StoredRun(
        directory,
        recipe,
        directory.result(),
        directory.failure(),
        directory.evaluations(last_only),
        directory.starts(),
    )
    check_kinds(directory.recipe_path, run.keys, IN_RECIPE)
    check_kinds(directory.result_path, run.result or {}, IN_RESULT)
    for line in run.evaluations:
        check_kinds(directory.metrics_path, line, IN_METRICS)
    for start in run.starts:
        check_kinds(directory.provenance_path, start, {"started": str, "process": dict})
    run.whole_row()
    return run


def check_kinds(path: Path, values: dict[str, Any], kinds: Mapping[str, Any]) -> None:
    """Refuses a value that would be taken for what it is not; None is always a value that is not known."""
    for name, kind in kinds.items():
        value = values.get(name)
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise UserError(f"{path}: damaged: {name} is {str(value)[:80]!r}")
        if isinstance(value, int) and kind is NUMBER:
            float(value)  # an OverflowError where it is beyond all numbers


def _lives(process: Any) -> bool:
    try:
        return bool(is_alive(process))
    except OverflowError:  # no process has such a number
        return False


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted keys.

    >>> flat({"periods": {"tau": 10}, "tree": {"groups": [[0, 1], [2]]}})
    {'periods.tau': 10, 'tree.groups': [[0, 1], [2]]}
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


# keys that say nothing of what a run computes, or that a series of runs is expected to differ in
ASIDE = ("train.seed", "name", "description", "import_from", "engine.checkpoint_s")


def varied(runs: Sequence[StoredRun], but: Sequence[str] = ASIDE) -> list[str]:
    """The keys in which recipes differ, beside the seed and names."""
    keys = dict.fromkeys(key for run in runs for key in run.keys)
    return [key for key in keys if key not in but and len({identity(run.keys.get(key)) for run in runs}) > 1]


def identity(value: Any) -> Hashable:
    """The same for values that a recipe means the same by, and something to look up.

    >>> identity([1, 2.0]) == identity([1.0, 2]), identity(1) == identity(True)
    (True, False)
    """
    if isinstance(value, list):
        return tuple(map(identity, value))
    if isinstance(value, dict):  # in a list of tables
        return tuple((key, identity(each)) for key, each in sorted(value.items()))
    return (type(value), repr(value)) if isinstance(value, bool) or value != value else value
