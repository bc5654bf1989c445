"""`hiermo data show`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiermo.cli.arguments import AsJson, RecipeName, Seed, Settings

if TYPE_CHECKING:
    from hiermo.experiment.part import Part
    from hiermo.experiment.recipe import Recipe


def show(
    recipe: RecipeName,
    settings: Settings = None,
    seed: Seed = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Where to draw it; else NAME-holdings.png, here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show who holds what: every worker's samples of each class, how different they are, and a picture."""
    import json
    import re
    import sys

    from rich.console import Console

    from hiermo.cli.loading import loading
    from hiermo.core.errors import UserError
    from hiermo.experiment import recipe_file
    from hiermo.experiment.holdings import holdings, load_data

    chosen = recipe_file.load(recipe, settings or (), seed)
    path = out or Path(re.sub(r"[^\w.-]+", "-", chosen.name) + "-holdings.png")
    if path.suffix.lower() != ".png" or not path.parent.is_dir():
        raise UserError(f"--out {path}: name a .png file in a folder that exists")
    with loading("loading the data"):
        held = holdings(chosen, load_data(chosen))

        from hiermo.report.holdings import Holdings, holdings_table, in_words
        from hiermo.report.holdings_picture import draw_holdings

        shown = Holdings(held.counts(), chosen.tree.build(), title(chosen), held.dataset.class_names)
        draw_holdings(shown, path)
    unused = len(held.train_y) - sum(held.sizes)
    if as_json:
        facts = {"recipe": chosen.name, "seed": chosen.train.seed, **shown.json(), "unused_samples": unused}
        sys.stdout.write(json.dumps({**facts, "picture": str(path)}, indent=2) + "\n")
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 1000)  # a file may have long lines
    console.print(shown.title, style="bold", markup=False)
    console.print(holdings_table(shown, console.width))
    if unused:
        console.print(f"{unused} of the {len(held.train_y)} training samples are nobody's")
    console.print("", in_words(shown), sep="\n")
    console.print(f"\npicture: {path}", soft_wrap=True)


def title(recipe: "Recipe") -> str:
    """What is divided, how, and among whom."""
    by = f"by {described(recipe.partition)}"
    if recipe.edges is not None:
        by = f"among edges by {described(recipe.edges)}, among their workers {by}"
    assigned = "" if recipe.tree.assign == "given" else f", assigned {recipe.tree.assign}"
    return f"{recipe.source.name} divided {by}{assigned}: {recipe.tree.build()}"


def described(part: "Part") -> str:
    """Its name, and the options that are not as usual."""
    from dataclasses import MISSING, fields, is_dataclass

    usual = {f.name: f.default for f in fields(part.made)} if is_dataclass(part.made) else {}
    changed = [f"{k} = {v}" for k, v in part.values().items() if usual.get(k, MISSING) != v]
    return f"{part.name} ({', '.join(changed)})" if changed else part.name
