"""Runs that can be compared: on the same data, model and tree. Curves of others mean nothing side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
import json
from typing import Any

from hiermo.experiment.store import StoredRun, flat
from hiermo.report.page.tunings import FoundTuning
from hiermo.report.plain import text
from hiermo.report.summary import Series, series_of

FREE = ("data.partition.", "data.edges.", "model.weights", "model.skip")  # how data is dealt, where a model starts
PLACED = ("tree.flatten", "tree.assign")


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is compared on one data set, with one model and one tree."""

    key: str
    runs: list[StoredRun] = field(default_factory=list)
    tunings: list[FoundTuning] = field(default_factory=list)

    @property
    def recipe(self) -> dict[str, Any]:
        """That of one run, for what all have in common."""
        return self.runs[0].recipe if self.runs else self.tunings[0].recipe

    @property
    def keys(self) -> dict[str, Any]:
        return flat(self.recipe)

    @property
    def id(self) -> str:
        """Stays the same while runs are added."""
        return f"e{sha256(self.key.encode('utf-8', 'replace')).hexdigest()[:8]}"

    @property
    def model_and_data(self) -> str:
        return f"{text(self.keys.get('model.name', '?'), 60)} on {text(self.keys.get('data.source', '?'), 60)}"

    def series(self) -> list[Series]:
        return series_of(self.runs) if self.runs else []


def experiments(runs: Sequence[StoredRun], tunings: Sequence[FoundTuning] = ()) -> list[Experiment]:
    """In the order of their first runs."""
    found: dict[str, Experiment] = {}
    for run in runs:
        key = compared_by(run.recipe)
        found.setdefault(key, Experiment(key)).runs.append(run)
    for tuning in tunings:
        key = compared_by(tuning.recipe)
        found.setdefault(key, Experiment(key)).tunings.append(tuning)
    return list(found.values())


def compared_by(recipe: dict[str, Any]) -> str:
    """The same for runs that belong together."""
    own = {
        key: value
        for key, value in flat({name: recipe.get(name) for name in ("data", "model", "tree")}).items()
        if not key.startswith(FREE) and key not in PLACED
    }
    return json.dumps(own, sort_keys=True, default=str)
