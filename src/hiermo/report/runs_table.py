"""The runs of a store as a table for a terminal: as many columns as there is room for, and paths that stay whole."""

from collections.abc import Sequence
from os.path import relpath
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

from hiermo.core.printable import printable
from hiermo.core.units import human
from hiermo.experiment.store import StoredRun
from hiermo.report.summary import short_names, short_value, telling

COLOURS = {"finished": "green", "running": "cyan", "stopped": "yellow", "failed": "bold red", "new": "dim"}
HEADS = {"label": "algorithm", "simulated_seconds": "simulated", "date": "date (UTC)"}
TEXTS = ("run", "name", "label", "algorithm", "data", "model", "condition", "date", "error", "delays")
# what gives way first where there is no room, then settings, then the label; run, condition and accuracy stay
GIVE_WAY = ("iterations", "loss", "simulated_seconds", "date", "seed", "model", "data")
BETWEEN = 2  # characters between two columns


class Column(NamedTuple):
    """A column of the table, with what is told of each run."""

    name: str
    head: str
    cells: list[str]

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *self.cells)))


def runs_table(
    runs: Sequence[StoredRun], store: Path | None, width: int, names: Sequence[str] | None = None
) -> tuple[Table, list[str]]:
    """The table, and the heads of the columns that had to give way; with `names` just those, in lines of any length.

    Paths are told from `store` on; what all runs have in common stands above.
    """
    rows = [{**run.whole_row(), "run": _place(run.path, store)} for run in runs]
    common = {name: rows[0][name] for name in ("model", "data") if len({str(row[name]) for row in rows}) == 1}
    columns = _columns(runs, rows, common) if names is None else [_column(name, name, rows) for name in names]
    shown, dropped = (columns, []) if names is not None else _fitting(columns, width)
    table = Table(
        title=_title(store, common) if names is None else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, BETWEEN - 1, 0, 0),  # and the place where other tables have a line
        pad_edge=False,
        show_edge=False,
    )
    for column in shown:
        numeric = column.name not in TEXTS
        fold = column.name in ("run", "error", "delays") or names is not None
        table.add_column(
            escape(column.head),
            justify="right" if numeric else "left",
            no_wrap=not fold,
            overflow="fold" if fold else "ellipsis",
        )
    for k in range(len(rows)):
        table.add_row(*(_styled(column.name, column.cells[k]) for column in shown))
    return table, [column.head for column in dropped]


def _columns(runs: Sequence[StoredRun], rows: Sequence[dict[str, Any]], common: dict[str, Any]) -> list[Column]:
    heads = short_names([key for key in telling(runs) if key not in ("data.source", "model.name")])
    by_path = all(run.path.name == run.label for run in runs)
    before = [*([] if by_path else ["label"]), *(name for name in ("data", "model") if name not in common)]
    after = ["seed", "condition", "accuracy", "loss", "iterations", "simulated_seconds", "date"]
    names = {**dict.fromkeys(["run", *before]), **heads, **dict.fromkeys(after)}
    return [_column(name, head or HEADS.get(name, name), rows) for name, head in names.items()]


def _column(name: str, head: str, rows: Sequence[dict[str, Any]]) -> Column:
    return Column(name, printable(head), [shown_value(name, row.get(name)) for row in rows])


def _fitting(columns: list[Column], width: int) -> tuple[list[Column], list[Column]]:
    settings = [column.name for column in columns if "." in column.name]
    dropped: list[Column] = []
    for name in (*GIVE_WAY, *reversed(settings), "label"):
        if sum(column.width + BETWEEN for column in columns) <= width:
            break
        dropped += [column for column in columns if column.name == name]
        columns = [column for column in columns if column.name != name]
    return columns, dropped


def _place(path: Path, store: Path | None) -> str:
    if store is None or path == store:
        return str(path)
    return relpath(path, store)


def _title(store: Path | None, common: dict[str, Any]) -> str | None:
    words = [str(common[name]) for name in ("model", "data") if common.get(name) is not None]
    what = " on ".join(words)
    place = "" if store is None else f"{store}: " if what else str(store)
    return escape(printable(f"{place}{what}")) or None


def shown_value(name: str, value: Any) -> str:
    """A value as it stands in a table.

    >>> shown_value("accuracy", 0.943), shown_value("bytes", 2048), shown_value("periods.tau", None)
    ('94.30 %', '2 KiB', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:
        if "accuracy" in name and "." not in name:
            return f"{100 * value:.2f} %"
        if name == "bytes":
            return human(value)
        if name in ("simulated_seconds", "seconds"):
            return f"{value:,.1f} s"
        if "loss" in name and "." not in name:
            return f"{value:.4f}"
    if name == "date":
        return printable(str(value)[:16].replace("T", " "))
    if name in ("run", "error"):
        return printable(value)
    return printable(f"{value:.6g}" if isinstance(value, float) and "." not in name else short_value(value))


def _styled(name: str, text: str) -> str:
    colour = COLOURS.get(text) if name == "condition" else None
    return f"[{colour}]{escape(text)}[/]" if colour else escape(text)
