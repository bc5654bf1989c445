"""`hiermo retime`."""

from pathlib import Path
from typing import Annotated

import typer

from hiermo.cli.arguments import AsJson, DelaysFile


def retime(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="RUN_DIR...", help="Run directories, or folders of several by one command."),
    ],
    delays: DelaysFile = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Tell the time until this is met, as in --until accuracy=0.9; else the target of the recipe.",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="How many times the delays are drawn, for the spread.")] = 10,
    out: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Where to draw it; else in RUN_DIR.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell how long finished runs would have taken under other delays, without training them again."""
    import json
    import sys

    from rich.console import Console

    from hiermo.cli.loading import loading
    from hiermo.clock.delays import PAPER, load_delays
    from hiermo.core.errors import UserError
    from hiermo.experiment.retime import retime as retimed
    from hiermo.experiment.run_directory import opened

    targets = dict(target(each) for each in until or ())
    runs = [each for folder in directories for each in opened(folder)]
    picture = out or directories[0] / "retimed.png"
    if picture.suffix.lower() != ".png" or not picture.parent.is_dir():
        raise UserError(f"--out {picture}: name a .png file in a folder that exists")
    targets = targets or dict(runs[0].recipe().train.until or {})
    found, notes = [], []
    with loading("going through the events") as status:
        for k, directory in enumerate(runs, start=1):
            status.update(f"going through the events of {directory.path} ({k} of {len(runs)})")
            own = load_delays(delays) if delays is not None else directory.recipe().delays or load_delays(PAPER)
            try:
                found += retimed(directory, own, range(draws))
            except UserError as error:
                notes.append(str(error))
    if not found:
        raise UserError("\n".join(notes))
    for each in found:
        for name in targets:
            if name not in each.lines[0]:
                raise UserError(f"--until {name}: {each.directory.path} has {', '.join(each.lines[0])}")

    from hiermo.report.time_to import draw_times, saving, time_table, time_to

    reached = time_to(found, targets)
    recipe = runs[0].recipe()
    draw_times(reached, targets, str(own), picture, f"{recipe.model.name} on {recipe.source.name}")
    if as_json:
        told = [{**each.json(), "saving": saving(reached, each)} for each in reached]
        facts = {"delays": str(own), "until": targets, "draws": draws, "runs": told, "left_out": notes}
        sys.stdout.write(json.dumps({**facts, "picture": str(picture)}, indent=2) + "\n")
        return
    console = Console(highlight=False)
    console.print(time_table(reached, targets, str(own)))
    for note in notes:
        console.print(f"left out: {note}", markup=False, soft_wrap=True)
    console.print(f"picture: {picture}", soft_wrap=True, markup=False)


def target(text: str) -> tuple[str, float]:
    """METRIC=VALUE."""
    from hiermo.core.errors import UserError

    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise UserError(f"--until {text}: write METRIC=VALUE, as in --until accuracy=0.9") from None
