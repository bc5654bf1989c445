"""Which periods to take: the best of all, with the rounds that the delays really allow, and how sure that is."""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from hiermo.core.errors import UserError
from hiermo.tuning.clocked import Clocked
from hiermo.tuning.drift import Drift
from hiermo.tuning.effective import EffectiveObjective
from hiermo.tuning.estimate import Estimates
from hiermo.tuning.hieropt import Periods, exact
from hiermo.tuning.objective import Times

Show = Callable[[str, int, int], object]  # what is done, how far, of how much

SHORTLIST = 15  # choices of each kind that are gone through with the delays as they will be drawn, at most,
WALKED = 75_000  # and about as many iterations of all of a kind
FEW = (1, 6, 25)  # rounds
SAME = 0.002  # less than this is no difference
NEAR = 0.01  # as good, for all that can be known


def tier_names(n_periods: int) -> list[str]:
    """Who goes apart: workers, edges, nodes of tier 2, ..."""
    return ["workers", "edges", *(f"tier_{k}" for k in range(2, n_periods))][:n_periods]


def best_periods(objective: EffectiveObjective) -> Periods:
    """Exactly where there are not too many to try, else on a lattice with steps of 2 %."""
    try:
        return exact(objective, objective.times).periods
    except UserError:
        choices = lattice(objective.times)
        return tuple(int(period) for period in choices[int(np.argmin(objective.values(choices)))])


def lattice(times: Times, most: int = 200_000) -> Any:
    """Choices of periods that fit into the budget, dense where they are short; about so many."""
    n, longest = len(times.upper), max(1, int(times.budget_s / times.theta_w))
    ratio = max(1.02, longest ** (1 / (3 * most) ** (1 / n)))  # of all combinations, less than half fit
    powers = ratio ** np.arange(0, np.log(longest) / np.log(ratio) + 1)
    steps = np.unique(np.round(powers[powers <= longest]).astype(np.int64))
    choices = np.stack(np.meshgrid(*[steps] * n, indexing="ij"), axis=-1).reshape(-1, n)
    choices = choices[times.round_s(choices.astype(float).T) <= times.budget_s]
    return choices if len(choices) else np.ones((1, n), np.int64)


def chosen_periods(clocked: Clocked, objective: EffectiveObjective, show: Show) -> tuple[Periods, int]:
    """The best, and the rounds that its delays really allow; of those that are as good the one with short rounds."""
    around = np.vstack([lattice(objective.times), best_periods(objective)])
    values = objective.values(around)
    fitting = objective.times.budget_s / objective.times.round_s(around.T.astype(float))
    good = values <= (1 + SAME) * values.min()
    each = int(np.clip(WALKED / objective.times.iterations(around[-1]), 1, SHORTLIST))
    shortest = around[good][np.argsort(around[good].prod(1))]
    # delays are drawn, and where only a few rounds fit they may be one less: so the best with many rounds are tried too
    best = [around[enough][np.argsort(values[enough])][:each] for few in FEW if (enough := fitting >= few).any()]
    choices = list(dict.fromkeys(tuple(map(int, row)) for row in np.vstack([*best, shortest[:each]])))
    rounds = {}
    for k, periods in enumerate(choices):
        show("the best periods", k, len(choices))
        rounds[periods] = clocked.rounds_within(periods, objective.times)
    worth = objective.effective(np.array(choices), np.array(list(rounds.values()), float))
    as_good = [periods for periods, each in zip(choices, worth, strict=True) if each >= (1 - SAME) * worth.max()]
    best_one = min(as_good, key=lambda periods: (prod(periods), periods))
    return best_one, rounds[best_one]


def shortest_periods(clocked: Clocked, times: Times) -> tuple[Periods, int]:
    ones = (1,) * len(times.upper)
    rounds = clocked.rounds_within(ones, times)
    if not rounds:
        raise UserError(f"--budget: not one cloud round ends within the {times.budget_s:.3g} s that the pilot leaves")
    return ones, rounds


def nearly_as_good(objective: EffectiveObjective, chosen: Periods) -> tuple[Periods, Periods]:
    """Each period alone, the others as chosen: how short and how long it may be."""
    least, most = list(chosen), list(chosen)
    limit = objective.value(chosen) * (1 + NEAR)
    for k, period in enumerate(chosen):
        tried = np.unique(np.round(np.geomspace(max(1, period / 30), period * 30, 400)).astype(np.int64))
        rows = np.tile(np.array(chosen), (len(tried), 1))
        rows[:, k] = tried
        good = tried[objective.values(rows) <= limit]
        least[k], most[k] = int(good.min(initial=period)), int(good.max(initial=period))
    return tuple(least), tuple(most)


def if_off(objective: EffectiveObjective, found: Estimates) -> dict[str, Periods]:
    """What would be chosen if drift were off by its uncertainty."""
    answers = {}
    for k, (tier, each) in enumerate(zip(tier_names(len(found.lost)), found.lost, strict=True)):
        for word, lost in (("less", each.low), ("more", each.high)):
            drift = list(objective.drift)
            drift[k] = Drift.seen(lost, drift[k].length)
            answers[f"{word} drift of {tier}"] = best_periods(replace(objective, drift=tuple(drift)))
    return answers
