"""HierMo with full gradients, and beside it the virtual updates of its analysis: what would be with fewer merges.

The paper's names: x_i is a worker's model, x_l- the mean of an edge's workers, x_l+ the edge's model after its
momentum, x that of the cloud. Virtual updates make the same steps with the gradient of a mean loss: x_[k],l with that
of edge l, from its last merge on; x_{p},l the same from the cloud's last merge on; x_{p} with that of all data, from
there on too.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device
import numpy as np
from numpy.typing import NDArray

from hiermo.algorithms.hiermo import HierMo, Worker
from hiermo.core.errors import Diverged, UserError
from hiermo.core.plan import Nodes
from hiermo.core.problem import Problem, computing
from hiermo.engine.run import run
from hiermo.topology.tree import Tree

TALLEST = 1e100  # number in a model, beyond which nothing is measured
Rows = NDArray[np.float64]  # [n, d], a model or a gradient for each node


class Moving(NamedTuple):
    """Models and velocities of some nodes."""

    x: Rows
    v: Rows

    def rows(self, which: Any) -> "Moving":
        return Moving(self.x[which], self.v[which])


class Models(NamedTuple):
    """All that moves: `[n, d]` of the workers, `[L, d]` of the edges, `[1, d]` of the cloud."""

    workers: Moving  # x_i
    edges: Moving  # x_[k],l
    rounds: Moving  # x_{p},l
    cloud: Moving  # x_{p}


class Slopes(NamedTuple):
    """Gradients `[n, d]` of every worker's loss F_i: at its own model, and at the virtual ones above it."""

    workers: Rows
    edges: Rows
    rounds: Rows
    cloud: Rows


class Moment(NamedTuple):
    """Iteration t + 1: where all set out, by which gradients, and where they are before anything is merged."""

    t: int
    before: Models
    slopes: Slopes
    after: Models
    minus: Rows  # x_l- after it, [L, d]
    plus: Rows | None  # x_l+, where edges merge
    merged: Rows | None  # the cloud's model [d], where it merges
    last: Rows | None  # the gradient [d] of F at x_{p} after it, likewise


class Shares:
    """Means over workers `[n, d]` by their data."""

    def __init__(self, tree: Tree, sizes: Any) -> None:
        self.parents = tree.parents[0]
        self.in_edge, self.of_edges = tree.weights(sizes)
        self.of_workers = self.in_edge * self.of_edges[self.parents]

    def edges(self, rows: Rows) -> Rows:
        """Of each edge, `[L, d]`."""
        found = np.zeros((len(self.of_edges), *rows.shape[1:]))
        np.add.at(found, self.parents, (self.in_edge * rows.T).T)
        return found

    def cloud(self, rows: Rows) -> Rows:
        """Of all, `[d]`."""
        return np.asarray(self.of_workers @ rows)


class FullGradients:
    """A problem whose batches are all the data; `last` are the gradients that were asked for last."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.sizes = problem, problem.sizes
        self.last: Rows = np.zeros((0, 0))

    def initial(self, seed: int) -> Any:
        return self.problem.initial(seed)

    def computing(self) -> AbstractContextManager[Any]:
        return computing(self.problem)

    def grad(self, seed: int, t: int, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        found = self.problem.full_grad(workers, x)
        self.last = numbers(found).copy()  # the engine may write over its own
        return found

    def full_grad(self, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        return self.problem.full_grad(workers, x)

    def evaluate(self, x: Any, buffers: Any = None) -> dict[str, Any]:
        return self.problem.evaluate(x)

    def at(self, workers: Nodes, x: Rows) -> Rows:
        """The gradients of these workers at numpy's rows."""
        with computing(self.problem):
            return numbers(self.problem.full_grad(workers, self.own(x)))

    def own(self, x: Rows) -> Any:
        """In the kind of numbers that the problem computes with."""
        like = self._like
        return array_namespace(like).asarray(x, dtype=like.dtype, device=device(like))

    @cached_property
    def _like(self) -> Any:
        return self.problem.initial(0)


def numbers(array: Any) -> Rows:
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array, dtype=np.float64)


def moments(
    algorithm: HierMo,
    tree: Tree,
    problem: FullGradients,
    *,
    periods: tuple[int, int],
    iterations: int,
    seed: int = 0,
) -> Iterator[Moment]:
    """Iteration by iteration, through the engine of every run."""
    parents, shares = tree.parents[0], Shares(tree, problem.sizes)
    n, everyone = tree.n_workers, np.tile(np.arange(tree.n_workers), 3)
    x = numbers(problem.initial(seed))[None]
    cloud = Moving(x, 0 * x)
    states = run(algorithm, tree, problem, periods=periods, iterations=iterations, seed=seed, every="iteration")
    for state in states:
        t = state.t - 1
        if t % prod(periods) == 0:
            edges = rounds = cloud.rows(np.zeros(tree.counts[1], int))
        if t % periods[0] == 0:
            workers = edges.rows(parents)
        places = [np.repeat(cloud.x, n, axis=0), edges.x[parents]]
        if edges is not rounds:  # until edges merge for the first time in a round they are one, and full gradients dear
            places.append(rounds.x[parents])
        found = problem.at(everyone[: n * len(places)], np.concatenate(places)).reshape(len(places), n, -1)
        slopes = Slopes(problem.last, found[1], found[-1], found[0])
        before = Models(workers, edges, rounds, cloud)
        moved = _stepped(algorithm, edges, shares.edges(slopes.edges))
        after = Models(
            _moving(state.tiers[0]),
            moved,
            moved if edges is rounds else _stepped(algorithm, rounds, shares.edges(slopes.rounds)),
            _stepped(algorithm, cloud, shares.cloud(slopes.cloud)[None]),
        )
        _check_finite(after, state.t)
        workers, edges, rounds, cloud = after
        plus = merged = last = None
        minus = shares.edges(workers.x)
        if state.t % periods[0] == 0:
            edges = _moving(state.tiers[1])
            plus = edges.x
        if state.t % prod(periods) == 0:
            last = shares.cloud(problem.at(everyone[:n], np.repeat(cloud.x, n, axis=0)))
            cloud = _moving(state.tiers[2])
            merged = cloud.x[0]
        yield Moment(t, before, slopes, after, minus, plus, merged, last)


def check_form(algorithm: Any, tree: Tree) -> None:
    """Refuses what the theorems are not about."""
    if not isinstance(algorithm, HierMo):
        raise UserError(f"the theorems are about HierMo, not about {type(algorithm).__name__}")
    if algorithm.form != "velocity":
        raise UserError(
            f"form = '{algorithm.form}': the proofs are of the velocity form, whose workers' velocities are averaged; "
            "set form = 'velocity'"
        )
    if tree.tiers != 3:
        raise UserError(f"the theorems are about three tiers, workers, edges and a cloud, and the tree is {tree}")


def _check_finite(models: Models, t: int) -> None:
    """The engine looks after the real ones, and lets them grow as far as float64 goes; here they are squared."""
    for record, tier in zip(models, (0, 1, 1, 2), strict=True):
        tall = np.abs(record.x).max(1)
        if not (tall < TALLEST).all():
            raise Diverged("the model", tier, int(np.argmax(~(tall < TALLEST))), t, 3)


def _moving(record: Any) -> Moving:
    return Moving(numbers(record.x).copy(), numbers(record.m).copy())


def _stepped(algorithm: HierMo, nodes: Moving, slopes: Rows) -> Moving:
    record: Any = Worker(nodes.x, nodes.v)
    return Moving(*algorithm.step(record, record, lambda x: slopes))  # type: ignore[arg-type]  # numpy in, numpy out
