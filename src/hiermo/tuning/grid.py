"""Brute force, to check a choice of periods: train at every pair of a grid for the same simulated time."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from hiermo.core.errors import Diverged
from hiermo.core.problem import Problem
from hiermo.core.schedule import eta_of
from hiermo.engine.run_many import run_many
from hiermo.tuning.clocked import Clocked
from hiermo.tuning.hieropt import Periods
from hiermo.tuning.objective import Times

Show = Callable[[str, int, int], object]
Wanted = Mapping[Periods, Collection[int]]  # after how many iterations the model of a run is evaluated

TAUS, PIS = (1, 2, 5, 10, 20, 40, 80, 160), (1, 2, 4, 8, 16)
AT_ONCE = 24  # runs that are computed together, for memory has an end


def usual_pairs(times: Times) -> list[Periods]:
    """Those that allow two cloud rounds at least."""
    return [(tau, pi) for tau in TAUS for pi in PIS if 2 * times.round_s((tau, pi)) <= times.budget_s] or [(1, 1)]


def reached_at(
    clocked: Clocked,
    problem: Problem,
    pairs: Iterable[Periods],
    budget_s: float,
    show: Show = lambda what, done, of: None,
) -> dict[Periods, dict[str, Any]]:
    """The metrics at the end of each run, with its iterations; runs that diverge are left out."""
    times = clocked.times(budget_s)
    horizons = {pair: iterations_within(clocked, pair, times) for pair in pairs}
    wanted = {pair: [t] for pair, t in horizons.items() if t}
    found = trained(clocked, problem, wanted, show)
    return {pair: {**metrics, "iterations": t} for (pair, t), metrics in found.items()}


def iterations_within(clocked: Clocked, periods: Periods, times: Times) -> int:
    """Of the whole rounds that fit into the budget."""
    return clocked.rounds_within(periods, times) * prod(periods)


def trained(
    clocked: Clocked, problem: Problem, wanted: Wanted, show: Show = lambda what, done, of: None
) -> dict[tuple[Periods, int], dict[str, Any]]:
    """The metrics of every run where they are wanted; runs whose models are small are computed as one."""
    ordered = sorted(wanted)  # those of one tau make as many steps at once
    total, done, found = sum(max(wanted[pair]) for pair in ordered), 0, dict[tuple[Periods, int], dict[str, Any]]()
    for begin in range(0, len(ordered), AT_ONCE):
        some = {pair: wanted[pair] for pair in ordered[begin : begin + AT_ONCE]}
        for at, metrics, steps in _together(clocked, problem, some):
            show("the grid", done + steps, total)
            if metrics is not None:
                found[at] = metrics
        done += sum(map(max, some.values()))
    return found


def _together(
    clocked: Clocked, problem: Problem, wanted: Wanted
) -> Iterator[tuple[tuple[Periods, int], dict[str, Any] | None, int]]:
    """(which run and where it stands, its metrics where they are wanted, iterations of all runs so far)."""
    pairs = list(wanted)
    at = dict.fromkeys(pairs, 0)
    try:
        for which, state in run_many(_runs(clocked, problem, pairs, wanted)):
            pair = pairs[which]
            at[pair] = state.t
            here = problem.evaluate(state.model, state.model_buffers) if state.t in wanted[pair] else None
            yield (pair, state.t), here, sum(at.values())
    except Diverged:
        if len(pairs) > 1:  # which of them it was is found by trying each alone
            for pair in pairs:
                yield from _together(clocked, problem, {pair: wanted[pair]})


def _runs(clocked: Clocked, problem: Problem, pairs: Sequence[Periods], wanted: Wanted) -> list[dict[str, Any]]:
    recipe, algorithm = clocked.recipe, clocked.part.made
    return [
        {
            "algorithm": algorithm,
            "tree": clocked.tree,
            "problem": problem,
            "periods": pair,
            "iterations": max(wanted[pair]),
            "seed": recipe.train.seed,
            "schedule": eta_of(recipe.schedule.made, algorithm, pair),
        }
        for pair in pairs
    ]
