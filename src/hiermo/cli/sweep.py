"""`hiermo sweep`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiermo.cli.arguments import AsJson, DelaysFile, Log, RecipeName, Settings

if TYPE_CHECKING:
    from hiermo.experiment.run_directory import RunDirectory
    from hiermo.experiment.sweep.grid import Planned
    from hiermo.experiment.sweep.sweep import Sweep


def sweep(
    recipe: RecipeName,
    grid: Annotated[
        list[str] | None,
        typer.Option("-g", "--grid", metavar="KEY=V1,V2,...", help="Values of a key; all combinations are run."),
    ] = None,
    zipped: Annotated[
        list[str] | None,
        typer.Option("-z", "--zip", metavar="KEY=V1,V2,...", help="Values that advance together with other -z lists."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(metavar="0..4", help="Each combination with these seeds.")] = None,
    settings: Settings = None,
    delays: DelaysFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run directories; else one that the same command finds again.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; else as many as cores and memory allow.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try runs again that failed before.")] = False,
    log: Log = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs, and train none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a recipe with lists of values and seeds, on all cores; the same command goes on where it stopped."""
    from hiermo.cli.sweep_progress import shown
    from hiermo.experiment.sweep.folder import placed, usual_folder
    from hiermo.experiment.sweep.grid import cells, planned
    from hiermo.experiment.sweep.sweep import sweep as swept
    from hiermo.experiment.trackers import usable

    usable(log or ())
    whole, runs = planned(recipe, cells(grid or (), zipped or (), seeds), settings or (), delays)
    folder = out or usual_folder(whole.name, runs)
    if dry_run:
        _list(runs, folder, as_json)
        return
    directories = placed(folder, runs)
    trained = [(directory, run.recipe) for directory, run in zip(directories, runs, strict=True)]
    now = shown(lambda stop: swept(trained, processes=jobs, log=log or (), retry=retry, stop=stop))
    _show(directories, runs, folder, now, as_json)


def _list(runs: "list[Planned]", folder: Path, as_json: bool) -> None:
    import json
    import sys

    if as_json:
        told = [{"name": run.name, "settings": run.settings} for run in runs]
        sys.stdout.write(json.dumps({"folder": str(folder), "runs": told}, indent=2) + "\n")
        return
    for run in runs:
        typer.echo(run.name)
    typer.echo(f"{len(runs)} runs in {folder}", err=True)


def _show(directories: "list[RunDirectory]", runs: "list[Planned]", folder: Path, now: "Sweep", as_json: bool) -> None:
    import json
    import sys

    from rich.console import Console

    failed = [f"{path}: {why}" for path, why in now.failed.items()]
    if as_json:
        told = []
        for directory, run in zip(directories, runs, strict=True):
            result = {key: value for key, value in (directory.result() or {}).items() if key != "format"}
            facts = {"name": run.name, "run_dir": str(directory.path), "settings": run.settings}
            told.append({**facts, **result, "error": now.failed.get(str(directory.path))})
        sys.stdout.write(json.dumps({"folder": str(folder), "runs": told}, indent=2) + "\n")
    elif now.finished:
        from hiermo.experiment.store import read_run
        from hiermo.report.summary import series_of
        from hiermo.report.summary_table import summary_table

        stored = [read_run(directory.path) for directory in directories if directory.result() is not None]
        console = Console(highlight=False)
        console.print(summary_table(series_of(stored)))
        console.print(f"runs: {folder}", soft_wrap=True, markup=False)
        console.print(f"page: hiermo report {folder}", soft_wrap=True, markup=False)
    for message in failed:
        typer.echo(f"error: {message}", err=True)
    if failed:
        raise typer.Exit(2)
