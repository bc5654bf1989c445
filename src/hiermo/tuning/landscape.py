"""How much more than the least the objective is, at pairs around the chosen one: what a heat map shows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.tuning.tune import Tuning

KEPT = (28, 18)  # values of tau and of pi that a file holds at most


def values_shown(tuning: Tuning, most: int, other: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """At most so many values of tau and of pi, far enough to show what is chosen from all sides; on two tiers no pi."""
    printed = tuning.printed.exact.periods if tuning.printed else tuning.periods
    pairs = zip((60, 12), tuning.periods, printed, strict=False)
    longest = [max(least, 6 * own, 2 * theirs) for least, own, theirs in pairs]
    lines = [
        np.unique(np.round(np.geomspace(1, far, n)).astype(np.int64))
        for far, n in zip(longest, (most, other or most), strict=False)
    ]
    return lines[0], lines[1] if len(lines) > 1 else np.zeros(0, np.int64)


def above_least(tuning: Tuning, taus: NDArray[Any], pis: NDArray[Any]) -> NDArray[np.float64]:
    """`[pis, taus]` in percent; nan where a cloud round does not fit into the budget."""
    if len(tuning.periods) == 1:
        values = tuning.objective.values(taus[:, None])[None, :]
    else:
        rows = np.array([(tau, pi, *tuning.periods[2:]) for pi in pis for tau in taus])
        fits = tuning.times.round_s(rows.astype(float).T) <= tuning.times.budget_s
        values = np.where(fits, tuning.objective.values(rows), np.nan).reshape(len(pis), len(taus))
    found: NDArray[np.float64] = 100 * (values / np.nanmin(values) - 1)
    return found


def landscape(tuning: Tuning) -> dict[str, Any]:
    """For a file: small and rounded; the chosen values are among those shown."""
    taus, pis = values_shown(tuning, *KEPT)
    taus = np.union1d(taus, tuning.periods[0])
    if len(pis):
        pis = np.union1d(pis, tuning.periods[1])
    above = above_least(tuning, taus, pis)
    rows = [[float(f"{each:.3g}") if np.isfinite(each) else None for each in row] for row in above.tolist()]
    return {"taus": taus.tolist(), "pis": pis.tolist(), "percent_above_least": rows}
