"""The best periods within a time budget: HierOPT (the paper's Algorithm 2), beside it the exact answer.

HierOPT walks by the signs of the derivatives, one step of 1 in every period at a time, from a random start, until it
comes to a choice where it has been. It ends at a local optimum, or beside one, as its steps are whole and those of all
periods are taken at once; where, depends on the start. The exact search costs milliseconds where the objective is a
formula, so both are made, and `search` says where they differ.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from math import inf, isnan

import numpy as np

from hiermo.core.errors import UserError
from hiermo.tuning.objective import Counts, Floored, Numbers, Objective, Times, Vectorised

Periods = tuple[int, ...]

FARTHEST_START = 100
MOST_STEPS = 3_000
MOST_CALLS = 200_000  # of an objective that takes one choice at a time
MOST_CHOICES = 20_000_000
BLOCK = 1 << 20  # choices evaluated at once
ROUNDING = 1e-9  # by how much a floor must be above the best value to rule anything out


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Where HierOPT ended, and how it came there."""

    periods: Periods
    value: float
    path: tuple[Periods, ...]  # from the start on; the last is the one that was met again
    trouble: str = ""  # why it was given up, else empty


@dataclass(frozen=True, kw_only=True)
class Best:
    """The least value of all choices that fit into the budget; of equal ones that with the shortest lowest period."""

    periods: Periods
    value: float
    n_choices: int  # how many were evaluated; the others fit too, but cannot be better


@dataclass(frozen=True, kw_only=True)
class Search:
    """The answers of the three ways, and in words where they do not agree."""

    walk: Walk  # from one random start, as the paper has it
    best_walk: Walk  # the best of several
    exact: Best
    disagreements: tuple[str, ...]


def walk(objective: Objective, start: Sequence[int], most_steps: int = MOST_STEPS) -> Walk:
    """Algorithm 2 from `start`.

    What its printing leaves open: a choice counts as visited once it has been left; where a derivative is 0 the period
    stays; all derivatives are taken at the old choice.
    """
    here, path, visited, trouble = _whole(start, objective), [], set(), ""
    while True:
        path.append(here)
        if here in visited:  # lines 16-18
            break
        if len(path) > most_steps:
            trouble = f"still on its way after {most_steps} steps"
            break
        slopes = [objective.slope(here, k) for k in range(len(here))]  # lines 3 and 9
        if any(map(isnan, slopes)):
            trouble = f"the objective has no slope at {_text(here)}"
            break
        visited.add(here)  # line 15
        here = tuple(max(period - _sign(slope), 1) for period, slope in zip(here, slopes, strict=True))
    return Walk(periods=here, value=objective.value(here), path=tuple(path), trouble=trouble)


def hieropt(objective: Objective, seed: int) -> Walk:
    """Algorithm 2 from a random start, every period uniform in 1, ..., 100."""
    return walk(objective, next(_starts(objective, seed)))


def multi_start(objective: Objective, seed: int, starts: int = 20) -> Walk:
    """The best of several walks; the first is that of `hieropt`."""
    if starts < 1:
        raise UserError(f"starts must be at least 1, not {starts}")
    walks = [walk(objective, start) for start in islice(_starts(objective, seed), starts)]
    return min(walks, key=lambda each: inf if isnan(each.value) else each.value)


def exact(objective: Objective, times: Times) -> Best:
    """The best of all whole periods with which the root merges at least once within the budget.

    An objective that has `floor` (see `Floored`) rules out most of them, one that has `values` (see `Vectorised`)
    evaluates many at once; without either, all are evaluated one by one, up to a limit.
    """
    times.check()
    if not times.fits((1,) * objective.n_periods):
        raise UserError(
            f"not one merge of the root fits into budget_s = {times.budget_s:g}: even with all periods 1 it takes "
            f"{times.round_s((1,) * objective.n_periods):g} s"
        )
    longest = _longest(objective, times)
    best = Best(periods=(1,) * objective.n_periods, value=inf, n_choices=0)
    for choices in _choices(times, longest, MOST_CHOICES if isinstance(objective, Vectorised) else MOST_CALLS):
        values = _values(objective, choices)
        best = replace(best, n_choices=best.n_choices + len(choices))
        first = int(np.argmin(values))
        if values[first] < best.value:
            best = replace(best, periods=tuple(map(int, choices[first])), value=float(values[first]))
    return best


