"""What was measured over a run, as columns of numbers; thinned where there is too much of it for a page."""

from collections.abc import Sequence
from typing import Any

from hiermo.experiment.run_directory import PLACE
from hiermo.experiment.store import StoredRun
from hiermo.report.plain import number, short, text

LEAST = 8  # points of a run that are kept in any case
AXES = {
    "iteration": "iterations (local steps of every worker)",
    "cloud_round": "cloud rounds",
    "simulated_seconds": "simulated seconds",
    "bytes": "bytes sent over all links, up and down",
    "seconds": "seconds of training on the machine",
}
SPLITS = {"": "test", "train_": "training"}
MOST_METRICS = 16


def axes_of(runs: Sequence[StoredRun]) -> list[dict[str, str]]:
    """Those that every evaluation knows."""
    lines = [line for run in runs for line in run.evaluations]
    return [
        {"key": key, "label": label}
        for key, label in AXES.items()
        if key == "iteration" or (lines and all(number(line.get(key)) is not None for line in lines))
    ]


def metrics_of(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """What was measured, accuracies first."""
    names = dict.fromkeys(
        name
        for run in runs
        for line in run.evaluations[-1:]
        for name, value in line.items()
        if name not in PLACE and number(value) is not None
    )
    ordered = sorted(names, key=lambda name: (name != "accuracy", "accuracy" not in name))[:MOST_METRICS]
    return [{"key": name, "label": named(name), "share": "accuracy" in name, "falls": falls(name)} for name in ordered]


def named(metric: str) -> str:
    """For people.

    >>> named("accuracy"), named("train_loss"), named("accuracy_worst_worker")
    ('test accuracy', 'training loss', 'test accuracy, worst worker')
    """
    prefix = "train_" if metric.startswith("train_") else ""
    what, *rest = metric.removeprefix(prefix).split("_")
    if what not in ("accuracy", "loss"):
        return text(metric.replace("_", " "), 60)
    tail = f", {' '.join(rest)}" if rest else ""
    return text(f"{SPLITS[prefix]} {what}{tail}", 60)


def falls(metric: str) -> bool:
    """Losses, and differences between workers, are good where they are small."""
    return "loss" in metric.split("_") or "spread" in metric.split("_")


def columns(run: StoredRun, names: Sequence[str], stride: int) -> dict[str, list[Any]]:
    """Every stride-th evaluation, and the last."""
    lines = run.evaluations
    kept = [k for k in range(len(lines)) if (k + 1) % stride == 0 or k in (0, len(lines) - 1)]
    return {name: [short(number(lines[k].get(name)), _digits(name)) for k in kept] for name in names}


def _digits(name: str) -> int:
    return 9 if name in ("iteration", "cloud_round") else 5


def stride_of(runs: Sequence[StoredRun], points: int) -> int:
    """One for all runs, so that those of several seeds are thinned alike; 1 where all can be shown."""
    total = sum(len(run.evaluations) for run in runs)
    if total <= points:
        return 1
    each = max(LEAST, points // max(1, len(runs)))
    return max(1, -(-max(len(run.evaluations) for run in runs) // each))
