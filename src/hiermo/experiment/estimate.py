"""What a run would take: messages from its plan, memory from its records, time from a few measured iterations."""

from math import ceil
from time import perf_counter
from typing import Any

from hiermo.core.plan import Step
from hiermo.core.problem import ModelSize, model_size
from hiermo.core.units import human
from hiermo.engine.run import Every, run
from hiermo.engine.state import State
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.holdings import load_data
from hiermo.experiment.memory import needed_bytes
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.timing import cloud_rounds, delays_of, followed, times_of_cloud_merges
from hiermo.problems.supervised import Supervised

BUDGET_S = 1.5  # of measuring, per algorithm


def estimate(recipe: Recipe) -> dict[str, Any]:
    """As told by `--dry-run`; refuses, as a run does, what will not fit in memory."""
    dataset = load_data(recipe)
    problem = problem_of(recipe, dataset)
    return {
        "tree": str(recipe.tree.build()),
        "data": f"{recipe.source.name}, {recipe.partition.name}: {_spread(problem.sizes.tolist())} samples per worker",
        "model": recipe.model.name,
        "parameters": problem.dimension,
        "gradients": f"{problem.gradients}: {problem.gradients_why}",
        "memory": f"about {human(needed_bytes(recipe, problem.dimension, dataset))}",
        "delays": str(delays_of(recipe)),
        "runs": [_run(recipe, part, problem) for part in recipe.algorithms],
    }


def _run(recipe: Recipe, part: Part, problem: Supervised) -> dict[str, Any]:
    model = model_size(problem, recipe.train.seed)
    rounds = cloud_rounds(recipe, part, model)  # refuses a run without any
    *_, end = times_of_cloud_merges(recipe, part, model)
    return {
        "label": part.label,
        "algorithm": part.name,
        "iterations": recipe.train.iterations,
        "cloud_rounds": rounds,
        "messages": sum(load.messages for link in end.links for load in link),
        "traffic": human(end.bytes),
        "bytes": end.bytes,
        "seconds": _seconds(recipe, part, problem, model, rounds),
        "simulated_seconds": end.seconds,
    }


def _seconds(recipe: Recipe, part: Part, problem: Supervised, model: ModelSize, rounds: int) -> float:
    """From some steps of the plan after a first one, which warms up, and one evaluation."""
    per_step, state = _measured(recipe, part, problem, "iteration", least=3)
    tau = recipe.placed(part)[1][0]
    if per_step * tau * 3 < BUDGET_S:  # steps in a row, as a run makes them, are faster than one by one
        per_round, state = _measured(recipe, part, problem, "edge", least=2)
        per_step = per_round / tau
    # CFL's edges have steps of their own
    steps = sum(isinstance(event, Step) for event in followed(recipe, part, model))
    begun = perf_counter()
    problem.evaluate(state.model, state.model_buffers)
    evaluations = ceil(rounds / recipe.evaluate.every)
    return steps * per_step + evaluations * (perf_counter() - begun)


def _measured(recipe: Recipe, part: Part, problem: Supervised, every: Every, least: int) -> tuple[float, State]:
    """Mean seconds from one state to the next, within the budget but for the first ones; and the last state."""
    tree, periods = recipe.placed(part)
    marks = []
    states = run(
        part.made,
        tree,
        problem,
        periods=periods,
        iterations=recipe.train.iterations,
        seed=recipe.train.seed,
        every=every,
        engine=recipe.engine.name,
    )
    for state in states:  # noqa: B007 - the last one is returned
        marks.append(perf_counter())
        if marks[-1] - marks[0] > BUDGET_S / 2 and len(marks) >= least:
            break
    return (marks[-1] - marks[0]) / max(1, len(marks) - 1), state


def _spread(sizes: list[int]) -> str:
    return str(sizes[0]) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