def search(objective: Objective, times: Times, seed: int) -> Search:
    """All three ways, compared."""
    one, several, best = hieropt(objective, seed), multi_start(objective, seed), exact(objective, times)
    said = []
    for name, found in {"HierOPT": one, "the best of several HierOPT": several}.items():
        if found.trouble:
            said.append(f"{name} was given up at {_text(found.periods)}: {found.trouble}")
        if not times.fits(found.periods):
            said.append(
                f"{name} ended at {_text(found.periods)}, with which the root does not merge once within "
                f"{times.budget_s:g} s"
            )
        if found.periods != best.periods:
            said.append(
                f"{name} ended at {_text(found.periods)} with {found.value:.6g}, the exact minimum is "
                f"{_text(best.periods)} with {best.value:.6g}"
            )
    if one.periods != several.periods:
        said.append(
            f"HierOPT depends on its start: {_text(one.path[0])} leads to {_text(one.periods)}, "
            f"{_text(several.path[0])} to {_text(several.periods)}"
        )
    return Search(walk=one, best_walk=several, exact=best, disagreements=tuple(said))


def _starts(objective: Objective, seed: int) -> Iterator[Periods]:
    generator = np.random.default_rng(seed)
    while True:
        drawn = generator.integers(1, FARTHEST_START + 1, size=objective.n_periods)
        yield tuple(int(each) for each in drawn)


def _whole(start: Sequence[int], objective: Objective) -> Periods:
    if len(start) != objective.n_periods or any(each < 1 or each != int(each) for each in start):
        raise UserError(f"a walk starts with {objective.n_periods} whole periods of at least 1, not {tuple(start)}")
    return tuple(int(each) for each in start)


def _sign(slope: float) -> int:
    return (slope > 0) - (slope < 0)


def _longest(objective: Objective, times: Times) -> list[int]:
    """For each period, where all others are 1, the longest that fits and that the objective does not rule out."""
    n = objective.n_periods

    def fits(k: int, length: int) -> bool:
        return times.fits(_alone(n, k, length))

    limits = [_last(partial(fits, k)) for k in range(n)]
    if not isinstance(objective, Floored):
        return limits
    doubling = [[1 << power for power in range(limit.bit_length())] for limit in limits]
    sample = [objective.value(choice) for choice in product(*doubling) if times.fits(choice)]
    best = min((value for value in sample if not isnan(value)), default=inf)

    def may_be_best(k: int, length: int) -> bool:
        return not objective.floor(_alone(n, k, length)) > best + ROUNDING * abs(best)

    return [_last(partial(may_be_best, k), limit) for k, limit in enumerate(limits)]


def _choices(times: Times, longest: Sequence[int], most: int) -> Iterator[Counts]:
    """All that fit, lowest period first, in blocks."""
    rows, seconds = np.ones((1, 0), dtype=np.int64), np.full(1, times.theta_w)
    for k, limit in enumerate(longest):
        above_s = sum(times.upper[k:])
        counts = np.minimum((times.budget_s - above_s) / seconds + 1, limit).astype(np.int64)  # 1 too many is no harm
        if counts.sum() > most:
            raise UserError(
                f"more than {most} choices of periods fit into budget_s = {times.budget_s:g}: take a smaller budget, "
                "or an objective with `floor` and `values`"
            )
        if k == len(longest) - 1:
            for part in np.split(np.arange(len(rows)), _breaks(counts)):
                block = _extended(rows[part], counts[part])
                if len(block := block[times.round_s(block.T) <= times.budget_s]):
                    yield block
            return
        rows, seconds = _extended(rows, counts), np.repeat(seconds, counts)
        seconds = seconds * rows[:, -1] + times.upper[k]


def _breaks(counts: Counts) -> Counts:
    """Where to cut, so that what lies between has few choices."""
    blocks = np.cumsum(counts) // BLOCK
    return np.flatnonzero(np.diff(blocks)) + 1


def _extended(rows: Counts, counts: Counts) -> Counts:
    """Each row as often as its count, with a further period from 1 to that."""
    ends = np.cumsum(counts)
    further = np.arange(ends[-1]) - np.repeat(ends - counts, counts) + 1
    found: Counts = np.column_stack([np.repeat(rows, counts, axis=0), further])
    return found


def _values(objective: Objective, choices: Counts) -> Numbers:
    """Of each choice; what is not a number is no good."""
    if isinstance(objective, Vectorised):
        found = objective.values(choices)
    else:
        found = np.array([objective.value(tuple(map(int, choice))) for choice in choices])
    return np.where(np.isnan(found), inf, found)


def _last(holds: Callable[[int], bool], limit: float = inf) -> int:
    """The largest number up to `limit` of which `holds` is true, which it is from 1 to there; at least 1."""
    low, high = 1, 2
    while high <= limit and holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle <= limit and holds(middle) else (low, middle)
    return low


def _alone(n: int, k: int, length: int) -> Periods:
    return tuple(length if each == k else 1 for each in range(n))


def _text(periods: Periods) -> str:
    return f"({', '.join(map(str, periods))})"
