"""`hiermo bounds`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from hiermo.cli.arguments import AsJson, RecipeName, Seed, Settings


def bounds(
    recipe: RecipeName,
    settings: Settings = None,
    seed: Seed = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="How many; else the recipe's, and no more than 20 rounds of the cloud."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw both sides of the theorems.")] = None,
    as_json: AsJson = False,
) -> None:
    """Hold the paper's theorems against a real run: constants, left and right sides, whether they hold.

    HierMo runs on the recipe's data, tree and periods with full gradients instead of batches, beside the virtual
    updates of its proofs; the constants are those of that very run.
    """
    import json
    import sys

    from rich.console import Console

    from hiermo.cli.loading import loading
    from hiermo.core.errors import UserError
    from hiermo.experiment import recipe_file

    if out is not None and (out.suffix.lower() != ".png" or not out.parent.is_dir()):
        raise UserError(f"--out {out}: name a .png file in a folder that exists")
    given = recipe_file.load(recipe, settings or (), seed)
    with loading("loading torch and the data"):
        from hiermo.tuning.check_recipe import check_recipe, checkable, left_out, whole_problem

        chosen, part = checkable(given, iterations)
        problem = whole_problem(chosen)
    with steps(chosen.train.iterations) as show:
        checked = check_recipe(chosen, part, problem, show)
    tau, pi = chosen.periods
    title = f"{chosen.model.name} on {chosen.source.name}: {chosen.tree.build()}; tau = {tau}, pi = {pi}"
    made = part.made
    settled = f"{part.label}: eta {made.eta:g}, gamma {made.gamma:g}, gamma_a {made.gamma_a:g}"
    if out is not None:
        from hiermo.report.bounds_picture import draw_bounds

        draw_bounds(checked, out, f"{title}; {settled}")
    ignored = left_out(chosen)
    if as_json:
        facts = {
            "recipe": chosen.name,
            "algorithm": part.label,
            "model": chosen.model.name,
            "data": chosen.source.name,
            "tree": str(chosen.tree.build()),
            "periods": [tau, pi],
            "iterations": chosen.train.iterations,
            "seed": chosen.train.seed,
            "gradients": "full",
            "left_out": ignored,
        }
        drawn = {"picture": None if out is None else str(out)}
        sys.stdout.write(json.dumps({**facts, **checked.json(), **drawn}, indent=2) + "\n")
        return

    from hiermo.report.bounds_table import constants_table, sentences, theorems_table

    console = Console(highlight=False)

    def tell(line: str) -> None:
        console.print(line, soft_wrap=True, markup=False)

    tell(title)
    tell(settled)
    without = f"; without {', '.join(ignored)}" if ignored else ""
    tell(f"{chosen.train.iterations} iterations with full gradients instead of batches, in float64{without}")
    console.print(constants_table(checked))
    console.print(theorems_table(checked))
    for line in sentences(checked):
        tell(line)
    if out is not None:
        tell(f"picture: {out}")


@contextmanager
def steps(iterations: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error; after the last iteration the minimum is looked for."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f} iterations"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("full gradients", total=iterations)

        def show(t: int) -> None:
            progress.update(task, completed=t, description="full gradients" if t < iterations else "least loss")

        yield show
