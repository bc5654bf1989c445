"""Heat maps over tau and pi: what a sweep reached, what a grid reached, and how far the bound is from its least."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from hiermo.experiment.store import ASIDE, StoredRun, identity, varied
from hiermo.report.page.curve_data import named
from hiermo.report.page.experiments import Experiment
from hiermo.report.page.tunings import FoundTuning, bound_map, chosen, verified_cells
from hiermo.report.plain import counted, number, short, text
from hiermo.report.summary import short_names, short_value

PERIODS = ("periods.tau", "periods.pi")
MOST = 12  # maps of one experiment


def heat_maps(experiment: Experiment) -> list[dict[str, Any]]:
    """Those of sweeps first; each with the chosen pairs as crosses."""
    groups = _sweeps(experiment.runs)
    names = [_name(group, groups) for group in groups]
    swept = [_swept(*each, experiment.tunings) for each in zip(names, groups, strict=True)]
    found = [each for each in swept if each is not None]
    for tuning in experiment.tunings:
        found += [each for each in (_verified(tuning), _bound(tuning)) if each is not None]
    return found[:MOST]


def _sweeps(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """Runs that differ in their periods, beside seed and length."""
    groups: dict[Any, list[StoredRun]] = {}
    for run in runs:
        own = {k: v for k, v in run.keys.items() if k not in (*ASIDE, *PERIODS, "train.iterations")}
        if all(isinstance(run.keys.get(key), int) for key in PERIODS):
            groups.setdefault(identity([own]), []).append(run)
    return [
        group for group in groups.values() if all(len({run.keys[period] for run in group}) > 1 for period in PERIODS)
    ]


def _name(group: Sequence[StoredRun], groups: Sequence[Sequence[StoredRun]]) -> str:
    """The label, and what tells its sweeps apart."""
    alike = [each[0] for each in groups if each[0].label == group[0].label]
    keys = varied(alike, (*ASIDE, *PERIODS, "train.iterations"))
    words = [f"{name}={short_value(group[0].keys.get(key))}" for key, name in short_names(keys).items()]
    return " ".join([text(group[0].label, 60), *words])


def _swept(name: str, runs: Sequence[StoredRun], tunings: Sequence[FoundTuning]) -> dict[str, Any] | None:
    ended = [run for run in runs if run.result is not None]
    metric = next((name for name in ("accuracy", "loss") if any(_last(run, name) is not None for run in ended)), None)
    cells: dict[tuple[int, int], list[float]] = {}
    for run in ended if metric else ():
        if (value := _last(run, str(metric))) is not None:
            cells.setdefault((run.keys[PERIODS[0]], run.keys[PERIODS[1]]), []).append(value)
    if len(cells) < 2 or metric is None:
        return None
    lengths = {run.keys.get("train.iterations") for run in ended}
    note = "Runs differ in their number of iterations. " if len(lengths) > 1 else ""
    seeds = sorted({len(values) for values in cells.values()})
    over = counted(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    label = runs[0].label
    marks = [_mark(each) for each in tunings if text(each.facts.get("algorithm", "")) == label]
    means = {pair: fmean(values) for pair, values in cells.items()}
    return _cells(f"{name}: {named(metric)} that was reached", means, metric, f"{note}Mean over {over}.", marks)


def _last(run: StoredRun, metric: str) -> float | None:
    return number((run.result or {}).get(metric))


def _verified(tuning: FoundTuning) -> dict[str, Any] | None:
    kept = verified_cells(tuning)
    if kept is None:
        return None
    metric, cells = kept
    title = f"{text(tuning.facts.get('algorithm', '?'), 60)}: {named(metric)} after {_budget(tuning)}"
    return _cells(title, cells, metric, "Every pair was trained for the same simulated time.", [_mark(tuning)])


def _cells(
    title: str, cells: dict[tuple[int, int], float], metric: str, note: str, marks: list[dict[str, Any]]
) -> dict[str, Any]:
    taus, pis = (sorted({pair[k] for pair in cells}) for k in (0, 1))
    share = "accuracy" in metric
    z = [
        [
            short(100 * value if share else value) if (value := cells.get((tau, pi))) is not None else None
            for tau in taus
        ]
        for pi in pis
    ]
    best = (max if share else min)(cells, key=lambda pair: cells[pair])
    return {
        "kind": "reached",
        "title": title,
        "unit": f"{named(metric)}{' (%)' if share else ''}",
        "taus": taus,
        "pis": pis,
        "z": z,
        "better": "more" if share else "less",
        "best": {"tau": best[0], "pi": best[1]},
        "marks": [mark for mark in marks if mark["pi"] is not None],
        "note": note,
    }


def _bound(tuning: FoundTuning) -> dict[str, Any] | None:
    kept = bound_map(tuning)
    if kept is None:
        return None
    return {
        "kind": "bound",
        "title": f"{text(tuning.facts.get('algorithm', '?'), 60)}: bound for {_budget(tuning)}",
        "unit": "above the least bound (%)",
        **kept,
        "better": "less",
        "best": None,
        "marks": [_mark(tuning), *_printed(tuning)],
        "note": f"Objective: {text(tuning.facts.get('method', '?'), 40)}. Blank: no cloud round fits into the budget.",
    }


def _budget(tuning: FoundTuning) -> str:
    seconds = number(tuning.facts.get("budget_s"))
    return "the budget" if seconds is None else f"{seconds:,g} simulated seconds"


def _mark(tuning: FoundTuning) -> dict[str, Any]:
    tau, pi = chosen(tuning)
    return {"tau": tau, "pi": pi, "name": f"tuned for {_budget(tuning)}", "own": True}


def _printed(tuning: FoundTuning) -> list[dict[str, Any]]:
    """Where HierOPT's walk on the paper's bound ends."""
    printed = tuning.facts.get("printed")
    walk = printed.get("hieropt") if isinstance(printed, dict) else None
    if not isinstance(walk, list) or len(walk) < 2 or not all(isinstance(each, int) and each > 0 for each in walk):
        return []
    return [{"tau": walk[0], "pi": walk[1], "name": "HierOPT on the paper's bound", "own": False}]
