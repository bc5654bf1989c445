"""`hiermo tune`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hiermo.cli.arguments import AsJson, DelaysFile, RecipeName, Seed, Settings

if TYPE_CHECKING:
    from rich.table import Table

    from hiermo.tuning.tune import Tuning


def tune(
    recipe: RecipeName,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Simulated time to train in, as in 400s, 10min or 2h.")],
    delays: DelaysFile = None,
    algorithm: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Which of the recipe's; else the first that has edges.")
    ] = None,
    method: Annotated[
        Literal["calibrated", "printed"],
        typer.Option(help="How to choose: by what iterations are worth, or by the paper's bound."),
    ] = "calibrated",
    pilot_share: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="The pilot takes at most this share of the budget.")
    ] = 0.05,
    verify: Annotated[
        bool, typer.Option("--verify", help="Train at every pair of a grid too, and draw what they reach.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to write; else runs/NAME-tuned. Its pilot is used again."),
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Find the best periods for a time budget, by a short pilot run; writes a recipe that is ready to run."""
    import json
    import sys

    from rich.console import Console

    from hiermo.cli.training import load_problem
    from hiermo.core.errors import UserError
    from hiermo.core.units import seconds_of
    from hiermo.experiment import recipe_file

    budget_s = seconds_of(budget)
    if budget_s is None:
        raise UserError(f"--budget {budget}: write a time above 0, as in 400s, 10min or 2h")
    chosen = recipe_file.load(recipe, settings or (), seed, delays)
    folder = out or Path("runs") / f"{chosen.name}-tuned"
    problem = load_problem(chosen)

    from hiermo.tuning.kept import keep, keep_verified, kept_pilots
    from hiermo.tuning.tune import tune as tuned
    from hiermo.tuning.tune import tuned_part

    part = tuned_part(chosen, algorithm)
    with bars() as show:
        found = tuned(
            chosen,
            part,
            problem,
            budget_s,
            method=method,
            share=pilot_share,
            pilots=kept_pilots(folder, chosen, part),
            show=show,
        )
        files = keep(folder, found, chosen, part)
        checked = _verified(found, problem, folder, show) if verify else {}
    if checked.get("verified"):
        keep_verified(folder, checked["verified"])
    told = {**found.json(), "files": {name: str(path) for name, path in files.items()}, **checked}

    from hiermo.report.periods_picture import draw_bound

    told["files"]["picture"] = str(draw_bound(found, folder / "bound.png"))
    if as_json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    _tell(Console(highlight=False), found, told)


def _verified(found: "Tuning", problem: Any, folder: Path, show: Any) -> dict[str, Any]:
    from hiermo.report.periods_picture import draw_accuracies
    from hiermo.tuning.grid import reached_at, usual_pairs

    if len(found.periods) != 2:
        return {"verified": None}
    reached = reached_at(found.clocked, problem, usual_pairs(found.times), found.budget_s, show)
    metric = "train_accuracy" if all("train_accuracy" in each for each in reached.values()) else "accuracy"
    own = reached_at(found.clocked, problem, [found.periods], found.times.budget_s, show)
    accuracies = {pair: each[metric] for pair, each in reached.items()}
    best = max(accuracies, key=lambda pair: accuracies[pair])
    here = own[found.periods][metric]
    picture = draw_accuracies(
        [(f"{found.budget_s:g} s", accuracies, {"chosen": (found.periods, here)})],
        folder / "accuracy.png",
        f"{found.clocked.recipe.model.name} on {found.clocked.recipe.source.name}, {found.clocked.part.label}",
        "training accuracy (%)" if metric == "train_accuracy" else "test accuracy (%)",
        columns=1,
    )
    return {
        "verified": {
            "metric": metric,
            "grid": [{"periods": list(pair), **each} for pair, each in reached.items()],
            "best": list(best),
            "best_accuracy": accuracies[best],
            "accuracy": here,
            "gap_points": 100 * (accuracies[best] - here),
            "picture": str(picture),
        }
    }


@contextmanager
def bars() -> Iterator[Any]:
    """A bar on standard error for whatever takes its time."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
    )
    with Progress(
        *columns, TimeRemainingColumn(compact=True), console=Console(stderr=True), transient=True
    ) as progress:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, of: int) -> None:
            if what not in tasks:
                for other in tasks.values():
                    progress.update(other, visible=False)
                tasks[what] = progress.add_task(what, total=of)
            progress.update(tasks[what], completed=done, total=of)

        yield show


def _tell(console: Any, found: "Tuning", told: dict[str, Any]) -> None:
    names = [f"{name} = {period}" for name, period in zip(("tau", "pi"), found.periods, strict=False)]
    names += [f"period {k} = {period}" for k, period in enumerate(found.periods[2:], 3)]
    merges = " + ".join(f"{seconds:.3g}" for seconds in found.times.upper)
    console.print(f"{found.clocked.part.label} on {found.clocked.tree}; delays: {found.clocked.delays}", markup=False)
    console.print(f"an iteration takes {found.times.theta_w:.3g} s, merges with their messages {merges} s")
    console.print(
        f"pilot: {found.pilot.size.iterations} iterations, {found.pilot_s:.3g} s, "
        f"{100 * found.pilot_share:.1f} % of {found.budget_s:g} s"
    )
    console.print(constants_table(found))
    console.print(f"[bold]{', '.join(names)}[/bold]", markup=True)
    console.print(
        f"{found.iterations} iterations in {found.rounds} cloud rounds take {found.seconds:,.1f} simulated s; "
        f"worth {told['effective_iterations']:,.0f} with all periods 1; bound {found.bound:.4g} ({found.method})"
    )
    (first, last), off = found.near, found.if_off
    within = f"{100 * told['nearly_as_good']['within']:g} %"
    console.print(f"within {within} of the best: from {list(first)} to {list(last)}, one at a time")
    console.print("if the drift were off by its uncertainty: " + ", ".join(f"{n}: {list(p)}" for n, p in off.items()))
    if found.printed is not None:
        console.print(
            f"the paper's bound has its least at {list(found.printed.exact.periods)}; its HierOPT walks from "
            f"{list(found.printed.walk.path[0])} to {list(found.printed.walk.periods)}"
        )
        for line in found.printed.disagreements:
            console.print(f"  {line}", markup=False)
    for note in found.notes:
        console.print(f"note: {note}", markup=False)
    if verified := told.get("verified"):
        console.print(
            f"verified: {100 * verified['accuracy']:.2f} % here, {100 * verified['best_accuracy']:.2f} % at the grid's "
            f"best, {verified['best']}: a gap of {verified['gap_points']:.2f} points; picture: {verified['picture']}",
            markup=False,
            soft_wrap=True,
        )
    console.print(f"picture: {told['files']['picture']}", markup=False, soft_wrap=True)
    console.print(f"go on with: hiermo run {told['files']['recipe']}", markup=False, soft_wrap=True)


def constants_table(found: "Tuning") -> "Table":
    """A row for each constant, with how it was found."""
    from rich import box
    from rich.table import Table

    from hiermo.tuning.choose import tier_names

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("constant", "value", "±"):
        table.add_column(name, justify="left" if name == "constant" else "right", no_wrap=True)
    table.add_column("how")
    rows = dict(found.estimates.of)
    rows |= {
        f"drift of {tier}": each
        for tier, each in zip(tier_names(len(found.periods)), found.estimates.lost, strict=True)
    }
    for name, each in rows.items():
        table.add_row(name, f"{each.value:.4g}", f"{each.uncertainty:.2g}", each.rule)
    return table
