"""Studies and results that were never trained."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hiermo.experiment.sweep.grid import Planned
from hiermo.reproduction.plan import WHOLE, Size, cell_name, runs_of
from hiermo.reproduction.reproduce import Reproduction
from hiermo.reproduction.results import Result, Results
from hiermo.reproduction.study import PublishedBudget, Study

TABLE = "paper/logistic-mnist"  # all ten algorithms and two variants, 1000 iterations, tau = 10, pi = 2
EFFECT = ("periods.tau=5,10,25,50", "periods.pi=2,2,2,2")
GRID = ("periods.tau=10,20,40", "periods.pi=2,2,1")
BROKEN = {"error": "the loss is not finite"}
BUDGETED = {
    "recipe": "paper/hieropt-cnn",
    "together": GRID,
    "metric": "train_accuracy",
    "budgets": (400.0, 200.0),
    "paper": (PublishedBudget(95.05, 94.82, "(42, 2)", "(40, 2)"), PublishedBudget(92.52, 92.23)),
}


def study(**more: Any) -> Study:
    return Study(**{"name": "made-up", "title": "Made up", "place": "Table 9", "recipe": TABLE, **more})


def made_up(of: Study, reached: Any, size: Size = WHOLE, extra: dict[str, Any] | None = None) -> Reproduction:
    """Runs with what they reach: by label, or by (cell, label); a percentage, fields of the result, or a list of either
    for the seeds. What is not in `reached` was not run."""
    planned = list(_planned(of, size, [tuple(pair) for pair in (extra or {}).get("chosen", [])]))
    runs = {}
    for run in planned:
        (part,) = run.recipe.algorithms
        settings = {key: value for key, value in run.settings.items() if key != "train.seed"}
        value = reached.get((cell_name(settings), part.label), reached.get(part.label))
        if isinstance(value, list):
            value = value[run.recipe.train.seed]
        if value is not None:
            fields = value if isinstance(value, dict) else {of.metric: value / 100}
            iterations = {"iterations": run.recipe.train.iterations}
            common = {"of": run.of, "label": part.label, "seed": run.recipe.train.seed, "settings": settings}
            runs[run.of] = Result(**{**common, **iterations, **fields})
    return Reproduction(of, size, planned, Path("made-up.json"), Path("runs"), Results(runs, extra or {}))


def _planned(of: Study, size: Size, chosen: list[tuple[int, ...]]) -> list[Planned]:
    """Once for all studies that differ only in what is said about their results."""
    key = repr((replace(of, claims=(), published={}, order=(), against=None, cells={}), size, chosen))
    if key not in _PLANS:
        _PLANS[key] = runs_of(of, size, chosen)
    return _PLANS[key]


_PLANS: dict[str, list[Planned]] = {}


def curve(*accuracies: float, seconds: float = 50) -> dict[str, list[float]]:
    """One evaluation after the other, so many seconds and 20 iterations apart; accuracies as shares."""
    steps = range(1, len(accuracies) + 1)
    found = {"iteration": [20.0 * k for k in steps], "simulated_seconds": [seconds * k for k in steps]}
    return found | {"accuracy": list(accuracies), "train_accuracy": list(accuracies)}
