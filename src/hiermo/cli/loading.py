"""What is shown while torch and the data are loaded; decoding a large set for the first time takes a minute."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from hiermo.data.reading.decoded import progress


@contextmanager
def loading(what: str) -> Iterator[Status]:
    """A spinner on standard error, with how far the decoding is."""
    with Console(stderr=True).status(what) as status:

        def show(done: int, total: int, doing: str) -> None:
            share = f": {done} of {total}" if total > 1 else ""
            status.update(f"{what}: {doing}{share}")

        token = progress.set(show)
        try:
            yield status
        finally:
            progress.reset(token)
