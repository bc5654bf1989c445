"""What `hiermo run --dry-run` tells."""

import json
import sys

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hiermo.cli.loading import loading
from hiermo.experiment.recipe import Recipe


def show_plan(recipe: Recipe, as_json: bool) -> None:
    with loading("measuring a few iterations"):
        from hiermo.experiment.estimate import estimate

        told = estimate(recipe)
    if as_json:
        sys.stdout.write(json.dumps({"dry_run": told}, indent=2) + "\n")
        return
    console = Console(highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for key in ("tree", "data", "model", "parameters", "gradients", "memory", "delays"):
        table.add_row(key, f"{told[key]:,}" if isinstance(told[key], int) else escape(str(told[key])))
    console.print(table)
    runs = Table(title="runs", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    runs.add_column("algorithm")
    for name in ("iterations", "rounds", "messages", "sent", "simulated", "time here"):
        runs.add_column(name, justify="right")
    for run in told["runs"]:
        runs.add_row(
            escape(run["label"]),
            str(run["iterations"]),
            str(run["cloud_rounds"]),
            f"{run['messages']:,}",
            run["traffic"],
            f"{run['simulated_seconds']:,.1f} s",
            f"about {run['seconds']:.1f} s",
        )
    console.print(runs)
