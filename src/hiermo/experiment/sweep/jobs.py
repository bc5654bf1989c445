"""Which runs of a sweep are computed together, and how many processes there are."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
import json
from math import ceil
import os
from typing import Any

from hiermo.experiment.memory import available_bytes
from hiermo.experiment.recipe import Recipe, to_dict
from hiermo.experiment.run_directory import RunDirectory

AT_ONCE = 24  # runs that are computed together: more gain nothing (benchmarks/runs_at_once.py)
SHARE = 0.7  # of the free memory


@dataclass
class Job:
    """Runs that one process trains as one; most often a single one."""

    directories: list[RunDirectory]
    recipes: list[Recipe]
    seconds: float = 0.0  # as estimated

    @property
    def iterations(self) -> int:
        return sum(recipe.train.iterations for recipe in self.recipes)


def shape_facts(recipe: Recipe) -> dict[str, Any]:
    """All of a recipe that data, model and gradients depend on, but the tree and the seed."""
    facts = to_dict(recipe)
    train = {key: facts["train"].get(key) for key in ("batch", "weight_decay", "clip_norm")}
    kept = {key: facts.get(key) for key in ("data", "input", "model", "evaluate", "engine", "import_from")}
    return {"train": train, **kept}


def shape_of(recipe: Recipe) -> Hashable:
    """Runs of one shape differ in algorithm, periods above the first, step sizes and seeds; their workers are alike."""
    return json.dumps(shape_facts(recipe), sort_keys=True)


def problem_of_run(recipe: Recipe) -> str:
    """The same for runs that differ in algorithm, periods and horizon alone: they share one problem."""
    return json.dumps([shape_facts(recipe), recipe.train.seed, to_dict(recipe)["tree"]], sort_keys=True)


def jobs_of(runs: Sequence[tuple[RunDirectory, Recipe]], batched: dict[Hashable, bool], processes: int) -> list[Job]:
    """Small models of one shape and one tau together, so that every process has something to do; the others alone."""
    groups: dict[Hashable, list[tuple[RunDirectory, Recipe]]] = {}
    for k, run in enumerate(runs):
        recipe = run[1]
        shape = shape_of(recipe)
        tau = recipe.placed(recipe.algorithms[0])[1][0]
        key: Hashable = (shape, tau, recipe.tree) if batched[shape] else k
        groups.setdefault(key, []).append(run)
    jobs = []
    for group in groups.values():
        many = min(len(group), max(processes, ceil(len(group) / AT_ONCE)) if len(group) > 1 else 1)
        for k in range(many):
            some = group[k::many]
            jobs.append(Job([directory for directory, _ in some], [recipe for _, recipe in some]))
    return jobs


def processes_for(asked: int | None, runs: int, run_bytes: int, device: str) -> int:
    """As many as there are cores, where memory allows; a device other than the processor has one."""
    if asked is not None:
        return max(1, min(asked, runs))
    if device != "cpu":
        return 1
    fits = int(SHARE * available_bytes() // run_bytes) if run_bytes else runs
    return max(1, min(cores(), runs, fits))


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
