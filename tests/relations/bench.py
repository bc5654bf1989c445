"""What the relations run on, and what they compare with: centralised methods, and HierMo told in other ways."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from helpers import models, quadratic
from hiermo import HierMo, Quadratic, Tree, run
from hiermo.algorithms.hiermo import Edge, Worker

ETA = 0.05
ITERATIONS = 24

THREE_GROUPS = [[0, 3], [1], [2, 4, 5]]
THREE_EDGES = Tree.from_groups(THREE_GROUPS)
TWO_EDGES = Tree.from_groups([[5, 1, 2, 4], [0, 3]])
ONE_EDGE = Tree.branching(1, 6)
OWN_EDGES = Tree.branching(6, 1)
TREES = (THREE_EDGES, TWO_EDGES, ONE_EDGE, OWN_EDGES)
FLAT = Tree.branching(6)

PROBLEM = quadratic(n=6)
ALIKE = Quadratic(A=[PROBLEM.A[0]] * 6, b=[PROBLEM.b[0]] * 6, sizes=PROBLEM.sizes, x0=PROBLEM.x0)
EVEN = Quadratic(A=PROBLEM.A, b=PROBLEM.b, sizes=[7] * 6, x0=PROBLEM.x0)
SHARES = PROBLEM.sizes / PROBLEM.sizes.sum()

Trajectory = Callable[[str], Any]  # engine -> cloud models [rounds, d]


class Slope:
    """F_i(x) = x for every worker: the gradient is 1 everywhere."""

    sizes = (1, 2, 3, 4, 5, 6)

    def initial(self, seed: int) -> Any:
        return np.zeros(1)

    def grad(self, seed: int, t: int, workers: Any, x: Any, buffers: Any = None) -> Any:
        return np.ones_like(x)

    def full_grad(self, workers: Any, x: Any, buffers: Any = None) -> Any:
        return np.ones_like(x)


def go(
    kind: Any,
    periods: tuple[int, ...],
    tree: Tree = FLAT,
    *,
    problem: Any = PROBLEM,
    seen: int = 1,
    field: str = "x",
    **parameters: Any,
) -> Trajectory:
    """A run of `kind(**parameters)`, looked at in every `seen`-th round of the cloud."""
    algorithm = kind(**{"eta": ETA, **parameters})

    def trajectory(engine: str) -> Any:
        records = cloud_records(algorithm, tree, problem, periods, engine)
        return np.array([getattr(record, field)[0] for record in records])[seen - 1 :: seen]

    return trajectory


@cache  # the same partner serves many
def cloud_records(algorithm: Any, tree: Tree, problem: Any, periods: tuple[int, ...], engine: str) -> list[Any]:
    states = run(algorithm, tree, problem, periods=periods, iterations=ITERATIONS, engine=engine)
    return [state.tiers[-1] for state in states]


def mean_gradient(x: Any) -> Any:
    return sum(SHARES[i] * (PROBLEM.A[i] @ x - PROBLEM.b[i]) for i in range(6))


def gradient_descent(engine: str) -> Any:
    x, found = PROBLEM.x0, []
    for _ in range(ITERATIONS):
        x = x - ETA * mean_gradient(x)
        found.append(x)
    return np.array(found)


def nesterov(gamma: float) -> Trajectory:
    def trajectory(engine: str) -> Any:
        x = y = PROBLEM.x0
        found = []
        for _ in range(ITERATIONS):
            before, y = y, x - ETA * mean_gradient(x)
            x = y + gamma * (y - before)
            found.append(x)
        return np.array(found)

    return trajectory


def heavy_ball(gamma: float) -> Trajectory:
    def trajectory(engine: str) -> Any:
        x, b, found = PROBLEM.x0, 0 * PROBLEM.x0, []
        for _ in range(ITERATIONS):
            b = gamma * b + mean_gradient(x)
            x = x - ETA * b
            found.append(x)
        return np.array(found)

    return trajectory


def moving_average(gamma: float) -> Trajectory:
    def trajectory(engine: str) -> Any:
        x, m, found = PROBLEM.x0, 0 * PROBLEM.x0, []
        for _ in range(ITERATIONS):
            m = gamma * m + (1 - gamma) * mean_gradient(x)
            x = x - ETA * m
            found.append(x)
        return np.array(found)

    return trajectory


def unweighted_local_sgd(tau: int, pi: int) -> Trajectory:
    """Two nested levels of THREE_GROUPS, each replaced by the plain mean of its workers."""

    def trajectory(engine: str) -> Any:
        x, found = [PROBLEM.x0] * 6, []
        for t in range(1, ITERATIONS + 1):
            x = [x[i] - ETA * (PROBLEM.A[i] @ x[i] - PROBLEM.b[i]) for i in range(6)]
            for period, level in ((tau, THREE_GROUPS), (tau * pi, [list(range(6))])):
                if t % period == 0:
                    for group in level:
                        mean = sum(x[i] for i in group) / len(group)
                        for i in group:
                            x[i] = mean
            if t % (tau * pi) == 0:
                found.append(x[0])
        return np.array(found)

    return trajectory


def rebased_buffers(tau: int, pi: int, gamma: float, gamma_a: float) -> Trajectory:
    """Algorithm 1 with torch's SGD at the workers: positions are read off its buffers, which are then re-based."""

    def trajectory(engine: str) -> Any:
        x = [torch.tensor(PROBLEM.x0, requires_grad=True) for _ in range(6)]
        workers = [torch.optim.SGD([w], lr=ETA, momentum=gamma, nesterov=True) for w in x]
        y_edge, found = [torch.tensor(PROBLEM.x0) for _ in THREE_GROUPS], []

        def redistribute(group: Any, model: Any, position: Any) -> None:
            for i in group:
                x[i].data = model.clone()
                workers[i].state[x[i]]["momentum_buffer"] = -(model - position) / (gamma * ETA)

        def average(group: Any, rows: Any) -> Any:
            total = sum(PROBLEM.sizes[i] for i in group)
            return sum(PROBLEM.sizes[i] / total * rows[i] for i in group)

        def positions() -> Any:  # y = x - gamma v, and v = -eta b
            return [w.data + gamma * ETA * o.state[w]["momentum_buffer"] for w, o in zip(x, workers, strict=True)]

        for t in range(1, ITERATIONS + 1):
            for i, (w, optimiser) in enumerate(zip(x, workers, strict=True)):
                w.grad = torch.tensor(PROBLEM.A[i]) @ w.data - torch.tensor(PROBLEM.b[i])
                optimiser.step()
            if t % tau == 0:
                y = positions()
                for ell, group in enumerate(THREE_GROUPS):
                    mean, before = average(group, [w.data for w in x]), y_edge[ell]
                    y_edge[ell] = mean
                    redistribute(group, mean + gamma_a * (mean - before), average(group, y))
            if t % (tau * pi) == 0:  # siblings are alike now, so the workers' weights are the edges'
                everyone = range(6)
                redistribute(everyone, average(everyone, [w.data for w in x]), average(everyone, positions()))
                found.append(x[0].detach().numpy().copy())
        return np.array(found)

    return trajectory


@dataclass(frozen=True, kw_only=True)
class SharedEdgeMomentum(HierMo):
    """HierMo as it is not: the cloud averages the edges' own momentum too."""

    up = down = (Worker, Edge)

    def init(self, x: Any) -> Any:
        worker, edge, _ = super().init(x)
        return worker, edge, edge


def last(
    algorithm: Any, tree: Tree, problem: Any, periods: tuple[int, ...], rounds: int, engine: str = "stacked"
) -> Any:
    """The cloud models of a long run."""
    return models(
        run(algorithm, tree, problem, periods=periods, iterations=rounds * int(np.prod(periods)), engine=engine)
    )
