"""What the verbs of the store share: reading with a sign of life, choosing, and naming what could not be read."""

from collections.abc import Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hiermo.experiment.store import Found, StoredRun, Unreadable

PATIENCE_S = 1.0
MOST_NOTES = 10

WhereText = Annotated[
    str | None,
    typer.Option("--where", metavar="EXPR", help='Only those of which this is true, as in "accuracy > 0.9".'),
]


def read_stores(paths: Sequence[Path]) -> "Found":
    """The runs, each with its last evaluation; where that takes long, a spinner tells how far it is."""
    from rich.console import Console

    from hiermo.experiment.store import find_runs, read_run

    begun = monotonic()
    status = Console(stderr=True).status("reading runs")

    def show(count: int) -> None:
        if monotonic() - begun > PATIENCE_S:
            status.start()
            status.update(f"reading runs: {count}")

    try:
        return find_runs(paths, partial(read_run, last_only=True), show)
    finally:
        status.stop()


def chosen(runs: "Sequence[StoredRun]", where: str | None) -> "list[StoredRun]":
    from hiermo.experiment.where import Where

    if where is None:
        return list(runs)
    rows = [run.whole_row() for run in runs]
    true = Where(where, (name for row in rows for name in row)).chosen(rows) if rows else []
    return [run for run, holds in zip(runs, true, strict=True) if holds]


def note_unreadable(unreadable: "Sequence[Unreadable]") -> None:
    """On standard error, so that they do not get into what is piped."""
    from hiermo.core.printable import printable

    for path, why in unreadable[:MOST_NOTES]:
        typer.echo(f"note: {printable(path)}: {printable(why)}", err=True)
    if len(unreadable) > MOST_NOTES:
        typer.echo(f"note: and {len(unreadable) - MOST_NOTES} more that cannot be read; --json names all", err=True)


def jsonable(value: Any) -> Any:
    """As JSON can say it: what is not finite is null, a date a text."""
    if isinstance(value, dict):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(each) for each in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
