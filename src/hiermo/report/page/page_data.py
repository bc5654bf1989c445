"""All that the page shows, as one value that JSON can hold. Made from files alone: no code that a recipe names runs."""

from collections.abc import Mapping, Sequence
from math import floor
from statistics import fmean, stdev
from typing import Any

import tomli_w

from hiermo._version import __version__
from hiermo.experiment.provenance import now
from hiermo.experiment.store import Found, StoredRun
from hiermo.report.page.beside import beside_published
from hiermo.report.page.citing import bibtex_of
from hiermo.report.page.curve_data import axes_of, columns, metrics_of, named, stride_of
from hiermo.report.page.experiments import Experiment, experiments
from hiermo.report.page.heat import heat_maps
from hiermo.report.page.holding import holdings_of
from hiermo.report.page.tree_data import tree_data, tree_of
from hiermo.report.page.tunings import FoundTuning
from hiermo.report.page.words import paragraph, states, states_in_words
from hiermo.report.plain import number, short, text
from hiermo.report.summary import Series, summarise
from hiermo.report.table import FAIR

POINTS = 16_000  # evaluations of all runs together; more are thinned
SERIES = 240  # of one experiment: of more, the best
RECIPES = 40  # that are written out whole
RECIPE = 6_000  # characters of one
RUNS = 400  # lines of the list of runs
FORMAT = 1


def page_data(
    found: Found,
    tunings: Sequence[FoundTuning] = (),
    *,
    title: str = "",
    until: Mapping[str, float] | None = None,
    live: bool = False,
    points: int = POINTS,
) -> dict[str, Any]:
    """What `page.js` reads."""
    runs, unreadable = found.runs, found.unreadable
    groups = experiments(runs, tunings)
    entries, others = bibtex_of(runs)
    room = Room(points)
    stride = stride_of(_drawn(groups, room), points)
    return {
        "format": FORMAT,
        "title": text(title) or _title(groups),
        "version": __version__,
        "made": now(),
        "live": live,
        "words": states_in_words(runs) if runs else "There is no run here yet.",
        "until": dict(until or {}),
        "experiments": [_experiment(each, stride, room) for each in groups],
        "bibtex": entries,
        "not_ours": [text(name, 80) for name in others],
        "unreadable": [{"path": text(path), "why": text(why)} for path, why in unreadable[: room.runs]],
        "thinned": stride,
    }


def _title(groups: Sequence[Experiment]) -> str:
    if not groups:
        return "hiermo report"
    return groups[0].model_and_data if len(groups) == 1 else f"{len(groups)} experiments"


class Room:
    """How much of everything a page holds, by the number of points that are left for curves."""

    def __init__(self, points: int) -> None:
        share = points / POINTS
        self.series, self.recipes, self.runs = (max(2, int(share * most)) for most in (SERIES, RECIPES, RUNS))


def _best(series: Sequence[Series], most: int) -> list[Series]:
    """Those with the best accuracy, else the least loss, in the order in which they came; unfinished ones go last."""
    if len(series) <= most:
        return list(series)

    def rank(row: dict[str, Any]) -> tuple[bool, float]:
        value = -row["accuracy"] if row["accuracy"] is not None else row["loss"]
        return value is None, 0.0 if value is None else value

    rows = summarise(series)
    kept = sorted(range(len(rows)), key=lambda k: rank(rows[k]))[:most]
    return [series[k] for k in sorted(kept)]


def _drawn(groups: Sequence[Experiment], room: Room) -> list[StoredRun]:
    return [run for group in groups for each in _best(group.series(), room.series) for run in each.runs]


def _experiment(experiment: Experiment, stride: int, room: Room) -> dict[str, Any]:
    runs, tree = experiment.runs, tree_of(experiment.recipe)
    every = experiment.series()
    series = _best(every, room.series)
    rows = summarise(series)
    axes, metrics = axes_of(runs), metrics_of(runs)
    names = [each["key"] for each in (*axes, *metrics)]
    return {
        "id": experiment.id,
        "title": experiment.model_and_data + (f" · {tree}" if tree is not None else ""),
        "words": paragraph(runs, tree) if runs else "",
        "states": states(runs),
        "axes": axes,
        "metrics": metrics,
        "series": [_series(each, names, stride) for each in series],
        "table": _table(series, rows),
        "target": _target(runs, rows),
        "links": [text(name, 40) for name in _link_names(runs)],
        "heat": heat_maps(experiment),
        "holdings": holdings_of(runs, tree) if runs else None,
        "tree": tree_data(_begun(runs), tree) if runs and tree is not None else None,
        "published": beside_published(series, rows),
        "runs": [_run(each, run) for each in series for run in each.runs][: room.runs],
        "recipes": [_recipe(each) for each in series[: room.recipes]],
        "all_series": len(every),
        "delays_differ": len({str(run.recipe.get("delays")) for run in runs}) > 1,
    }


def _begun(runs: Sequence[StoredRun]) -> StoredRun:
    """One that knows the size of its model, where there is one."""
    return next((run for run in runs if run.starts), runs[0])


