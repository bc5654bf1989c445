"""`hiermo cite`."""

from pathlib import Path
from typing import Annotated

import typer


def cite(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run directory, or a folder of several that one run made.")
    ],
) -> None:
    """Print the BibTeX of what a run used: this software's paper, the algorithms, the data."""
    from hiermo.core.references import bibtex
    from hiermo.experiment.run_directory import opened

    keys = ["hiermo"]
    for each in opened(directory):
        recipe = each.recipe()
        for part in (*recipe.algorithms, recipe.source):
            keys += getattr(part.made, "cites", ())
    typer.echo(bibtex(keys))
