"""`hiermo reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiermo.cli.arguments import AsJson

if TYPE_CHECKING:
    from hiermo.reproduction.reproduce import Reproduction
    from hiermo.reproduction.study import Study
    from hiermo.reproduction.tables import Grid


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A study, as --list names them.")] = None,
    scale: Annotated[
        float, typer.Option(min=0.0001, max=1.0, help="Fewer iterations, samples per worker and test samples.")
    ] = 1.0,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds; else as many as the study has.")] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, metavar="T", help="At most so many iterations; everything else as it is.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="LABEL", help="One algorithm; several times for several.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Results, table and figure; runs whose results are there are not made."),
    ] = Path("runs/reproduction"),
    runs: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Run directories; else in the folder of --out.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; else as many as cores and memory allow.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try runs again that failed before.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Train nothing: show what the results say.")] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="All studies: what they check and how long they take.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a table or a figure of the paper again, and say what agrees; the same command goes on where it stopped."""
    from hiermo.core.errors import UserError
    from hiermo.reproduction.plan import Size
    from hiermo.reproduction.reproduce import opened
    from hiermo.reproduction.study import study_of

    if listed:
        _list(as_json)
        return
    if name is None:
        raise UserError(
            "name a study, as in `hiermo reproduce logistic-mnist`; `hiermo reproduce --list` names them all"
        )
    size = Size(scale, seeds, iterations, tuple(only or ()))
    of = opened(study_of(name), size, out, runs)
    if not show:
        if of.study.budgets:
            of = _tuned(of, out, runs)
        _train(of, jobs, retry)
    _show(of, as_json)


def _tuned(of: "Reproduction", out: Path, runs: Path | None) -> "Reproduction":
    """Periods are chosen for each budget first; what is chosen is trained, too."""
    from hiermo.cli.training import load_problem
    from hiermo.cli.tune import bars
    from hiermo.experiment.recipe_file import load
    from hiermo.reproduction.plan import narrower
    from hiermo.reproduction.reproduce import opened
    from hiermo.tuning.tune import tune, tuned_part

    known = dict(of.results.extra.get("tuned", {}))
    left = [budget for budget in of.study.budgets if f"{budget:g}" not in known]
    if left:
        recipe = load(of.study.recipe, [*of.study.settings, *narrower(of.study, of.size)])
        problem = load_problem(recipe)
        for budget in left:
            with bars() as show:
                found = tune(recipe, tuned_part(recipe), problem, budget * of.size.scale, show=show)
            known[f"{budget:g}"] = found.json()
            of.note(tuned=known, chosen=sorted({tuple(each["periods"]) for each in known.values()}))
    return opened(of.study, of.size, out, runs)


def _train(of: "Reproduction", jobs: int | None, retry: bool) -> None:
    from hiermo.cli.sweep_progress import shown
    from hiermo.reproduction.reproduce import reproduce as reproduced

    of.take(of.missing)
    of.adopt()
    if of.missing or retry:
        shown(lambda stop: reproduced(of, processes=jobs, retry=retry, stop=stop))


def _show(of: "Reproduction", as_json: bool) -> None:
    import json
    import sys

    from hiermo.core.files import write_text
    from hiermo.reproduction.claims import judged
    from hiermo.reproduction.figures import draw
    from hiermo.reproduction.outcome import outcomes
    from hiermo.reproduction.page import page
    from hiermo.reproduction.tables import claims_grid, tables

    claims = judged(of)
    picture = draw(of, of.path.with_suffix(".png")) if of.found else None
    written = of.path.with_suffix(".md")
    if of.found:
        write_text(written, page(of, picture))
    if as_json:
        told = [
            {"label": each.label, "cell": each.cell, "mean": each.mean, "values": each.values, "metric": each.metric}
            | {"published": each.published, "gap": each.gap, "verdict": each.verdict}
            for each in outcomes(of)
        ]
        facts: dict[str, Any] = {"study": of.study.name, "runs": len(of.found), "planned": len(of.planned)}
        facts |= {"outcomes": told, "claims": [claim._asdict() for claim in claims]}
        facts |= {
            "files": {"results": str(of.path), "page": str(written), "picture": str(picture) if picture else None}
        }
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return
    _print([*tables(of), *([claims_grid(claims)] if claims else [])], of)
    typer.echo(f"{len(of.found)} of {len(of.planned)} runs; results: {of.path}")
    if picture is not None:
        typer.echo(f"page: {written}\npicture: {picture}")


def _print(grids: "list[Grid]", of: "Reproduction") -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"{of.study.title} ({of.study.place})", markup=False)
    for grid in grids:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in grid.head:
            table.add_column(escape(name), overflow="fold")
        for row in grid.rows:
            table.add_row(*map(escape, row))
        console.print(table)


def _list(as_json: bool) -> None:
    import json
    import sys

    from rich import box
    from rich.console import Console
    from rich.table import Table

    from hiermo.reproduction.claims import CHECKS
    from hiermo.reproduction.study import studies

    if as_json:
        told = [
            {"name": each.name, "title": each.title, "place": each.place, "recipe": each.recipe}
            | {"seeds": each.seeds, "iterations": each.length, "minutes": each.minutes}
            | {"checks": [CHECKS[name][0] for name in each.claims]}
            for each in studies().values()
        ]
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in ("study", "of the paper", "takes", "checks"):
        table.add_column(head, no_wrap=head == "study")
    for each in studies().values():
        table.add_row(each.name, each.place, _takes(each), ", ".join(each.claims))
    console = Console(highlight=False)
    console.print(table)
    for name, (says, _) in CHECKS.items():
        console.print(f"{name}: {says}", markup=False)
    console.print("takes: measured on two cores of a server; --scale 0.1 and --seeds 1 make it shorter")


def _takes(study: "Study") -> str:
    """How long it took; where that was a shorter version, also about how long the whole of it takes."""
    from hiermo.core.units import duration
    from hiermo.experiment.recipe_file import load

    if study.minutes is None:
        return "not measured"
    if study.length is None:
        return duration(60 * study.minutes)
    whole = study.minutes * load(study.recipe).train.iterations / study.length
    return f"{duration(60 * study.minutes)} (T = {study.length}), about {duration(60 * whole)} in full"