def _series(series: Series, names: Sequence[str], stride: int) -> dict[str, Any]:
    return {
        "name": text(series.name),
        "runs": [
            {
                "seed": text(run.seed, 20),
                "state": str(run.condition),
                "points": columns(run, names, stride),
                "bytes": _bytes_per_link(run),
            }
            for run in series.runs
        ],
    }


def _bytes_per_link(run: StoredRun) -> dict[str, Any]:
    """Of a finished run; of others only the sum over all links is known."""
    found = (run.result or {}).get("bytes_per_link")
    return {text(name, 40): short(number(value), 6) for name, value in found.items()} if isinstance(found, dict) else {}


def _link_names(runs: Sequence[StoredRun]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in _bytes_per_link(run)))[:12]


def _table(series: Sequence[Series], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Numbers with their spread, per series; `so_far` where no seed has finished yet."""
    lasts = [[run.evaluations[-1] for run in each.runs if run.evaluations] for each in series]
    fair = [name for name in FAIR if any(number(line.get(name)) is not None for last in lasts for line in last)]
    measures = ["accuracy", *fair, "loss", "iteration", "simulated_seconds", "bytes", "seconds"]
    told = []
    for each, row, last in zip(series, rows, lasts, strict=True):
        ended = [run.evaluations[-1] for run in each.finished if run.evaluations]
        so_far = not each.finished
        cells = {}
        for name in measures:
            values = [value for line in (last if so_far else ended) if (value := number(line.get(name))) is not None]
            mean = row[name] if row.get(name) is not None else fmean(values) if values else None
            deviation = (
                row[f"{name}_deviation"] if row.get(name) is not None else stdev(values) if len(values) > 1 else None
            )
            cells[name] = {"mean": short(mean, 7), "deviation": short(deviation, 4), "best": name in row["best"]}
        told.append(
            {
                "name": text(each.name),
                "n": row["n"],
                "of": len({run.seed for run in each.runs}),
                "so_far": so_far,
                "failed": sum(run.condition == "failed" for run in each.runs),
                "cells": cells,
            }
        )
    shown = [name for name in measures if any(row["cells"][name]["mean"] is not None for row in told)]
    heads = {"iteration": "iterations", "simulated_seconds": "simulated", "bytes": "sent", "seconds": "took"}
    heads |= {name: FAIR.get(name, named(name)) for name in measures if name not in heads}
    return {"columns": [{"key": name, "label": heads[name]} for name in shown], "rows": told}


def _target(runs: Sequence[StoredRun], rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The recipes' own, else an accuracy that every finished series reaches: the least of them, in whole percent."""
    for run in runs:
        own = run.recipe.get("train", {}).get("until") if isinstance(run.recipe.get("train"), dict) else None
        for name, value in own.items() if isinstance(own, dict) else ():
            if "accuracy" in str(name) and number(value) is not None:
                return {"metric": text(name, 40), "value": number(value), "why": "the recipes' own target"}
    reached = [row["accuracy"] for row in rows if row["accuracy"] is not None]
    if not reached:
        return None
    least = floor(100 * min(reached)) / 100
    return {"metric": "accuracy", "value": least, "why": "what every series reaches in the end, in whole percent"}


def first_target(experiment: Experiment) -> dict[str, float]:
    """What the page asks for at first, for a figure; empty where there is nothing to ask for."""
    found = _target(experiment.runs, summarise(experiment.series()))
    return {} if found is None else {found["metric"]: found["value"]}


def _run(series: Series, run: StoredRun) -> dict[str, Any]:
    start = run.starts[-1] if run.starts else {}
    git = start.get("git")
    libraries = start.get("libraries")
    last = run.evaluations[-1] if run.evaluations else {}
    return {
        "series": text(series.name),
        "seed": text(run.seed, 20),
        "state": str(run.condition),
        "iteration": short(number(last.get("iteration")), 9),
        "of": short(number(run.keys.get("train.iterations")), 9),
        "error": None if run.failure is None else text(run.failure, 600),
        "path": text(run.path),
        "date": text(run.date or "", 40),
        "hiermo": text(start.get("hiermo", ""), 20),
        "commit": (text(git.get("commit"), 10) + (" with changes" if git.get("dirty") else ""))
        if isinstance(git, dict)
        else "",
        "python": text(start.get("python", ""), 20),
        "torch": text(libraries.get("torch", ""), 30) if isinstance(libraries, dict) else "",
        "machine": text(start.get("cpu", ""), 60),
        "threads": text(start.get("threads", ""), 8),
        "model_sha256": text((run.result or {}).get("model_sha256", ""), 16),
    }


def _recipe(series: Series) -> dict[str, str]:
    """As it was resolved for the first of its runs."""
    try:
        shown = tomli_w.dumps(series.runs[0].recipe)
    except (TypeError, ValueError, RecursionError):
        shown = "cannot be written as TOML"
    return {"name": text(series.name), "text": text(shown, RECIPE)}
