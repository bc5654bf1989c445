"""The table at the end of a run."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

FAIR = {f"accuracy_worst_{each}": f"worst {each}" for each in ("class", "worker", "edge")}  # where they were measured


def result_table(results: Sequence[dict[str, Any]]) -> Table:
    """One row per run, the best accuracy in bold."""
    fair = [name for name in FAIR if all(name in result for result in results)]
    table = Table(
        title=f"{results[0]['model']} on {results[0]['data']}",
        title_justify="left",
        box=box.SIMPLE_HEAD if fair else box.HEAVY_HEAD,  # eight columns and their lines are too wide for 80 characters
        padding=(0, 0, 0, 1) if fair else (0, 1),
    )
    table.add_column("algorithm", no_wrap=True)
    for name in ("accuracy", *(FAIR[key] for key in fair), "loss", "iterations", "seconds"):
        table.add_column(name, justify="right", no_wrap=not name.startswith("worst"))
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
