"""`hiermo ls`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiermo.cli.arguments import AsJson
from hiermo.cli.reading_stores import WhereText

if TYPE_CHECKING:
    from hiermo.experiment.store import StoredRun


def ls(
    stores: Annotated[
        list[Path] | None,
        typer.Argument(metavar="STORE...", help="Folders of runs, at any depth.", show_default="runs"),
    ] = None,
    where: WhereText = None,
    sort: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY", help="Order by this; -KEY: largest first. Several by commas, or by several --sort."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="KEY,...", help="What to tell, as in run,accuracy,periods.tau.")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print a CSV table with every column and nothing else.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the runs of a store: what they are, how they stand and what they reached."""
    import json
    import sys

    from hiermo.cli.reading_stores import chosen, jsonable, note_unreadable, read_stores
    from hiermo.core.errors import UserError

    if as_csv and as_json:
        raise UserError("--csv and --json: choose one of them")
    paths = stores or [Path("runs")]
    found = read_stores(paths)
    rows = {run.path: run.whole_row() for run in found.runs}
    known = list(dict.fromkeys(name for row in rows.values() for name in row))
    names = _names("--columns", (columns or "").split(","), known) if rows else []
    runs = _sorted(chosen(found.runs, where), rows, sort or (), known)
    told = [{name: rows[run.path].get(name) for name in names or rows[run.path]} for run in runs]
    if as_json:
        unreadable = [{"path": str(path), "why": why} for path, why in found.unreadable]
        sys.stdout.write(json.dumps({"rows": jsonable(told), "unreadable": unreadable}, indent=2) + "\n")
        return
    if as_csv:
        _write_csv(told, names or [name for name in known if any(name in row for row in told)])
    else:
        _show(runs, paths, names or None)
    note_unreadable(found.unreadable)


def _names(option: str, words: Sequence[str], known: Sequence[str]) -> list[str]:
    from hiermo.core.errors import UserError
    from hiermo.experiment.where import column

    try:
        return [column(word.strip(), known) for word in words if word.strip()]
    except UserError as error:
        raise UserError(f"{option}: {error}") from None


def _sorted(
    runs: "Sequence[StoredRun]", rows: dict[Path, dict[str, Any]], sort: Sequence[str], known: Sequence[str]
) -> "list[StoredRun]":
    """By the last key first: an order that is there is kept among equals."""
    from hiermo.experiment.where import plain
    from hiermo.report.summary import rank

    ordered = list(runs)
    words = [word.strip() for text in sort for word in text.split(",") if word.strip()]
    for word in reversed(words if ordered else []):
        (name,) = _names("--sort", [word.removeprefix("-")], known)
        values = {run.path: plain(rows[run.path].get(name)) for run in ordered}
        have = [run for run in ordered if values[run.path] is not None]
        have.sort(key=lambda run: rank(values[run.path]), reverse=word.startswith("-"))
        ordered = have + [run for run in ordered if values[run.path] is None]
    return ordered


def _write_csv(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    import csv
    import sys

    from hiermo.cli.reading_stores import jsonable
    from hiermo.core.printable import printable

    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(map(printable, names))
    for row in rows:
        values = (jsonable(row.get(name)) for name in names)
        table.writerow("" if value is None else printable(value) for value in values)


def _show(runs: "Sequence[StoredRun]", stores: Sequence[Path], names: Sequence[str] | None) -> None:
    import os
    import sys

    from rich.console import Console

    from hiermo.report.runs_table import runs_table

    told = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(highlight=False, width=None if told else 1000)  # a file may have long lines
    if runs:
        table, left_out = runs_table(runs, stores[0] if len(stores) == 1 else None, console.width, names)
        console.print(table)
        if left_out:
            console.print(f"no room for: {', '.join(left_out)}; --columns names what to tell", markup=False)
    conditions = [run.condition for run in runs]
    counts = [f"{conditions.count(name)} {name}" for name in dict.fromkeys(sorted(conditions, key=ORDER.index))]
    noun = "run" if len(runs) == 1 else "runs"
    console.print(f"{len(runs)} {noun}{': ' if counts else ''}{', '.join(counts)}")


ORDER = ("finished", "running", "stopped", "failed", "new")
