"""The folder of a sweep: its runs, each in a directory of its own, and `sweep.json`, by which it is known again.

It is a group as well, so that every verb that takes the runs of one command takes a sweep.
"""

from collections.abc import Sequence
from pathlib import Path

from hiermo.core.errors import UserError
from hiermo.core.files import made_aside, sync_folder, write_json
from hiermo.experiment.recipe import FORMAT
from hiermo.experiment.run_directory import GROUP, SWEEP, RunDirectory, create
from hiermo.experiment.sweep.grid import Planned, fingerprint


def usual_folder(name: str, runs: Sequence[Planned]) -> Path:
    """The same for the same command, so that it goes on where it stopped."""
    return Path("runs") / f"{name}-sweep-{fingerprint(runs)[:8]}"


def placed(folder: Path, runs: Sequence[Planned]) -> list[RunDirectory]:
    """The directories of the runs, made all at once or found as they are; refuses a folder of something else."""
    if (folder / SWEEP).is_file():
        known = RunDirectory(folder).read_json(folder / SWEEP)
        if known.get("of") != fingerprint(runs):
            raise UserError(f"{folder} holds another sweep: its own command goes on with it; else choose another --out")
        for run in runs:
            if not (folder / run.name / "recipe.toml").is_file():  # it was removed
                create(folder / run.name, run.recipe)
        return [RunDirectory(folder / run.name) for run in runs]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} holds something else: choose another --out")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _make(folder, runs)
    except OSError as error:
        raise UserError(f"--out {folder}: cannot be written: {error.strerror or error}") from None
    return [RunDirectory(folder / run.name) for run in runs]


def _make(folder: Path, runs: Sequence[Planned]) -> None:
    """Made aside and renamed into place, so that a kill leaves all of it or nothing."""
    with made_aside(folder) as side:
        for run in runs:
            create(side / run.name, run.recipe)
        about = {"of": fingerprint(runs), "runs": {run.name: run.settings for run in runs}}
        write_json(side / SWEEP, {"format": FORMAT, **about})
        write_json(side / GROUP, {"format": FORMAT, "runs": [run.name for run in runs]})
        if folder.exists():
            folder.rmdir()  # it is empty
        side.rename(folder)
        sync_folder(folder.parent)
