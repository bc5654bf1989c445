"""What `run` and `resume` share: train run directories with live progress, then show table and picture."""

from collections.abc import Sequence
from contextlib import suppress
import json
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from rich.console import Console
import typer

from hiermo.cli.interrupt import stop_on_signal
from hiermo.cli.progress import Bars
from hiermo.core.errors import Diverged
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.run_directory import GROUP, RunDirectory

if TYPE_CHECKING:
    from hiermo.problems.supervised import Supervised


def load_problem(recipe: Recipe) -> "Supervised":
    """The data and the model; the first thing that takes time."""
    with Console(stderr=True).status("loading torch and the data"):
        from hiermo.experiment.assemble import problem_of

        return problem_of(recipe)


def train_all(directories: Sequence[RunDirectory], problem: "Supervised") -> None:
    """Train one after the other; exits with 130 where the user stopped it, with 2 after the last if one diverged."""
    from hiermo.experiment.train import Interrupted, train

    failed = []
    with stop_on_signal() as stop, Bars(Console(stderr=True)) as bars:
        for directory in directories:
            recipe = directory.recipe()
            bar = bars.add(recipe)
            try:
                for progress in train(directory, recipe, problem, stop):
                    bar.show(progress)
            except Diverged as error:
                failed.append(f"{directory.path}: {error}; its last good state is in {directory.checkpoint_path.name}")
                continue
            except Interrupted:
                typer.echo(f"interrupted; go on with: hiermo resume {directory.path}", err=True)
                raise typer.Exit(130) from None
            bar.finish()
    for message in failed:
        typer.echo(f"error: {message}", err=True)
    if failed:
        raise typer.Exit(2)


def show(directories: Sequence[RunDirectory], folder: Path, as_json: bool) -> None:
    """The table and the picture of finished runs, or one JSON object."""
    from hiermo.report.curves import draw_accuracy

    results = [{**result, "run_dir": str(d.path)} for d in directories if (result := d.result()) is not None]
    picture = draw_accuracy(directories, folder / "accuracy.png")
    if as_json:
        shown = [{key: value for key, value in result.items() if key != "format"} for result in results]
        sys.stdout.write(json.dumps({"runs": shown}, indent=2) + "\n")
        return
    from hiermo.report.table import result_table

    console = Console()
    console.print(result_table(results))
    console.print(f"picture: {picture}", soft_wrap=True, highlight=False)
    console.print(f"run{'s' if len(results) > 1 else ''}: {folder}", soft_wrap=True, highlight=False)


def discard(directories: Sequence[RunDirectory], folder: Path) -> None:
    """Takes back directories in which nothing but the recipe was written, after the input proved wrong."""
    (folder / GROUP).unlink(missing_ok=True)
    for directory in directories:
        directory.recipe_path.unlink(missing_ok=True)
        with suppress(OSError):  # a folder of the user's that holds other things stays
            directory.path.rmdir()
    with suppress(OSError):
        folder.rmdir()
