"""Live progress of fetching and importing, on standard error, and the last words on standard output."""

from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
import typer

from hiermo.data.obtain.listener import Listener


class Bars(Listener):
    """A bar per file: bytes, rate, time left."""

    def __init__(self, console: Console) -> None:
        narrow = console.width < 110
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=8 if narrow else 24),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(compact=True),
            *([] if narrow else [TextColumn("left")]),
            console=console,
        )
        self._widest = max(12, console.width - (48 if narrow else 72))  # what the other columns leave

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def progress(self, doing: str, file: str, done: int, total: int | None) -> None:
        if (doing, file) not in self._tasks:  # begins at `done`, or a resumed download would seem very fast
            what = file if doing == "fetching" else f"{doing} {file}"
            shown = what if len(what) <= self._widest else f"{what[: self._widest - 1]}…"
            self._tasks[doing, file] = self._progress.add_task(escape(shown), total=total, completed=done)
        self._progress.update(self._tasks[doing, file], completed=done, total=total)

    def note(self, sentence: str) -> None:
        self._progress.console.print(sentence, style="dim", soft_wrap=True, markup=False, highlight=False)


def tell(name: str, folder: Path, verb: str) -> None:
    """Where the set lies, and how a recipe names it."""
    typer.echo(f"{name} {verb} in {folder}")
    typer.echo(f'in a recipe: data.source = "{name}", or: hiermo run RECIPE -s data.source={name}')
