"""Removes runs: never one that is being trained, never what is not of hiermo's making, and never half of one.

A run is renamed to a hidden name beside it and then deleted, so that a kill in between leaves nothing that is listed.
"""

from collections.abc import Iterable, Iterator, Sequence
import os
from pathlib import Path
from secrets import token_hex
import shutil
from typing import NamedTuple

from hiermo.core.errors import UserError
from hiermo.core.files import sync_folder, write_json
from hiermo.experiment import recipe_file
from hiermo.experiment.recipe import FORMAT, TABLES
from hiermo.experiment.run_directory import GROUP, SWEEP, RunDirectory, group_labels
from hiermo.experiment.stored_run import read_run

PICTURES = ("accuracy.png", "retimed.png")
OF_A_RUN = (
    *("recipe.toml", "delays.csv", "delays.parquet", "provenance.json", "metrics.jsonl", "checkpoint.safetensors"),
    *("holdings.json", "result.json", "failed.json", "lock", "trackers.json", *PICTURES),
)
OF_A_GROUP = (GROUP, SWEEP, *PICTURES)
OF_TRACKERS = ("tensorboard", "wandb")  # folders in a run that has a trackers.json
SIDE = "hiermo-removed"


class Removable(NamedTuple):
    """A run directory that may go."""

    path: Path
    size_bytes: int
    condition: str


class Kept(NamedTuple):
    """What stays, and why."""

    path: Path
    why: str


class Plan(NamedTuple):
    """What would go and what would stay; the folders are groups and sweeps that were named or that lose a run."""

    runs: list[Removable]
    kept: list[Kept]
    groups: list[Path]

    @property
    def size_bytes(self) -> int:
        return sum(run.size_bytes for run in self.runs)


def runs_at(path: Path) -> list[Path]:
    """The run at `path`, or those of the group or sweep there; refuses anything else."""
    if path.is_symlink():
        raise UserError(f"{path}: is a link: name what it leads to")
    if not path.is_dir():
        raise UserError(f"there is no directory {path}")
    if is_run(path):
        return [path]
    if not is_group(path):
        raise UserError(
            f"{path}: is neither a run nor the folder of a group or sweep; from a store of runs choose with --where"
        )
    return list(_inside(path))


def planned(
    paths: Iterable[Path], groups: Iterable[Path] = (), foreign_too: bool = False, within: Sequence[Path] | None = None
) -> Plan:
    """What of the run directories can be removed; where they were found in stores, what is really in one of them."""
    runs, kept = [], []
    folders = {_absolute(path): None for path in groups}
    for path in dict.fromkeys(map(_absolute, paths)):
        try:
            if within is not None and not any(path.resolve().is_relative_to(store.resolve()) for store in within):
                raise UserError(f"{path}: a link leads to it from the store; name it itself")
            runs.append(_removable(path, foreign_too))
        except (UserError, OSError) as error:
            kept.append(Kept(path, str(error).removeprefix(f"{path}: ")))
        if is_group(path.parent):
            folders[path.parent] = None
    return Plan(runs, kept, list(folders))


def remove(plan: Plan) -> Iterator[Path | Kept]:
    """Yields each run that is gone, and what stayed after all."""
    gone = []
    for run in plan.runs:
        try:
            _remove_run(run.path)
        except (UserError, OSError) as error:
            yield Kept(run.path, str(error).removeprefix(f"{run.path}: "))
            continue
        gone.append(run.path)
        yield run.path
    for folder in plan.groups:
        yield from _tidy(folder, [path.name for path in gone if path.parent == folder])


def is_run(path: Path) -> bool:
    """Whether hiermo made it: a folder with a recipe of one's own is not a run directory."""
    directory = RunDirectory(path)
    if path.is_symlink() or not directory.is_run:
        return False
    if directory.provenance_path.is_file():
        return True
    try:  # one that never began has its recipe alone, with every default written out
        recipe = recipe_file.read(directory.recipe_path)
    except (UserError, ValueError, RecursionError):
        return False
    optional = ("delays", "absence")
    return "format" in recipe and all(table in recipe for table in TABLES if table not in optional)


def is_group(path: Path) -> bool:
    return not path.is_symlink() and any((path / name).is_file() for name in (GROUP, SWEEP))


def foreign(path: Path, ours: Sequence[str]) -> list[str]:
    """The names in a folder that hiermo did not give."""
    tracked = OF_TRACKERS if (path / "trackers.json").is_file() else ()

    def is_ours(each: Path) -> bool:
        if each.is_dir() and not each.is_symlink():
            return each.name in tracked
        # a file that a kill left half-written beside its place
        return each.name in ours or any(each.name == f".{name}.part" for name in ours)

    return sorted(each.name for each in path.iterdir() if not is_ours(each))


def _removable(path: Path, foreign_too: bool) -> Removable:
    if not is_run(path):
        raise UserError(f"{path}: is not a run directory of hiermo's making")
    others = foreign(path, OF_A_RUN)
    if others and not foreign_too:
        raise UserError(f"{path}: holds what is not of hiermo's making ({_some(others)}); --all removes that too")
    if others and not RunDirectory(path).provenance_path.is_file():
        raise UserError(f"{path}: holds what is not of hiermo's making ({_some(others)}), and no run ever began in it")
    condition = _condition(path)
    if condition == "running":
        raise UserError(f"{path}: is being trained; stop it first")
    with RunDirectory(path).locked():  # refuses one that another process has in its hands
        return Removable(path, _size(path), condition)


def _condition(path: Path) -> str:
    try:
        return read_run(path, last_only=True).condition
    except (UserError, OSError):
        return "unreadable"


def _remove_run(path: Path) -> None:
    side = path.with_name(f".{path.name[:100]}.{SIDE}-{token_hex(4)}")
    with RunDirectory(path).locked():
        path.rename(side)
    sync_folder(path.parent)
    for left in path.parent.glob(f".*.{SIDE}-*"):  # also by a removal that was killed; another may be at work
        shutil.rmtree(left, ignore_errors=True)
    if side.exists():
        raise UserError(f"{path}: is removed, and what could not be deleted of it is in {side.name}")


def _tidy(folder: Path, gone: Sequence[str]) -> Iterator[Kept]:
    """A group names the runs that it has left; without any it goes, but for what others put there."""
    if not folder.is_dir() or not is_group(folder):
        return
    try:
        if list(_inside(folder)):
            if gone and (folder / GROUP).is_file():
                left = [label for label in group_labels(folder) if label not in gone]
                write_json(folder / GROUP, {"format": FORMAT, "runs": left})
            return
        others = foreign(folder, OF_A_GROUP)
        for name in (*PICTURES, SWEEP, GROUP):
            (folder / name).unlink(missing_ok=True)
            (folder / f".{name}.part").unlink(missing_ok=True)
        if others:
            yield Kept(folder, f"holds what is not of hiermo's making: {_some(others)}")
        else:
            folder.rmdir()
    except (UserError, OSError) as error:
        yield Kept(folder, str(error).removeprefix(f"{folder}: "))


def _inside(group: Path) -> Iterator[Path]:
    """By what is there, not by what its file says: others may have written that."""
    for each in sorted(group.iterdir()):
        if not each.name.startswith(".") and not each.is_symlink() and (each / "recipe.toml").is_file():
            yield each


def _size(path: Path) -> int:
    return sum((Path(folder) / name).lstat().st_size for folder, _, names in os.walk(path) for name in names)


def _absolute(path: Path) -> Path:
    """What it is called where it stands; were it a link, that would not be followed."""
    return path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
