"""Arguments that several verbs take."""

from typing import Annotated

import typer

RecipeName = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A recipe file, or a shipped one by name, as in quick/digits.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("-s", "--set", metavar="KEY=VALUE", help="Change a key of the recipe, as in -s periods.tau=20."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed; short for -s train.seed=N.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
