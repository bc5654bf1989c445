"""x* and F*: a minimiser that is known, or where L-BFGS comes to from the end of a run."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from hiermo.tuning.observed import Loss, size
from hiermo.tuning.virtual import FullGradients, Rows, Shares, numbers

STEPS = 300  # of L-BFGS
REMEMBERED = 20  # of its steps, from which it knows the curvature
LESS = 1e-6  # of the gradient that it begins with: where it stops
NEAR = 1e-2  # of it: where this counts as a minimum; F of separable classes has none, and gets as near as one waits


class Minimum(NamedTuple):
    """Of F, or what comes near to one."""

    x: Rows
    loss: float
    slope: float  # |grad F| there
    found_by: str

    def json(self) -> dict[str, Any]:
        return {"loss": self.loss, "gradient": self.slope, "found_by": self.found_by}


def minimum(full: FullGradients, shares: Shares, loss: Loss, start: Rows, known: Any = None) -> Minimum | None:
    """None where F seems to have none."""
    everyone = np.arange(len(shares.parents))

    def slope(x: Rows) -> Rows:
        return shares.cloud(full.at(everyone, np.repeat(x[None], len(everyone), axis=0)))

    if known is not None:
        x = numbers(known)
        return Minimum(x, loss(x), float(size(slope(x))), "given")
    first = float(size(slope(start)))
    if first == 0:
        return Minimum(start, loss(start), 0.0, "the end of the run")
    found = minimize(
        lambda x: (loss(x), slope(x)),
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "maxfun": STEPS, "maxcor": REMEMBERED, "ftol": 0.0, "gtol": LESS * first},
    )
    left = float(size(found.jac))
    if not (np.isfinite(found.fun) and left < NEAR * first):
        return None
    return Minimum(np.asarray(found.x), float(found.fun), left, f"L-BFGS, {found.nfev} gradients")
