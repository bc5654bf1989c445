"""A run directory: the resolved recipe, provenance, metrics, checkpoint and result of one run.

recipe.toml             what is run, every default written out; written first
delays.csv, .parquet    the trace of its delays, where there is one
provenance.json         with what: versions, commit, machine; one entry per start
metrics.jsonl           one line per evaluation, after a header line that says what each column is
checkpoint.safetensors  the whole state of all tiers at one point of the run
holdings.json           how many samples of each class every worker holds
result.json             written last: a directory that has it is finished
failed.json             in its place where the run broke: why
lock                    held by the process that trains
trackers.json           the run's id for trackers, where --log was given; tensorboard/ and wandb/ are what they wrote
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
import json
import os
from pathlib import Path
import shutil
from stat import S_ISREG
from typing import Any

from filelock import FileLock, Timeout

from hiermo.core.errors import UserError
from hiermo.core.files import made_aside, sync_folder, write_json, write_text
from hiermo.core.until import SIMULATED
from hiermo.experiment import recipe_file
from hiermo.experiment.recipe import FORMAT, Recipe

GROUP, SWEEP = "runs.json", "sweep.json"  # what makes a folder one of several runs
# columns of the metrics file that say where a run stands
PLACE = ("iteration", "cloud_round", "seconds", SIMULATED, "bytes")


class Occupied(UserError):  # noqa: N818 - a fact about the directory
    """Another process trains this run."""


class RunDirectory:
    """Paths and small files; says in a sentence what is wrong with a directory that is not a run's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipe_path = path / "recipe.toml"
        self.provenance_path = path / "provenance.json"
        self.metrics_path = path / "metrics.jsonl"
        self.checkpoint_path = path / "checkpoint.safetensors"
        self.holdings_path = path / "holdings.json"
        self.result_path = path / "result.json"
        self.failed_path = path / "failed.json"

    @property
    def is_run(self) -> bool:
        return self.recipe_path.is_file()

    def recipe(self) -> Recipe:
        if not self.is_run:
            raise UserError(f"{self.path} is not a run directory: it has no {self.recipe_path.name}")
        return recipe_file.checked(recipe_file.read(self.recipe_path), self.recipe_path, home=self.path)

    def result(self) -> dict[str, Any] | None:
        return self._read_json_if_there(self.result_path)

    def failure(self) -> str | None:
        """Why the run broke, where it did."""
        failed = self._read_json_if_there(self.failed_path)
        return None if failed is None else str(failed.get("error"))

    def fail(self, why: str) -> None:
        write_json(self.failed_path, {"format": FORMAT, "error": why})

    def add_provenance(self, entry: dict[str, Any]) -> None:
        """One entry per start of the run, the first included."""
        write_json(self.provenance_path, {"format": FORMAT, "starts": [*self.starts(), entry]})

    def starts(self) -> list[dict[str, Any]]:
        """The provenance: one entry per start of the run."""
        told = self._read_json_if_there(self.provenance_path) or {"starts": []}
        starts = told.get("starts")
        if not isinstance(starts, list) or not all(isinstance(start, dict) for start in starts):
            raise UserError(f"{self.provenance_path}: damaged: it has no list of starts")
        return starts

    def evaluations(self, last_only: bool = False) -> list[dict[str, Any]]:
        """The lines of the metrics file but its header; a line that a kill cut short is left out."""
        text = _read_if_there(self.metrics_path)
        if text is None:
            return []
        try:
            first, *rest = text.split("\n")[:-1]
            header, *lines = (json.loads(line) for line in (first, *(rest[-1:] if last_only else rest)))
        except (ValueError, RecursionError):
            raise UserError(f"{self.metrics_path}: damaged: not one JSON object per line") from None
        _check_format(self.metrics_path, header)
        if not all(isinstance(line, dict) and {"iteration", "cloud_round"} <= line.keys() for line in lines):
            raise UserError(f"{self.metrics_path}: damaged: a line is not an evaluation")
        return lines

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuses a second process; the lock goes with the process, however it ends."""
        lock = FileLock(self.path / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise Occupied(f"{self.path}: another process is running in this directory") from None
        try:
            yield
        finally:
            lock.release()

    def read_json(self, path: Path) -> dict[str, Any]:
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: damaged: {error}") from None
        return _check_format(path, value)

    def _read_json_if_there(self, path: Path) -> dict[str, Any] | None:
        try:
            return self.read_json(path) if _is_file(path) else None
        except FileNotFoundError:  # a resumed run takes its old result away
            return None


def _is_file(path: Path) -> bool:
    """Whether there is one; refuses what would not end when it is read, such as a pipe."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if not S_ISREG(mode):
        raise UserError(f"{path}: is not a file")
    return True


