"""`hiermo run`."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from hiermo.cli.arguments import AsJson, DelaysFile, Log, RecipeName, Seed, Settings


def run(
    recipe: RecipeName,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="Run directory; with several algorithms, the folder of their directories.")
    ] = None,
    seed: Seed = None,
    delays: DelaysFile = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be run, and how long it would take.")
    ] = False,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Train every algorithm of a recipe, and show a table and a picture."""
    from hiermo.core.errors import UserError
    from hiermo.experiment import recipe_file
    from hiermo.experiment.trackers import usable

    usable(log or ())
    chosen = recipe_file.load(recipe, settings or (), seed, delays)
    if dry_run:
        from hiermo.cli.dry_run import show_plan

        show_plan(chosen, as_json)
        return

    from hiermo.cli.training import discard, load_problem, show, train_all
    from hiermo.experiment.run_directory import create

    folder = out or fresh_folder(chosen.name)
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    directories = create(folder, chosen)
    try:
        problem = load_problem(chosen)
    except UserError:
        discard(directories, folder, made)
        raise
    failed = train_all(directories, problem, folder, log or ())
    show(directories, folder, as_json, failed)


def fresh_folder(name: str) -> Path:
    """runs/NAME-DATE-TIME, with a number behind it where that is taken."""
    stem = Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = 1
    folder = stem
    while folder.exists():
        taken += 1
        folder = stem.with_name(f"{stem.name}-{taken}")
    return folder
