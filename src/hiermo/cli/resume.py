"""`hiermo resume`."""

from pathlib import Path
from typing import Annotated

import typer

from hiermo.cli.arguments import AsJson, Log


def resume(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run directory, or a folder of several that one run made.")
    ],
    iterations: Annotated[int | None, typer.Option(min=1, help="Go on to this iteration.")] = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Go on with an interrupted or killed run from its last checkpoint; a finished one shows its result."""
    from hiermo.cli.training import load_problem, log_finished, show, train_all
    from hiermo.experiment.extend import extend
    from hiermo.experiment.run_directory import opened
    from hiermo.experiment.trackers import usable

    usable(log or ())
    directories = opened(directory)
    if iterations is not None:
        for each in directories:
            extend(each, iterations)
    todo = [each for each in directories if each.result() is None]
    log_finished([each for each in directories if each not in todo], log or ())
    failed = train_all(todo, load_problem(todo[0].recipe()), directory, log or ()) if todo else []
    show(directories, directory, as_json, failed)
