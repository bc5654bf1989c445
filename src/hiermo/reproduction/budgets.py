"""Studies under a time budget: what each pair of periods reaches within it, and the pair that is chosen for it."""

from math import inf
from typing import NamedTuple

from hiermo.reproduction.reproduce import Reproduction
from hiermo.reproduction.results import Result

Pair = tuple[int, ...]


class BudgetOutcome(NamedTuple):
    """One budget."""

    budget_s: float
    reached: dict[Pair, float]  # training accuracy in percent when the time is over, of every pair of the grid
    chosen: Pair | None
    at_choice: float | None  # with the time that the pilot leaves
    with_all: float | None = None  # the same, where the pilot takes no time

    @property
    def best(self) -> Pair | None:
        return max(self.reached, key=lambda pair: self.reached[pair]) if self.reached else None

    @property
    def gap(self) -> float | None:
        """Points between the best of the grid and the choice."""
        if self.best is None or self.at_choice is None:
            return None
        return self.reached[self.best] - self.at_choice


def budget_outcomes(of: Reproduction) -> list[BudgetOutcome]:
    """In the order of the study; of the scaled-down budgets where the study is scaled down."""
    grid = [pair_of(run.settings) for run in of.planned]
    chosen = {tuple(pair) for pair in of.results.extra.get("chosen", [])}
    found = []
    for budget in of.study.budgets:
        budget_s = budget * of.size.scale
        tuned = of.results.extra.get("tuned", {}).get(f"{budget:g}")
        pair = tuple(tuned["periods"]) if tuned else None
        runs = {pair_of(run.settings): run for run in of.found if run.error is None}
        reached = {
            each: value
            for each in grid
            if each in runs and each not in chosen - _varied(of) and (value := within(runs[each], budget_s)) is not None
        }
        left = budget_s * (1 - tuned["pilot_share"]) if tuned else inf
        at, with_all = (within(runs[pair], s) if pair in runs else None for s in (left, budget_s))
        found.append(BudgetOutcome(budget_s, reached, pair, at, with_all))
    return found


def _varied(of: Reproduction) -> set[tuple[int, ...]]:
    """The pairs of the grid itself."""
    lists = {text.partition("=")[0]: text.partition("=")[2].split(",") for text in of.study.together}
    return set(zip(map(int, lists["periods.tau"]), map(int, lists["periods.pi"]), strict=True))


def pair_of(settings: dict[str, str]) -> Pair:
    return int(settings["periods.tau"]), int(settings["periods.pi"])


def within(run: Result, seconds: float) -> float | None:
    """Its training accuracy in percent at the last evaluation within so many seconds."""
    times, values = run.curve.get("simulated_seconds", []), run.curve.get("train_accuracy", [])
    done = [value for time, value in zip(times, values, strict=True) if time <= seconds]
    return 100 * done[-1] if done else None
