"""What a run would take: messages from its plan, memory from its records, time from a few measured iterations."""

from collections.abc import Sequence
from math import ceil, prod
from time import perf_counter
from typing import Any

from hiermo.clock.ledger import count
from hiermo.core.plan import Step
from hiermo.engine.run import Every, run
from hiermo.engine.state import State
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.holdings import load_data
from hiermo.experiment.memory import human, item_bytes, needed_bytes
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.tables import DelaysTable
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
        "runs": [_run(recipe, part, problem) for part in recipe.algorithms],
    }


def _run(recipe: Recipe, part: Part, problem: Supervised) -> dict[str, Any]:
    _, periods = recipe.placed(part)
    messages, vectors = traffic(recipe, part)
    return {
        "label": part.label,
        "algorithm": part.name,
        "iterations": recipe.train.iterations,
        "cloud_rounds": recipe.cloud_rounds(part),
        "messages": messages,
        # running statistics travel with every model
        "traffic": human((vectors * problem.dimension + messages * problem.flat.buffers.size) * item_bytes(recipe)),
        "seconds": _seconds(recipe, part, problem),
        "simulated_seconds": None
        if recipe.delays is None
        else simulated_s(recipe.delays, periods, recipe.train.iterations),
    }


def traffic(recipe: Recipe, part: Part) -> tuple[int, int]:
    """(messages, vectors of model size) over all links of the whole run."""
    loads = [load for link in count(*recipe.bound(part)) for load in link]
    return sum(load.messages for load in loads), sum(load.vectors for load in loads)


def _seconds(recipe: Recipe, part: Part, problem: Supervised) -> float:
    """From some steps of the plan after a first one, which warms up, and one evaluation."""
    per_step, state = _measured(recipe, part, problem, "iteration", least=3)
    tau = recipe.placed(part)[1][0]
    if per_step * tau * 3 < BUDGET_S:  # steps in a row, as a run makes them, are faster than one by one
        per_round, state = _measured(recipe, part, problem, "edge", least=2)
        per_step = per_round / tau
    algorithm, setting = recipe.bound(part)
    steps = sum(isinstance(event, Step) for event in algorithm.plan(setting))  # CFL's edges have steps of their own
    begun = perf_counter()
    problem.evaluate(state.model, state.model_buffers)
    evaluations = ceil(recipe.cloud_rounds(part) / recipe.evaluate.every)
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


def simulated_s(delays: DelaysTable, periods: Sequence[int], iterations: int) -> float:
    """The paper's Psi = P (tau pi Theta_w + pi Theta_e + Theta_c + pi Phi_w2e + Phi_e2c), P cloud rounds.

    With one period, the two-tier P (tau Theta_w + Theta_c + Phi_w2c); deeper trees count every tier between as an edge.
    """
    rounds = iterations // prod(periods)
    edge_merges = [prod(periods[k:]) for k in range(1, len(periods))]
    if not edge_merges:
        return rounds * (periods[0] * delays.theta_w + delays.theta_c + delays.phi_w2c)
    at_edges = sum(edge_merges) * (delays.theta_e + delays.phi_w2e)
    return rounds * (prod(periods) * delays.theta_w + at_edges + delays.theta_c + delays.phi_e2c)


def _spread(sizes: list[int]) -> str:
    return str(sizes[0]) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
