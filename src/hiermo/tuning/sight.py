"""What one look at a run in progress shows: gradients where the workers stand, and where each tier's means stand.

A look needs no more than workers can do: everyone computes gradients of the same batches at his own model, at the mean
of his edge, and so on up to the mean of all. What is kept of them are lengths and angles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.core.problem import Problem
from hiermo.topology.tree import Tree

Numbers = NDArray[np.float64]

CROSSED = ((0, 1), (1, 0))  # halves of the batches: products of their gradients are not those of noise with itself
SAMPLES, MOST_BATCHES = 2048, 16  # of all workers together in one look: so many, in no more batches than this


@dataclass(frozen=True, kw_only=True)
class Sight:
    """Plain numbers, one look; lists are over workers or over the nodes of a tier."""

    t: int
    since: int  # iterations since everyone was at the same model
    loss: float
    gradient: float  # |grad F| at the mean of all models
    gradients: list[float]  # |grad F_i| where the workers stand
    smoothness: list[float]  # |difference of gradients| / |difference of models|, of worker and edge, edge and cloud
    apart: list[list[float]]  # for each tier: |gradient of a node - that of its parent| at the parent's mean
    momenta: list[float]  # gamma |v| / (eta |grad F|); empty for algorithms without
    kept: list[float]  # for each tier: the part of the gradient that its nodes still follow, having gone apart,
    noise: list[float]  # and by how much that differs between batches


def look(
    problem: Problem,
    tree: Tree,
    seed: int,
    t: int,
    since: int,
    models: Any,
    loss: float,
    velocities: Any = None,
    eta: float = 0.0,
    batches: int = 2,
) -> Sight:
    """`models` `[n, d]` are the workers' before a merge of the root; `velocities` are gamma v, where there are.

    To be called inside `computing(problem)`.
    """
    shares, everyone = tree.weights(problem.sizes), _native(_share_of_all(problem)[None], models)
    overall: list[list[Any]] = []
    apart: list[list[float]] = []
    smoothness: list[float] = []
    own = below = None  # the workers' gradients; point and gradients of the tier below: no more is held at once
    for tier in range(tree.tiers):
        point = models if tier == 0 else _native(_averaging(tree, shares, tier - 1), models) @ models
        halves = _halves(problem, seed, t, np.arange(tree.n_workers), point, batches)
        mean = (halves[0] + halves[1]) / 2
        overall.append([(everyone @ half)[0] for half in halves])
        if below is None:
            own = mean
        else:
            apart.append(_apart(tree, shares, halves, models, tier - 1))
            smoothness += _ratios(below, (point, mean))
        below = point, mean
    kept = [_kept(lower, upper, overall[-1]) for lower, upper in pairwise(overall)]
    return Sight(
        t=t,
        since=since,
        loss=loss,
        gradient=float(np.sqrt(max(0.0, _crossed(overall[-1], overall[-1])))),
        gradients=_lengths(own).tolist(),
        smoothness=smoothness,
        apart=apart,
        momenta=[] if velocities is None else _momenta(velocities, own, eta),
        kept=[each[0] for each in kept],
        noise=[each[1] for each in kept],
    )


def batches_of(problem: Problem, n_workers: int) -> int:
    """As many as make a gradient stand out of its noise, an even number."""
    each = n_workers * int(getattr(problem, "batch", SAMPLES))
    return int(np.clip(2 * -(-SAMPLES // (2 * each)), 2, MOST_BATCHES))


def _halves(problem: Problem, seed: int, t: int, workers: Any, at: Any, batches: int) -> list[Any]:
    """Mean gradients of the even and of the odd batches."""
    found = []
    for first in range(2):
        several = range(first, batches, 2)
        total: Any = 0
        for batch in several:
            total = total + problem.grad(seed, t + 1 + batch, workers, at)
        found.append(total / len(several))
    return found


def _share_of_all(problem: Problem) -> Numbers:
    sizes = np.asarray(problem.sizes, float)
    found: Numbers = sizes / sizes.sum()
    return found


def _averaging(tree: Tree, shares: Sequence[Numbers], tier: int) -> Numbers:
    """`[n, n]`: from the workers' vectors to each worker's mean at its node of tier + 1."""
    node, share = np.arange(tree.n_workers), np.ones(tree.n_workers)
    for k in range(tier + 1):
        share, node = share * shares[k][node], tree.parents[k][node]
    found: Numbers = np.where(node[:, None] == node[None], share[None], 0.0)
    return found


def _node_means(tree: Tree, shares: Sequence[Numbers], tier: int) -> Numbers:
    """`[nodes of tier, n]`: from the workers' vectors to the means of the nodes; those of tier 0 are the workers."""
    node, share = np.arange(tree.n_workers), np.ones(tree.n_workers)
    for k in range(tier):
        share, node = share * shares[k][node], tree.parents[k][node]
    found = np.zeros((tree.counts[tier], tree.n_workers))
    found[node, np.arange(tree.n_workers)] = share
    return found


def _apart(tree: Tree, shares: Sequence[Numbers], batches: Sequence[Any], like: Any, tier: int) -> list[float]:
    """Of the nodes of a tier around their parents; batches are independent, so that noise adds nothing on average."""
    own, parent = _node_means(tree, shares, tier), _node_means(tree, shares, tier + 1)[tree.parents[tier]]
    away = [_native(own - parent, like) @ each for each in batches]
    squares = _dots(away[0], away[1])
    return [float(each) for each in np.sign(squares) * np.sqrt(np.abs(squares))]  # below 0: less than the noise


def _ratios(lower: tuple[Any, Any], upper: tuple[Any, Any]) -> list[float]:
    """Of each worker, between its (model, gradient) of two tiers."""
    distance = _lengths(lower[0] - upper[0])
    apart = distance > 1e-6 * max(float(_lengths(upper[0]).max()), 1e-30)  # nearer ones differ by rounding
    found: list[float] = (_lengths(lower[1] - upper[1])[apart] / distance[apart]).tolist()
    return found


def _momenta(velocities: Any, gradients: Any, eta: float) -> list[float]:
    lengths = eta * _lengths(gradients)
    some = lengths > 0
    found: list[float] = (_lengths(velocities)[some] / lengths[some]).tolist()
    return found


def _kept(lower: Sequence[Any], upper: Sequence[Any], towards: Sequence[Any]) -> tuple[float, float]:
    """How much of what the upper means would do the lower models do, along the whole gradient; 1 is all of it.

    With half the difference of what single pairs of batches say.
    """
    parts = [(float(_dots(lower[i], towards[j])), float(_dots(upper[i], towards[j]))) for i, j in CROSSED]
    whole = sum(of for _, of in parts)
    if whole <= 0:
        return float("nan"), 0.0
    each = [part / of for part, of in parts if of > 0]
    return sum(part for part, _ in parts) / whole, (max(each) - min(each)) / 2


def _crossed(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The inner product of two gradients without the noise that they share."""
    return float(np.mean([float(_dots(a[i], b[j])) for i, j in CROSSED]))


def _native(matrix: Numbers, like: Any) -> Any:
    return like.new_tensor(matrix) if hasattr(like, "new_tensor") else matrix


def _dots(a: Any, b: Any) -> Numbers:
    if hasattr(a, "new_tensor"):
        a, b = a.double(), b.double()
        found: Numbers = np.asarray((a * b).sum(-1).cpu())
        return found
    return np.asarray((a * b).sum(-1), float)


def _lengths(a: Any) -> Numbers:
    found: Numbers = np.sqrt(_dots(a, a))
    return found
