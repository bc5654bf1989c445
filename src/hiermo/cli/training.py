"""What `run` and `resume` share: train run directories with live progress, then show table and picture."""

from collections.abc import Sequence
from contextlib import suppress
import json
from pathlib import Path
import shlex
import sys
from typing import TYPE_CHECKING

from rich.console import Console
import typer

from hiermo.cli.interrupt import stop_on_signal
from hiermo.cli.loading import loading
from hiermo.cli.progress import Bars
from hiermo.core.errors import Diverged
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.run_directory import GROUP, RunDirectory

if TYPE_CHECKING:
    from hiermo.problems.supervised import Supervised


def load_problem(recipe: Recipe) -> "Supervised":
    """The data and the model; the first thing that takes time."""
    with loading("loading torch and the data"):
        from hiermo.experiment.assemble import problem_of

        return problem_of(recipe)


def train_all(
    directories: Sequence[RunDirectory], problem: "Supervised", folder: Path, log: Sequence[str] = ()
) -> list[str]:
    """Train one after the other; says which diverged; exits with 130 where the user stopped it."""
    from hiermo.experiment.trackers.tracking import tracking
    from hiermo.experiment.train import Interrupted, train

    failed = []
    with stop_on_signal() as stop, Bars(Console(stderr=True)) as bars:
        for directory in directories:
            recipe = directory.recipe()
            bar = bars.add(recipe)
            try:
                with tracking(log, directory, recipe) as tracks:
                    for progress in train(directory, recipe, problem, stop):
                        bar.show(progress)
                        tracks.show(progress)
            except Diverged as error:
                kept = directory.checkpoint_path.is_file()
                where = f"; its last good state is in {directory.checkpoint_path.name}" if kept else ""
                failed.append(f"{directory.path}: {error}{where}")
                continue
            except Interrupted:
                typer.echo(f"interrupted; go on with: hiermo resume {shlex.quote(str(folder))}", err=True)
                raise typer.Exit(130) from None
            bar.finish()
    return failed


def log_finished(directories: Sequence[RunDirectory], log: Sequence[str]) -> None:
    """For runs that were made without trackers, or that lost one on the way."""
    if not log or not directories:
        return
    from hiermo.experiment.trackers.tracking import tracking

    with loading(f"logging to {', '.join(log)}"):
        for directory in directories:
            with tracking(log, directory, directory.recipe()):
                pass


def show(directories: Sequence[RunDirectory], folder: Path, as_json: bool, failed: Sequence[str] = ()) -> None:
    """The table and the picture of finished runs, or one JSON object; then what failed, with exit code 2."""
    _show_results(directories, folder, as_json)
    for message in failed:
        typer.echo(f"error: {message}", err=True)
    if failed:
        raise typer.Exit(2)


def _show_results(directories: Sequence[RunDirectory], folder: Path, as_json: bool) -> None:
    from hiermo.report.curves import draw_accuracy

    results = [{**result, "run_dir": str(d.path)} for d in directories if (result := d.result()) is not None]
    picture = draw_accuracy(directories, folder / "accuracy.png") if results else None
    if as_json:
        shown = [{key: value for key, value in result.items() if key != "format"} for result in results]
        sys.stdout.write(json.dumps({"runs": shown}, indent=2) + "\n")
        return
    if not results:
        return
    from hiermo.report.table import result_table

    console = Console()
    console.print(result_table(results))
    console.print(f"picture: {picture}", soft_wrap=True, highlight=False)
    console.print(f"run{'s' if len(results) > 1 else ''}: {folder}", soft_wrap=True, highlight=False)


def discard(directories: Sequence[RunDirectory], folder: Path, made: Sequence[Path]) -> None:
    """Takes back what was written before the input proved wrong; of the folders, those that were `made` for it."""
    (folder / GROUP).unlink(missing_ok=True)
    for directory in directories:
        directory.recipe_path.unlink(missing_ok=True)
        for trace in directory.path.glob("delays.*"):
            trace.unlink()
    for each in (*(directory.path for directory in directories if directory.path != folder), *made):
        with suppress(OSError):  # another process has put something in it
            each.rmdir()
