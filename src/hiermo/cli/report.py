"""`hiermo report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiermo.cli.arguments import AsJson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hiermo.experiment.store import Unreadable
    from hiermo.report.page.experiments import Experiment


def report(
    stores: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUNS...", help="Run directories, or folders of them.", show_default="runs"),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE.html", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Of the page; else what was run.", show_default=False)] = "",
    until: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=VALUE", help="The target of the bars, as in --until accuracy=0.9."),
    ] = None,
    png: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the figures as PNG too.")] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the figures as SVG too.")] = None,
    tex: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table for LaTeX too.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as CSV too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write one page that tells all of some runs: open it in a browser, no network needed."""
    import json
    import sys

    from hiermo.cli.loading import loading
    from hiermo.cli.retime import target
    from hiermo.core.errors import UserError
    from hiermo.core.files import write_text
    from hiermo.experiment.store import find_runs
    from hiermo.report.page.experiments import experiments
    from hiermo.report.page.html import report_page
    from hiermo.report.page.tunings import tunings_of

    targets = dict(target(each) for each in until or ())
    for file in (out, tex, csv):
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise UserError(f"{file}: name a file in a folder that exists")
    paths = stores or [Path("runs")]
    with loading("reading the runs") as status:
        found = find_runs(paths)
        tunings = tunings_of(found)
        if not found.runs and not tunings:
            raise UserError(f"there is no run in {', '.join(map(str, paths))}; make one with `hiermo run quick/digits`")
        _check_targets(targets, found.runs)
        status.update("writing the page")
        page = report_page(found, tunings, title=title, until=targets)
        write_text(out, page)
        groups = experiments(found.runs, tunings)
        status.update("drawing the figures")
        files, left = _figures(groups, targets, png, svg)
        files += _tables(groups, tex, csv)
    size = len(page.encode("utf-8"))
    if as_json:
        told = {
            "report": str(out),
            "bytes": size,
            "runs": len(found.runs),
            "experiments": len(groups),
            "files": [str(file) for file in files],
            "unreadable": [{"path": str(path), "why": why} for path, why in (*found.unreadable, *left)],
        }
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    _tell(out, size, len(found.runs), files, (*found.unreadable, *left))


def _check_targets(targets: dict[str, float], runs: "Sequence[Any]") -> None:
    from hiermo.core.errors import UserError
    from hiermo.report.page.curve_data import metrics_of

    known = [each["key"] for each in metrics_of(runs)]
    for name in targets:
        if name not in known:
            raise UserError(f"--until {name}: these runs measured {', '.join(known) or 'nothing yet'}")


def _figures(
    groups: "Sequence[Experiment]", targets: "Mapping[str, float]", png: Path | None, svg: Path | None
) -> "tuple[list[Path], list[Unreadable]]":
    files: list[Path] = []
    left: list[Unreadable] = []
    if png is None and svg is None:
        return files, left
    from hiermo.report.page.figures import draw_figures
    from hiermo.report.page.page_data import first_target

    own = [targets or first_target(group) for group in groups]
    for folder, kind in ((png, "png"), (svg, "svg")):
        if folder is not None:
            drawn, missing = draw_figures(groups, own, folder, kind)
            files += drawn
            left += missing
    return files, left


def _tables(groups: "Sequence[Experiment]", tex: Path | None, csv: Path | None) -> list[Path]:
    from hiermo.core.files import write_text
    from hiermo.report.summary import series_of
    from hiermo.report.tables_for_papers import csv_table, latex_table

    if tex is not None:
        write_text(tex, "\n".join(latex_table(group.series()) for group in groups if group.runs))
    if csv is not None:
        write_text(csv, csv_table(series_of([run for group in groups for run in group.runs])))
    return [file for file in (tex, csv) if file is not None]


def _tell(out: Path, size: int, runs: int, files: "Sequence[Path]", unreadable: "Sequence[Unreadable]") -> None:
    from hiermo.cli.reading_stores import note_unreadable

    typer.echo(f"{out}: {runs} run{'' if runs == 1 else 's'}, {size / 1e6:.1f} MB; open it in a browser")
    for file in files:
        typer.echo(f"{file}")
    note_unreadable(unreadable)
