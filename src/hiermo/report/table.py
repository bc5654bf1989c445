"""The table at the end of a run."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

FAIR = {f"accuracy_worst_{each}": f"worst {each}" for each in ("class", "worker", "edge")}  # where they were measured


def result_table(results: Sequence[dict[str, Any]]) -> Table:
    """One row per run, the best accuracy in bold."""
    table = Table(title=f"{results[0]['model']} on {results[0]['data']}", title_justify="left")
    table.add_column("algorithm")
    fair = [name for name in FAIR if all(name in result for result in results)]
    for name in ("accuracy", *(FAIR[key] for key in fair), "loss", "iterations", "seconds"):
        table.add_column(name, justify="right")
    best = max((r["accuracy"] for r in results if r["accuracy"] is not None), default=None)
    for result in results:
        accuracy = result["accuracy"]
        shown = "-" if accuracy is None else f"{100 * accuracy:.2f} %"
        table.add_row(
            escape(result["label"]),
            f"[bold]{shown}[/bold]" if accuracy is not None and accuracy == best else shown,
            *(f"{100 * result[key]:.2f} %" for key in fair),
            f"{result['loss']:.4f}",
            f"{result['iterations']}",
            f"{result['seconds']:.1f}",
        )
    return table
