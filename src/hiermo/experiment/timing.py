"""The clock of a recipe: its own delays, or the built-in ones of the paper; seconds and bytes of a plan."""

from functools import lru_cache
from itertools import islice
from math import prod
from typing import Any

from hiermo.clock.clock import Clock, Elapsed, Followed
from hiermo.clock.delays import PAPER, Delays, profile
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.plan import Merge
from hiermo.core.problem import ModelSize
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe


@lru_cache(maxsize=1)
def usual_delays() -> Delays:
    """Where nobody says anything else."""
    return profile(PAPER)


def delays_of(recipe: Recipe) -> Delays:
    return recipe.delays or usual_delays()


def clock_of(recipe: Recipe, draws: int | None = None) -> Clock:
    """Delays that a recipe does not name tell the time, and do not change what is trained."""
    return Clock(delays_of(recipe), recipe.absence, recipe.delays is not None, draws)


def is_ordered_by_time(recipe: Recipe, part: Part) -> bool:
    """Whether nodes go on as they are ready, and some do more iterations than others."""
    return type(part.made).plan is not Algorithm.plan and recipe.delays is not None


def depends_on_delays(recipe: Recipe, part: Part) -> bool:
    """Whether other delays would train something else."""
    return is_ordered_by_time(recipe, part) or recipe.absence.depends_on_time


def followed(recipe: Recipe, part: Part, model: ModelSize, draws: int | None = None) -> Followed:
    """The events of a run, which tell the time as they are gone through."""
    algorithm, setting = recipe.bound(part)
    return clock_of(recipe, draws).of_run(algorithm, setting, model).events()


def cloud_rounds(recipe: Recipe, part: Part, model: ModelSize) -> int:
    """Merges at the cloud in the whole run; an asynchronous algorithm has one per arrival."""
    if type(part.made).plan is Algorithm.plan and recipe.absence.nobody:
        return recipe.train.iterations // prod(recipe.placed(part)[1])
    found = len(times_of_cloud_merges(recipe, part, model))
    if not found:
        raise UserError("absence: there is never anyone for the cloud to hear from; nothing would be trained")
    return found


def times_of_cloud_merges(
    recipe: Recipe, part: Part, model: ModelSize, draws: int | None = None, rounds: int | None = None
) -> list[Elapsed]:
    """What has elapsed at the end of every cloud round, or of the first ones."""
    root, events, found = recipe.placed(part)[0].tiers - 1, followed(recipe, part, model, draws), list[Elapsed]()
    for position, event in enumerate(events, start=1):
        if isinstance(event, Merge) and event.tier == root:
            found.append(events.at(position))
            if len(found) == rounds:
                break
    return found


def elapsed_at(recipe: Recipe, part: Part, model: ModelSize, position: int) -> Elapsed:
    """After so many events of a run."""
    events = followed(recipe, part, model)
    for _ in islice(events, position):
        pass
    return events.at(position)


def iterations_done(recipe: Recipe, part: Part, t: int, elapsed: Any) -> int:
    """Of every worker; where time decides, on average."""
    if is_ordered_by_time(recipe, part):
        return int(elapsed.steps // recipe.placed(part)[0].n_workers)
    return t


def size_facts(model: ModelSize) -> dict[str, Any]:
    """For a file: what `size_of` reads."""
    batches = list(map(float, model.batches))
    return {**model._asdict(), "batches": batches[:1] if len(set(batches)) == 1 else batches}


def size_of(facts: dict[str, Any], n_workers: int) -> ModelSize:
    batches = facts["batches"]
    return ModelSize(**{**facts, "batches": batches * n_workers if len(batches) == 1 else batches})
