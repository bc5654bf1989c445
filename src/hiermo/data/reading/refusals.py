"""What a source says of files that are missing or damaged: one sentence, with the way out."""

from collections.abc import Sequence
from pathlib import Path

from hiermo.core.errors import UserError

SHOWN = 4  # of many missing files


def missing(name: str, files: Sequence[str], folder: Path) -> UserError:
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return UserError(
        f"data set {name}: {', '.join(files[:SHOWN])}{more} is not in {folder}; get it by `hiermo data fetch {name}` "
        f"or `hiermo data import {name} PATH`, or let HIERMO_DATA name another directory"
    )


def damaged(name: str, file: Path | str, why: str, directory: Path) -> UserError:
    return UserError(
        f"data set {name}: {file} {why}; get it again by `hiermo data fetch {name}` or "
        f"`hiermo data import {name} PATH`, or let HIERMO_DATA name another directory than {directory}"
    )
