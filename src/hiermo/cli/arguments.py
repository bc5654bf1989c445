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
DelaysFile = Annotated[
    str | None,
    typer.Option(
        "--delays",
        metavar="FILE",
        help="Delays of the network: TOML, a trace in CSV or Parquet, or a built-in profile by name; "
        "else those of the recipe, else the profile 'paper'.",
    ),
]
Log = Annotated[
    list[str] | None,
    typer.Option(
        "--log", metavar="NAME", help="Log to tensorboard, mlflow or wandb as well; several times for several."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
