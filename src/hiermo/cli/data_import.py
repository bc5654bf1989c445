"""`hiermo data import`."""

from pathlib import Path
from typing import Annotated

import typer


def import_set(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set of `hiermo list datasets`, as in mnist.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder that holds its files, or its archive.")],
) -> None:
    """Take over a data set that is on disk: verify it, and copy it to where recipes find it."""
    from rich.console import Console

    from hiermo.cli.data_bars import Bars, tell
    from hiermo.data.directory import data_directory
    from hiermo.data.obtain.fetchable import fetchable
    from hiermo.data.obtain.import_files import import_files

    wanted, directory = fetchable(name, (Path.cwd(),)), data_directory()
    with Bars(Console(stderr=True)) as bars:
        import_files(wanted, path, directory, bars)
    tell(name, directory / wanted.folder, "is now")
