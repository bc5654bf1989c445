"""The table at the end of a run."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table


def result_table(results: Sequence[dict[str, Any]]) -> Table:
    """One row per run, the best accuracy in bold."""
    table = Table(title=f"{results[0]['model']} on {results[0]['data']}", title_justify="left")
    table.add_column("algorithm")
    for name in ("accuracy", "loss", "iterations", "seconds"):
        table.add_column(name, justify="right")
    best = max((r["accuracy"] for r in results if r["accuracy"] is not None), default=None)
    for result in results:
        accuracy = result["accuracy"]
        shown = "-" if accuracy is None else f"{100 * accuracy:.2f} %"
        table.add_row(
            escape(result["label"]),
            f"[bold]{shown}[/bold]" if accuracy is not None and accuracy == best else shown,
            f"{result['loss']:.4f}",
            f"{result['iterations']}",
            f"{result['seconds']:.1f}",
        )
    return table
