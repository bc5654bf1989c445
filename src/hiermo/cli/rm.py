"""`hiermo rm`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiermo.cli.reading_stores import WhereText

if TYPE_CHECKING:
    from hiermo.experiment.remove import Plan

MOST_SHOWN = 20


def rm(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run directories, or folders of several; with --where, any store."),
    ],
    where: WhereText = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also runs with files in them that are not of hiermo's making, and those.")
    ] = False,
) -> None:
    """Remove runs: shows what would go and asks first; one that is being trained is never removed."""
    import sys

    from hiermo.cli.reading_stores import chosen, note_unreadable, read_stores
    from hiermo.core.errors import UserError
    from hiermo.core.printable import printable
    from hiermo.experiment.remove import Kept, is_group, planned, remove, runs_at

    if where is None:
        plan = planned([run for path in paths for run in runs_at(path)], filter(is_group, paths), every)
    else:
        found = read_stores(paths)
        note_unreadable(found.unreadable)
        plan = planned([run.path for run in chosen(found.runs, where)], foreign_too=every, within=paths)
    _show(plan)
    kept = list(plan.kept)
    if plan.runs or (where is None and plan.groups and not kept):
        if not yes and not sys.stdin.isatty():
            raise UserError("nobody is there to be asked whether to remove them: add --yes")
        if not yes and not _agreed():
            typer.echo("nothing was removed", err=True)
            return
        gone = 0
        for each in remove(plan):
            kept += [each] if isinstance(each, Kept) else []
            gone += 0 if isinstance(each, Kept) else 1
        typer.echo(f"removed {_count(gone)}")
    if kept:
        raise UserError("\n".join(f"kept {printable(_short(path))}: {printable(why)}" for path, why in kept))


def _agreed() -> bool:
    try:
        return typer.confirm("Remove them?", err=True)
    except typer.Abort:  # Ctrl-C and Ctrl-D mean no
        return False


def _show(plan: "Plan") -> None:
    """On standard error, beside the question."""
    from hiermo.core.printable import printable
    from hiermo.core.units import human

    for run in plan.runs[:MOST_SHOWN]:
        place = printable(_short(run.path))
        typer.echo(f"  {place}  {run.condition}, {human(run.size_bytes)}", err=True)
    if len(plan.runs) > MOST_SHOWN:
        typer.echo(f"  and {len(plan.runs) - MOST_SHOWN} more", err=True)
    conditions = [run.condition for run in plan.runs]
    counts = ", ".join(f"{conditions.count(name)} {name}" for name in dict.fromkeys(conditions))
    told = f": {counts}; {human(plan.size_bytes)}" if plan.runs else ""
    typer.echo(f"{_count(len(plan.runs))} to remove{told}", err=True)


def _count(number: int) -> str:
    return f"{number} run" if number == 1 else f"{number} runs"


def _short(path: Path) -> Path:
    """From here on, where it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
