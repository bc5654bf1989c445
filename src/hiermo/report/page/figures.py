"""The figures of the report as files for papers: PNG or SVG, by matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
import re
from statistics import fmean, stdev
from typing import Any

from hiermo.experiment.store import StoredRun, Unreadable
from hiermo.report.page.curve_data import falls
from hiermo.report.page.experiments import Experiment
from hiermo.report.page.heat import heat_maps
from hiermo.report.page.tree_data import tree_of
from hiermo.report.plain import number, text
from hiermo.report.summary import Series
from hiermo.tuning.hieropt import Periods

AXES = ("iteration", "cloud_round", "simulated_seconds", "bytes")
MOST = 16  # series of one figure


def draw_figures(
    groups: Sequence[Experiment], targets: Sequence[Mapping[str, float]], folder: Path, kind: str
) -> tuple[list[Path], list[Unreadable]]:
    """Curves, times to a target and heat maps of every experiment; and what was not drawn, with why."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    left: list[Unreadable] = []
    for experiment, target in zip(groups, targets, strict=True):
        name = re.sub(r"[^\w.-]+", "-", experiment.model_and_data)[:60].strip("-.") or "runs"
        if any(each.name.startswith(f"{name}-curves") for each in files):
            name = f"{name}-{experiment.id}"
        series = [each for each in experiment.series() if any(run.evaluations for run in each.runs)]
        if len(series) > MOST:
            left.append(
                Unreadable(folder / f"{name}-curves.{kind}", f"{len(series)} series are too many for one figure")
            )
        elif series:
            files += _curves(experiment, series, folder / f"{name}-curves.{kind}")
            files += _times(experiment, series, dict(target), folder / f"{name}-times.{kind}")
        files += _heat(experiment, folder, name, kind)
    return files, left


def _curves(experiment: Experiment, series: Sequence[Series], path: Path) -> list[Path]:
    from hiermo.report.curves import Curve, draw_curves

    lines = [line for each in series for run in each.runs for line in run.evaluations]
    metric = "accuracy" if all(number(line.get("accuracy")) is not None for line in lines) else "loss"
    curves = [Curve(text(each.name, 60), *mean_lines(each, metric)) for each in series]
    if not any(curve.lines for curve in curves):
        return []
    tree = tree_of(experiment.recipe)
    title = text(experiment.model_and_data, 100) + ("" if tree is None else f": {tree}")
    delays = dict.fromkeys(
        text(run.result["delays"], 80) for run in experiment.runs if run.result and "delays" in run.result
    )
    return [draw_curves(curves, path, title, next(iter(delays)) if len(delays) == 1 else "")]


def mean_lines(series: Series, metric: str) -> tuple[list[dict[str, Any]], list[float]]:
    """At every iteration the mean over the seeds that have it, and the deviation; runs that failed are left out."""
    alive = [run for run in series.runs if run.condition != "failed"] or series.runs
    at: dict[float, list[dict[str, Any]]] = {}
    for run in alive:
        for line in run.evaluations:
            values = {key: number(line.get(key)) for key in (*AXES, metric)}
            if values["iteration"] is not None and values["cloud_round"] and values[metric] is not None:
                at.setdefault(values["iteration"], []).append(values)
    lines, spread = [], []
    for _, same in sorted(at.items()):
        known = [key for key in (*AXES, metric) if all(each[key] is not None for each in same)]
        lines.append({key: fmean(each[key] for each in same) for key in known})
        spread.append(stdev(each[metric] for each in same) if len(same) > 1 else 0.0)
    return lines, spread if any(spread) else []


def _times(experiment: Experiment, series: Sequence[Series], until: dict[str, float], path: Path) -> list[Path]:
    from hiermo.report.time_to import Reached, draw_times

    timed = all(
        number(line.get("simulated_seconds")) is not None for run in experiment.runs for line in run.evaluations
    )
    if not until or not timed:
        return []
    found = []
    for each in series:
        runs = [run for run in each.runs if run.evaluations]
        ends = [end for run in runs if (end := first_meeting(run, until)) is not None]
        means = [fmean(number(end.get(key)) or 0.0 for end in ends) if ends else 0.0 for key in ("iteration", "bytes")]
        seconds = tuple(float(end["simulated_seconds"]) for end in ends)
        found.append(Reached(text(each.name, 60), seconds, len(runs), len(runs), means[0], means[1]))
    return [draw_times(found, until, "", path, text(experiment.model_and_data, 80))]


def first_meeting(run: StoredRun, until: Mapping[str, float]) -> dict[str, Any] | None:
    """The first evaluation that meets all targets."""
    for line in run.evaluations:
        values = {name: number(line.get(name)) for name in until}
        if all(
            value is not None and (value <= until[name] if falls(name) else value >= until[name])
            for name, value in values.items()
        ):
            return line
    return None


def _heat(experiment: Experiment, folder: Path, name: str, kind: str) -> list[Path]:
    from hiermo.report.periods_picture import draw_accuracies

    found = []
    for k, each in enumerate(
        each for each in heat_maps(experiment) if each["kind"] == "reached" and "(%)" in each["unit"]
    ):
        cells: dict[Periods, float] = {
            (tau, pi): value / 100
            for pi, row in zip(each["pis"], each["z"], strict=True)
            for tau, value in zip(each["taus"], row, strict=True)
            if value is not None
        }
        marks: dict[str, tuple[Periods, float]] = {
            mark["name"]: ((mark["tau"], mark["pi"]), cells[mark["tau"], mark["pi"]])
            for mark in each["marks"]
            if (mark["tau"], mark["pi"]) in cells
        }
        path = folder / f"{name}-periods{'' if k == 0 else f'-{k + 1}'}.{kind}"
        found.append(draw_accuracies([(each["title"], cells, marks)], path, "", each["unit"], columns=1))
    return found
