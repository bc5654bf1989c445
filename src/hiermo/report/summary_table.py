"""Mean and spread of series on a terminal, the best in bold."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from hiermo.core.units import human
from hiermo.report.summary import Series, summarise


def summary_table(series: Sequence[Series]) -> Table:
    """A row per series."""
    rows = summarise(series)
    several = any(row["n"] > 1 for row in rows)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption_justify="left")
    table.caption = "± standard deviation over seeds" if several else None
    table.add_column("runs")
    if several:
        table.add_column("seeds", justify="right")
    for name in ("accuracy", "loss", "simulated", "sent"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [
            _shown(row, "accuracy", 100, ".2f", " %"),
            _shown(row, "loss", 1, ".4f", ""),
            "-" if row["simulated_seconds"] is None else f"{row['simulated_seconds']:,.1f} s",
            "-" if row["bytes"] is None else human(row["bytes"]),
        ]
        table.add_row(escape(row["series"]), *([str(row["n"])] if several else []), *cells)
    return table


def _shown(row: dict[str, Any], name: str, scale: float, form: str, unit: str) -> str:
    mean, spread = row[name], row[f"{name}_deviation"]
    if mean is None:
        return "-"
    text = f"{scale * mean:{form}}" + (f" ± {scale * spread:{form}}" if spread is not None else "") + unit
    return f"[bold]{text}[/bold]" if name in row["best"] else text
