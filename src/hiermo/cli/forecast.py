"""`hiermo forecast`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiermo.cli.arguments import AsJson, DelaysFile, RecipeName, Seed, Settings

if TYPE_CHECKING:
    from rich.table import Table


def forecast(
    recipe: RecipeName,
    workers: Annotated[int | None, typer.Option(min=1, help="How many workers; else as in the recipe.")] = None,
    edges: Annotated[int | None, typer.Option(min=1, help="How many edges they are divided among.")] = None,
    delays: DelaysFile = None,
    rounds: Annotated[int, typer.Option(min=1, help="Cloud rounds to go through.")] = 10,
    every: Annotated[
        bool, typer.Option("--all", help="All algorithms of the recipe, not only the first that has edges.")
    ] = False,
    settings: Settings = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Tell the seconds and bytes of a cloud round on a tree of any size, with edges and without, without training."""
    import json
    import sys

    from rich.console import Console

    from hiermo.cli.loading import loading
    from hiermo.experiment import recipe_file

    chosen = recipe_file.load(recipe, settings or (), seed, delays)
    with loading("loading the model") as status:
        from hiermo.experiment.forecast import forecast as foretold

        def show(what: str, done: int) -> None:
            status.update(f"{what}: cloud round {done} of {rounds}")

        told = foretold(chosen, workers, edges, rounds, every, show)
    if as_json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    console = Console(highlight=False)
    console.print(f"{told['tree']}; periods {told['periods']}; {told['model']}, {told['parameters']:,} parameters")
    console.print(f"delays: {told['delays']}; means over {rounds} cloud rounds", markup=False, soft_wrap=True)
    console.print(forecast_table(told))


def forecast_table(told: dict[str, Any]) -> "Table":
    """A row per algorithm and kind of tree."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from hiermo.core.units import human

    table = Table(title="one cloud round", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("algorithm", no_wrap=True)
    table.add_column("tiers", justify="right")
    for name in ("seconds", "±", "worker-edge", "edge-cloud", "worker-cloud"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in told["algorithms"]:
        for tiers, found in ((3, each), (2, each.get("two_tier", {}))):
            if "seconds_per_cloud_round" not in found:
                continue
            sent = found["bytes_per_cloud_round"]
            spread = found["seconds_deviation"]
            table.add_row(
                escape(each["label"]),
                str(tiers),
                f"{found['seconds_per_cloud_round']:,.2f}",
                "-" if spread is None else f"{spread:,.2f}",
                *(human(sent[name]) if name in sent else "" for name in ("worker-edge", "edge-cloud", "worker-cloud")),
            )
    return table
