"""`hiermo init`."""

from pathlib import Path
from typing import Annotated

import typer


def init(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="Where to write it.")] = Path("recipe.toml"),
) -> None:
    """Write a commented recipe that runs as it is."""
    from importlib.resources import files

    from hiermo.core.errors import UserError

    target = path / "recipe.toml" if path.is_dir() else path
    starter = (files("hiermo.experiment") / "starter.toml").read_text(encoding="utf-8")
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(starter)
    except FileExistsError:
        raise UserError(f"{target} exists already: name another file") from None
    except OSError as error:
        raise UserError(f"{target}: cannot be written: {error.strerror}") from None
    typer.echo(f"wrote {target}; run it with: hiermo run {target}")
