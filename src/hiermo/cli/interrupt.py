"""Ctrl-C: once to stop after a checkpoint, twice to stop at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import signal
from types import FrameType

import typer

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether to stop."""
    asked: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        typer.echo("stopping at the next merge, after a checkpoint; once more to stop at once", err=True)

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