def _read_if_there(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8") if _is_file(path) else None
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: damaged: {error}") from None


def _check_format(path: Path, value: Any) -> dict[str, Any]:
    found = value.get("format") if isinstance(value, dict) else None
    if found != FORMAT:
        raise UserError(f"{path}: has format {found}, and this version of hiermo reads {FORMAT}")
    return dict(value)


class Metrics:
    """The metrics file while a run writes it: every line is on disk before the next checkpoint."""

    def __init__(self, path: Path, columns: dict[str, str], kept: Iterable[dict[str, Any]]) -> None:
        header = {"format": FORMAT, "columns": columns}
        write_text(path, "".join(json.dumps(line) + "\n" for line in (header, *kept)))
        self._file = path.open("a", encoding="utf-8")

    def append(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def create(out: Path, recipe: Recipe) -> list[RunDirectory]:
    """Run directories with their recipes, all at once: `out` itself for one algorithm, else one per label below."""
    if (out / "recipe.toml").exists() or (out / GROUP).exists():
        raise UserError(f"{out} holds a run already: go on with it by `hiermo resume {out}`, or choose another --out")
    if (out / "checkpoint.safetensors").exists():
        raise UserError(f"{out} holds a checkpoint that is not this run's: choose another --out")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: --out names a directory")
    single = len(recipe.algorithms) == 1
    trace = None if recipe.delays is None else recipe.delays.file
    if recipe.delays is not None and trace is not None:  # a run directory may be moved, and its trace with it
        recipe = replace(recipe, delays=recipe.delays.with_file(f"delays{trace.suffix.lower()}"))
    inside = {("" if single else part.label): recipe_file.write(recipe.single(part)) for part in recipe.algorithms}
    if trace is not None and single and (out / f"delays{trace.suffix.lower()}").exists():
        raise UserError(f"{out} holds a file delays{trace.suffix.lower()} already: choose another --out")
    for label in inside:
        if label and (out / label).exists():
            raise UserError(f"{out / label} exists already: choose another --out")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _place(out, inside, trace, group=not single)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written: {error.strerror or error}") from None
    return [RunDirectory(out / label if label else out) for label in inside]


def _place(out: Path, inside: dict[str, str], trace: Path | None, group: bool) -> None:
    """Made aside and renamed into place, so that a kill leaves all of it or nothing."""
    with made_aside(out) as side:
        for label, text in inside.items():
            (side / label).mkdir(exist_ok=True)
            write_text(side / label / "recipe.toml", text)
            if trace is not None:
                shutil.copyfile(trace, side / label / f"delays{trace.suffix.lower()}")
        if group:
            write_json(side / GROUP, {"format": FORMAT, "runs": list(inside)})
        if out.exists():
            # an existing folder with other things in it: the file that makes it a run goes last
            for item in sorted(side.iterdir(), key=lambda path: path.name in (GROUP, "recipe.toml")):
                item.rename(out / item.name)
        else:
            side.rename(out)
        sync_folder(out.parent)


def opened(path: Path) -> list[RunDirectory]:
    """The run at `path`, or the runs of the group there."""
    if not path.is_dir():
        raise UserError(f"there is no directory {path}")
    found = [RunDirectory(path / label) for label in group_labels(path)] if (path / GROUP).is_file() else []
    found = found or [RunDirectory(path)]
    for directory in found:
        directory.recipe()  # refuses what is none
    return found


def group_labels(path: Path) -> list[str]:
    """The folders that the file of a group names; refuses those that are not in it, for others may have written it."""
    labels = RunDirectory(path).read_json(path / GROUP).get("runs", [])
    if not isinstance(labels, list) or not all(isinstance(label, str) and _is_inside(label) for label in labels):
        raise UserError(f"{path / GROUP}: damaged: `runs` must be a list of names of folders beside it")
    return labels


def _is_inside(label: str) -> bool:
    """Whether it is a plain name, on any system: neither a path, nor a drive, nor a step upwards."""
    return label not in ("", ".", "..") and not any(character in "/\\:\0" for character in label)
