"""Theorems 1, 2, 3 and 5 on a run of HierMo: left and right sides, as printed and as corrected, and whether they hold.

checked = check(HierMo(), tree, problem, periods=(10, 2), iterations=200)
for theorem in checked.theorems: ...
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hiermo.algorithms.hiermo import HierMo
from hiermo.core.errors import UserError
from hiermo.core.problem import Problem
from hiermo.theory.bounds import f_hiermo, j, s
from hiermo.theory.constants import Constants
from hiermo.theory.corrected import cloud_gap, edge_gap, f_corrected, total_gap
from hiermo.theory.drift import h, h_table
from hiermo.topology.tree import Tree
from hiermo.tuning.minimum import Minimum, minimum
from hiermo.tuning.observed import Gaps, Loss, Numbers, Observed
from hiermo.tuning.virtual import FullGradients, Rows, Shares, check_form, moments

# The right sides are sums of positive numbers, right to 1e-10. The left sides are distances between models that were
# each rounded some hundred times since they were one, by 1e-16 of their length; measured where they should be 0, they
# stay below 1e-14 of it.
SHARE = 1e-9  # of the right side
LENGTH = 1e-12  # of the largest model
Show = Callable[[int], object]


class Inequality(NamedTuple):
    """left <= right, `[m, L]` for each edge or `[m, 1]`, at iterations t `[m]`; or why it says nothing here."""

    t: Numbers
    left: Numbers
    right: Numbers | None
    slack: float  # what rounding may add to the left
    refusal: str = ""

    @property
    def ratios(self) -> Numbers:
        """left / right, infinite where the right is 0 and the left is not."""
        assert self.right is not None
        beyond = np.where(self.left > self.slack, self.left, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(beyond > 0, beyond / self.right, 0.0)

    @property
    def worst(self) -> tuple[int, int]:
        """Row and column of the largest ratio."""
        row, column = np.unravel_index(np.argmax(self.ratios), self.left.shape)
        return int(row), int(column)

    @property
    def ratio(self) -> float:
        return float(self.ratios[self.worst])

    @property
    def holds(self) -> bool | None:
        """None where it says nothing."""
        if self.right is None:
            return None
        return bool((self.left <= (1 + SHARE) * self.right + self.slack).all())

    def json(self) -> dict[str, Any]:
        if self.right is None:
            return {"applies": False, "why": self.refusal}
        row, column = self.worst
        left, right, found = float(self.left[row, column]), float(self.right[row, column]), self.ratio
        edge = {"edge": column} if self.left.shape[1] > 1 else {}
        told = {"applies": True, "left": left, "right": plain(right), "ratio": plain(found)}
        return told | {"holds": self.holds, "iteration": int(self.t[row])} | edge


class Theorem(NamedTuple):
    """One statement, as printed, and where that can fail what holds in its place."""

    name: str
    says: str
    printed: Inequality
    corrected: Inequality | None = None

    def json(self) -> dict[str, Any]:
        told = {"name": self.name, "says": self.says, "printed": self.printed.json()}
        return told | ({"corrected": self.corrected.json()} if self.corrected else {})


@dataclass(frozen=True)
class Checked:
    """What came of it."""

    constants: Constants
    edge_to_cloud: float  # mean over edges of the largest |grad F_l - grad F|
    worker_to_cloud: float  # mean over workers of the largest |grad F_i - grad F|
    jump: float  # largest mean over edges of |x - x_l+| at a merge of the cloud
    minimum: Minimum | None
    theorems: tuple[Theorem, ...]

    def theorem(self, name: str) -> Theorem:
        return next(each for each in self.theorems if each.name == name)

    def json(self) -> dict[str, Any]:
        c = self.constants
        names = ("eta", "gamma", "gamma_a", "rho", "beta", "mu", "omega", "sigma", "alpha", "delta")
        told = {name: plain(getattr(c, name)) for name in names}
        more = {"edge_to_cloud": self.edge_to_cloud, "worker_to_cloud": self.worker_to_cloud, "jump": self.jump}
        found = None if self.minimum is None else self.minimum.json()
        return {
            "constants": told | {"delta_edges": list(c.delta_edges), **more},
            "minimum": found,
            "theorems": [each.json() for each in self.theorems],
        }


def check(
    algorithm: HierMo,
    tree: Tree,
    problem: Problem,
    *,
    periods: tuple[int, int],
    iterations: int,
    seed: int = 0,
    loss: Loss | None = None,
    minimiser: Any = None,
    show: Show = lambda t: None,
) -> Checked:
    """Runs HierMo with full gradients; `loss` is F, which else is what the problem evaluates as its loss.

    x* is the given `minimiser`, or else where L-BFGS comes to from the last model of the run.
    """
    check_form(algorithm, tree)
    full = FullGradients(problem)
    of_model: Loss = loss or (lambda x: float(problem.evaluate(full.own(x))["loss"]))
    shares = Shares(tree, problem.sizes)
    observed = Observed(algorithm, shares, of_model)
    model: Rows | None = None
    for moment in moments(algorithm, tree, full, periods=periods, iterations=iterations, seed=seed):
        observed.see(moment)
        model = moment.merged if moment.merged is not None else model
        show(moment.t + 1)
    assert model is not None
    least = minimum(full, shares, of_model, model, minimiser)
    return judged(observed, periods, least)


def judged(observed: Observed, periods: tuple[int, int], least: Minimum | None) -> Checked:
    """The theorems with the constants of the run that was observed."""
    c = observed.constants(None if least is None else least.x)
    jumps, workers, edges = observed.jumps, observed.worker_to_cloud, observed.edge_to_cloud
    jump = float((jumps @ observed.shares.of_edges).max())
    slack, (tau, pi), length = LENGTH * observed.scale, periods, prod(periods)

    def against(gaps: Gaps, right: Callable[[], Any]) -> Inequality:
        try:
            bound = np.broadcast_to(np.asarray(right(), float), gaps.distance.shape)
        except UserError as error:
            return Inequality(gaps.t, gaps.distance, None, slack, str(error))
        return Inequality(gaps.t, gaps.distance, bound, slack)

    near = observed.workers_from_edges()
    drift = c.eta * h_table(tau, eta=c.eta, beta=c.beta, gamma=c.gamma)
    first = against(near, lambda: np.outer(drift[(near.t.astype(int) - 1) % tau + 1], c.delta_edges))

    at_edges = observed.momentum_at_edges()
    second = against(at_edges, lambda: s(tau, c))
    mended = against(
        at_edges,
        lambda: [
            [edge_gap(k, tau, pi, c, own) for own in jumps.max(0).tolist()] for k in range(1, len(at_edges.t) + 1)
        ],
    )

    at_cloud = observed.edges_from_cloud()
    motion = {"eta": c.eta, "beta": c.beta, "gamma": c.gamma}
    third = against(at_cloud, lambda: h(length, c.delta, **motion) + pi * (h(tau, c.delta, **motion) + s(tau, c)))
    sides = {"jump": jump, "worker_to_cloud": workers}
    carried = against(at_cloud, lambda: cloud_gap(periods, c, edge_to_cloud=edges, **sides))

    whole = observed.model_from_cloud()
    lost = observed.losses()
    best = Gaps(lost.t, np.minimum.accumulate(lost.distance) - (0.0 if least is None else least.loss))

    def bounds(f: Callable[[float], float]) -> Callable[[], Any]:
        def right() -> Any:
            if least is None:
                raise UserError("no minimum of F was found from the last model of the run: it may have none")
            c.check()
            return [[f(float(t))] for t in best.t]

        return right

    return Checked(
        c,
        edges,
        workers,
        jump,
        least,
        (
            Theorem("Theorem 1", "|x_l- - x_[k],l| <= h(t - (k-1) tau, delta_l)", first),
            Theorem("Theorem 2", "|x_l+ - x_l-| <= s(tau)", second, mended),
            Theorem("Theorem 3", "|x_[p pi] - x_{p}| <= h + pi (h + s)", third, carried),
            Theorem(
                "j",
                "|x - x_{p}| <= j(tau, pi)",
                against(whole, lambda: j(periods, c)),
                against(whole, lambda: total_gap(periods, c, **sides)),
            ),
            Theorem(
                "Theorem 5",
                "F(x^f) - F(x*) <= f(T)",
                against(best, bounds(lambda t: f_hiermo(t, periods, c))),
                against(best, bounds(lambda t: f_corrected(t, periods, c, **sides))),
            ),
        ),
    )


def plain(number: float) -> float | None:
    """JSON has no infinity."""
    return float(number) if np.isfinite(number) else None
