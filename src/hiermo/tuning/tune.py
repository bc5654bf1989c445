"""The best periods of a recipe for a time budget: pilot, constants, choice, and how sure it is.

Two ways to choose. `printed` minimises the paper's bound with the measured constants, by its HierOPT and exactly.
`calibrated`, the default, is ours: it asks how many iterations of the budget count (`effective`). Both are always told.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite, prod
from typing import Any, Literal

import numpy as np

from hiermo.core.errors import UserError
from hiermo.core.problem import Problem, model_size
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe
from hiermo.tuning.choose import (
    NEAR,
    Show,
    chosen_periods,
    if_off,
    nearly_as_good,
    shortest_periods,
    tier_names,
)
from hiermo.tuning.clocked import Clocked
from hiermo.tuning.effective import EffectiveObjective, start_of
from hiermo.tuning.estimate import Estimates, estimates
from hiermo.tuning.hieropt import Periods, Search, search
from hiermo.tuning.objective import BoundObjective, Times
from hiermo.tuning.pilot import SHARE, Pilot, Size, chosen_size, momenta, run_pilot
from hiermo.tuning.sight import batches_of

Method = Literal["calibrated", "printed"]


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What was found, and from what."""

    clocked: Clocked
    times: Times  # with the budget that is left after the pilot
    budget_s: float
    pilot: Pilot
    pilot_s: float
    estimates: Estimates
    effective: EffectiveObjective
    printed: Search | None  # None where the bound has nothing to say
    method: Method
    periods: Periods
    rounds: int
    seconds: float  # simulated, of the tuned run
    near: tuple[Periods, Periods]  # shortest and longest of the periods that are nearly as good
    if_off: dict[str, Periods]  # what would be chosen if a constant were off by its uncertainty
    notes: tuple[str, ...]

    @property
    def iterations(self) -> int:
        return self.rounds * prod(self.periods)

    @property
    def pilot_share(self) -> float:
        return self.pilot_s / self.budget_s

    @property
    def bound(self) -> float:
        """Of the objective that was minimised, at the choice."""
        return self.objective.value(self.periods)

    @property
    def objective(self) -> EffectiveObjective | BoundObjective:
        return self.effective if self.method == "calibrated" else printed_objective(self.times, self.estimates)

    def recipe(self) -> Recipe:
        """Ready to run."""
        return self.clocked.with_periods(self.periods, self.rounds)

    def json(self) -> dict[str, Any]:
        found, pi = self.printed, self.periods[1] if len(self.periods) > 1 else None
        return {
            "recipe": self.clocked.recipe.name,
            "algorithm": self.clocked.part.label,
            "tree": str(self.clocked.tree),
            "delays": self.clocked.delays,
            "budget_s": self.budget_s,
            "method": self.method,
            "tau": self.periods[0],
            "pi": pi,
            "periods": list(self.periods),
            "iterations": self.iterations,
            "cloud_rounds": self.rounds,
            "simulated_seconds": self.seconds,
            "bound": self.bound if isfinite(self.bound) else None,
            "effective_iterations": float(
                self.effective.effective(np.array([self.periods]), np.array([self.rounds]))[0]
            ),
            "constants": {
                name: asdict(each)
                for name, each in (
                    *self.estimates.of.items(),
                    *zip(map("drift_{}".format, tier_names(len(self.periods))), self.estimates.lost, strict=True),
                )
            },
            "pilot_share": self.pilot_share,
            "pilot": {
                "rounds": list(self.pilot.size.rounds),
                "batches": self.pilot.size.batches,
                "iterations": self.pilot.size.iterations,
                "seconds": self.pilot_s,
            },
            "times": {"iteration_s": self.times.theta_w, "merges_s": list(self.times.upper)},
            "nearly_as_good": {"from": list(self.near[0]), "to": list(self.near[1]), "within": NEAR},
            "if_off": {name: list(periods) for name, periods in self.if_off.items()},
            "printed": None
            if found is None
            else {
                "hieropt": list(found.walk.periods),
                "hieropt_start": list(found.walk.path[0]),
                "multi_start": list(found.best_walk.periods),
                "exact": list(found.exact.periods),
                "bound": found.exact.value if isfinite(found.exact.value) else None,
                "disagreements": list(found.disagreements),
            },
            "notes": list(self.notes),
        }


