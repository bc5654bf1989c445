"""The table at the end of a run."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from hiermo.core.units import human

FAIR = {f"accuracy_worst_{each}": f"worst {each}" for each in ("class", "worker", "edge")}  # where they were measured


def result_table(results: Sequence[dict[str, Any]]) -> Table:
    """One row per run, the best accuracy in bold; `sent` and `simulated` are of the network, `took` of this machine."""
    fair = [name for name in FAIR if all(name in result for result in results)]
    timed = any("simulated_seconds" in result for result in results)
    table = Table(
        title=f"{results[0]['model']} on {results[0]['data']}",
        title_justify="left",
        box=box.SIMPLE_HEAD if fair else box.HEAVY_HEAD,  # many columns and their lines are too wide for 80 characters
        padding=(0, 0, 0, 1) if fair else (0, 1),
        caption=f"simulated: {escape(results[0]['delays'])}" if timed else None,
        caption_justify="left",
    )
    table.add_column("algorithm", no_wrap=True)
    few = bool(fair) and timed  # then there is no room for what is of least interest
    shown = ["accuracy", *(FAIR[key] for key in fair), *([] if few else ["loss"]), "iterations"]
    for name in (*shown, *(["sent", "simulated"] if timed else []), *([] if few else ["took"])):
        table.add_column(name, justify="right", no_wrap=not name.startswith("worst"))
    best = max((r["accuracy"] for r in results if r["accuracy"] is not None), default=None)
    for result in results:
        table.add_row(
            escape(result["label"]),
            _accuracy(result["accuracy"], best),
            *(f"{100 * result[key]:.2f} %" for key in fair),
            *([] if few else [f"{result['loss']:.4f}"]),
            f"{result['iterations']}",
            *(_network(result) if timed else ()),
            *([] if few else [f"{result['seconds']:.1f} s"]),
        )
    return table


def _accuracy(value: float | None, best: float | None) -> str:
    shown = "-" if value is None else f"{100 * value:.2f} %"
    return f"[bold]{shown}[/bold]" if value is not None and value == best else shown


def _network(result: dict[str, Any]) -> tuple[str, str]:
    if "simulated_seconds" not in result:  # a run of before there was a clock
        return "-", "-"
    return human(result["bytes"]), f"{result['simulated_seconds']:,.1f} s"
