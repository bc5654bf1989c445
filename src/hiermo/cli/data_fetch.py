"""`hiermo data fetch`."""

from pathlib import Path
from typing import Annotated

import typer


def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set of `hiermo list datasets`, as in mnist.")],
) -> None:
    """Fetch a data set from the web, verify it, and put it where recipes find it.

    An interrupted download goes on where it stopped. HIERMO_DATA names another directory than the user's cache;
    HIERMO_MIRROR an address that is tried first, as HIERMO_MIRROR/FOLDER/FILE.
    """
    import shlex

    from rich.console import Console

    from hiermo.cli.data_bars import Bars, tell
    from hiermo.data.directory import data_directory
    from hiermo.data.obtain.fetch import fetch as fetch_set
    from hiermo.data.obtain.fetchable import fetchable

    wanted, directory = fetchable(name, (Path.cwd(),)), data_directory()
    try:
        with Bars(Console(stderr=True)) as bars:
            new = fetch_set(wanted, directory, bars)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; go on with: hiermo data fetch {shlex.quote(name)}", err=True)
        raise typer.Exit(130) from None
    tell(name, directory / wanted.folder, "is now" if new else "was already")
