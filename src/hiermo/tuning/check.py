"""Theorems 1, 2, 3 and 5 on a run of HierMo: left and right sides, as printed and as corrected, and whether they hold.

checked = check(HierMo(), tree, problem, periods=(10, 2), iterations=200)
for theorem in checked.theorems: ...
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from hiermo.algorithms.hiermo import HierMo
from hiermo.core.errors import UserError
from hiermo.core.problem import Problem
from hiermo.theory.bounds import f_hiermo, j, s
from hiermo.theory.corrected import cloud_gap, edge_gap, f_corrected, total_gap
from hiermo.theory.drift import h, h_table
from hiermo.topology.tree import Tree
from hiermo.tuning.minimum import Minimum, minimum
from hiermo.tuning.observed import Gaps, Loss, Observed
from hiermo.tuning.theorems import LENGTH, Checked, Inequality, Theorem
from hiermo.tuning.virtual import FullGradients, Rows, Shares, check_form, moments

Show = Callable[[int], object]  # is told how many iterations are done


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
    (tau, pi), motion = periods, {"eta": c.eta, "beta": c.beta, "gamma": c.gamma}
    jumps = observed.jumps
    jump = float((jumps @ observed.shares.of_edges).max())
    apart = {"jump": jump, "worker_to_cloud": observed.worker_to_cloud}

    def against(gaps: Gaps, right: Callable[[], Any]) -> Inequality:
        return inequality(gaps, right, LENGTH * observed.scale)

    def drift() -> Any:
        table = c.eta * h_table(tau, **motion)
        return np.outer(table[(near.t.astype(int) - 1) % tau + 1], c.delta_edges)

    def mended() -> Any:
        merges = range(1, len(at_edges.t) + 1)
        return [[edge_gap(k, tau, pi, c, own) for own in jumps.max(0).tolist()] for k in merges]

    def bound_of_loss(f: Callable[[float], float]) -> Any:
        if least is None:
            raise UserError("no minimum of F was found from the last model of the run: it may have none")
        return [[f(float(t))] for t in best.t]

    near, at_edges, at_cloud = observed.workers_from_edges(), observed.momentum_at_edges(), observed.edges_from_cloud()
    whole, losses = observed.model_from_cloud(), observed.losses()
    best = Gaps(losses.t, np.minimum.accumulate(losses.distance) - (np.nan if least is None else least.loss))
    theorems = (
        Theorem("Theorem 1", "|x_l- - x_[k],l| <= h(t - (k-1) tau, delta_l)", against(near, drift)),
        Theorem(
            "Theorem 2",
            "|x_l+ - x_l-| <= s(tau)",
            against(at_edges, lambda: s(tau, c)),
            against(at_edges, mended),
        ),
        Theorem(
            "Theorem 3",
            "|x_[p pi] - x_{p}| <= h(tau pi, delta) + pi sum_l (D_l/D) (h(tau, delta_l) + s(tau))",
            # h is proportional to delta, so that the edges' mean is that of delta
            against(
                at_cloud,
                lambda: h(prod(periods), c.delta, **motion) + pi * (h(tau, c.delta, **motion) + s(tau, c)),
            ),
            against(at_cloud, lambda: cloud_gap(periods, c, edge_to_cloud=observed.edge_to_cloud, **apart)),
        ),
        Theorem(
            "j",
            "|x - x_{p}| <= j(tau, pi), a step in the proofs of Theorems 4 and 5",
            against(whole, lambda: j(periods, c)),
            against(whole, lambda: total_gap(periods, c, **apart)),
        ),
        Theorem(
            "Theorem 5",
            "F(x^f) - F(x*) <= f(T)",
            against(best, lambda: bound_of_loss(lambda t: f_hiermo(t, periods, c))),
            against(best, lambda: bound_of_loss(lambda t: f_corrected(t, periods, c, **apart))),
        ),
    )
    return Checked(c, observed.edge_to_cloud, observed.worker_to_cloud, jump, least, theorems)


def inequality(gaps: Gaps, right: Callable[[], Any], slack: float) -> Inequality:
    """The measured left side against a right side, which may refuse."""
    try:
        bound = np.broadcast_to(np.asarray(right(), float), gaps.distance.shape)
    except UserError as error:
        return Inequality(gaps.t, gaps.distance, None, slack, str(error))
    return Inequality(gaps.t, gaps.distance, bound, slack)