def tuned_part(recipe: Recipe, label: str | None = None) -> Part:
    """The algorithm that is asked for, else the first that has edges, else the first."""
    if label is not None:
        for part in recipe.algorithms:
            if label in (part.label, part.name):
                return part
        raise UserError(f"--algorithm {label}: the recipe has {', '.join(part.label for part in recipe.algorithms)}")
    return next((part for part in recipe.algorithms if part.made.tiers in (None, 3)), recipe.algorithms[0])


def tune(
    recipe: Recipe,
    part: Part,
    problem: Problem,
    budget_s: float,
    *,
    method: Method = "calibrated",
    share: float = SHARE,
    pilots: Sequence[Pilot] = (),
    show: Show = lambda what, done, of: None,
) -> Tuning:
    """`pilots` of this recipe that were made before are used again, where their size is the right one."""
    clocked = Clocked(recipe, part, model_size(problem, recipe.train.seed))
    show("how long rounds take", 0, 1)
    whole = clocked.times(budget_s)
    size = chosen_size(whole, share, batches_of(problem, clocked.tree.n_workers))
    pilot_s = size.seconds(whole)
    _check_budget(clocked, whole, pilot_s)
    pilot = next((each for each in pilots if each.size == size), None) or _piloted(clocked, problem, size, show)
    found = estimates(pilot.sights, clocked.tree, problem.sizes, momenta(part.made))
    notes = list(found.notes)
    if pilot_s > share * budget_s:
        notes.append(
            f"the smallest pilot takes {100 * pilot_s / budget_s:.1f} % of the budget, more than {100 * share:g} %"
        )
    times = replace(whole, budget_s=budget_s - pilot_s)
    effective = EffectiveObjective(
        times=times,
        drift=found.drift,
        gain=gain_of(found),
        start=start_of(part.made, clocked.tree.tiers),
    )
    show("the best periods", 0, 1)
    printed = _printed(times, found, recipe.train.seed, notes)
    if method == "printed" and printed is None:
        raise UserError("--method printed: the paper's bound has nothing to say here; " + "; ".join(notes[-1:]))
    if method == "printed" and printed is not None:
        guess, rounds = printed.exact.periods, clocked.rounds_within(printed.exact.periods, times)
    else:
        guess, rounds = chosen_periods(clocked, effective, show)
    if rounds < 1:  # the means of the delays promised one
        guess, rounds = shortest_periods(clocked, times)
    return Tuning(
        clocked=clocked,
        times=times,
        budget_s=budget_s,
        pilot=pilot,
        pilot_s=pilot_s,
        estimates=found,
        effective=effective,
        printed=printed,
        method=method,
        periods=guess,
        rounds=rounds,
        seconds=clocked.seconds(guess, rounds),
        near=nearly_as_good(effective, guess),
        if_off=if_off(effective, found),
        notes=tuple(notes),
    )


def gain_of(found: Estimates) -> float:
    """omega alpha sigma^2."""
    constants = found.constants
    return max(constants.omega * constants.alpha * constants.sigma**2, 1e-300)


def printed_objective(times: Times, found: Estimates) -> BoundObjective:
    return BoundObjective(times=times, constants=found.constants, printed=True)


def _piloted(clocked: Clocked, problem: Problem, size: Size, show: Show) -> Pilot:
    recipe, algorithm = clocked.recipe, clocked.part.made
    return run_pilot(
        problem,
        algorithm,
        clocked.tree,
        size,
        seed=recipe.train.seed,
        schedule=recipe.schedule.made,
        show=lambda done, of: show("pilot", done, of),
    )


def _check_budget(clocked: Clocked, times: Times, pilot_s: float) -> None:
    least = times.round_s((1,) * len(times.upper))
    if pilot_s + least > times.budget_s:
        raise UserError(
            f"--budget {times.budget_s:g} s: the smallest pilot takes {pilot_s:.3g} s and a single cloud round "
            f"{least:.3g} s under {clocked.delays}; give more time"
        )


def _printed(times: Times, found: Estimates, seed: int, notes: list[str]) -> Search | None:
    objective = printed_objective(times, found)
    try:
        return search(objective, times, seed)
    except UserError as error:
        notes.append(f"the paper's bound: {error}")
        return None
