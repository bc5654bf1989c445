"""The small problems and trees that algorithms are checked on."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hiermo.checking.watched import Watched
from hiermo.core.algorithm import Algorithm
from hiermo.core.plan import Nodes, Setting
from hiermo.engine.run import ENGINES, run
from hiermo.engine.state import State
from hiermo.problems.quadratic import Quadratic
from hiermo.topology.tree import Tree

COPIES = 4  # by so many a size can be divided


class Losses(Quadratic):
    """Quadratics of any precision, with curvatures from 0.5 to 1, whose gradients change with t as those of batches do.

    What differs between iterations is a function of (t, a worker's own data): it moves with the data to another tree.
    """

    def __init__(self, rows: Sequence[int], sizes: Sequence[int], dtype: Any) -> None:
        n, d, rng = max(rows) + 1, 10, np.random.default_rng(2210)  # d: no tier has as many nodes
        turn = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
        curved = turn * rng.uniform(0.5, 1.0, size=(n, 1, d)) @ turn.transpose(0, 2, 1)
        super().__init__(curved[list(rows)], rng.normal(size=(n, d))[list(rows)], sizes, x0=rng.normal(size=d))
        self.A, self.b, self.x0 = (array.astype(dtype) for array in (self.A, self.b, self.x0))

    def grad(self, seed: int, t: int, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        return self.full_grad(workers, x) + 0.1 * np.sin(t * self.b[list(workers)])


class Case(NamedTuple):
    """A run that takes some milliseconds; worker i has the loss number rows[i] and sizes[i] data."""

    tree: Tree
    periods: tuple[int, ...]
    iterations: int
    rows: tuple[int, ...]
    sizes: tuple[int, ...]

    def problem(self, dtype: Any = np.float64) -> Losses:
        """A new one for every run: an algorithm that changes its inputs cannot spoil the next check."""
        return Losses(self.rows, self.sizes, dtype)

    def setting(self, **changes: Any) -> Setting:
        return Setting(self.tree, self.periods, self.iterations)._replace(**changes)

    def states(self, algorithm: Algorithm, engine: str = "stacked", **options: Any) -> list[State]:
        """The state after every iteration."""
        return list(self.run(algorithm, engine, **options))

    def run(
        self, algorithm: Algorithm, engine: str = "stacked", start: State | None = None, dtype: Any = np.float64
    ) -> Iterator[State]:
        watched = algorithm if isinstance(algorithm, Watched) else Watched(algorithm)
        options: Any = {"periods": self.periods, "iterations": self.iterations, "every": "iteration"}
        return run(watched, self.tree, self.problem(dtype), **options, engine=engine, start=start)

    def __str__(self) -> str:
        return f"{self.tree.tiers} tiers"


# unequal edges, siblings that are not side by side, a node with one child
PARENTS = {2: ((0, 0, 0, 0),), 3: ((0, 2, 1, 0, 2, 2), (0, 0, 0)), 4: ((0, 2, 1, 0, 2), (0, 1, 0), (0, 0))}
PERIODS = {2: (3,), 3: (3, 2), 4: (2, 1, 2)}
ROUNDS = {2: 3, 3: 2, 4: 2}  # of the cloud
SIZES = (8, 1, 3, 2, 5, 4)


def cases(algorithm: Algorithm) -> list[Case]:
    """Trees of 2, 3 and 4 tiers, or one of the depth that the algorithm needs."""
    return [case(tiers) for tiers in (PARENTS if algorithm.tiers is None else [algorithm.tiers])]


def case(tiers: int) -> Case:
    """Beyond 4 tiers, more tiers of one node."""
    known = min(tiers, max(PARENTS))
    tree = Tree(*PARENTS[known], *[(0,)] * (tiers - known))
    periods = PERIODS[known] + (1,) * (tiers - known)
    n = tree.n_workers
    return Case(tree, periods, ROUNDS[known] * prod(periods), tuple(range(n)), SIZES[:n])


def both_engines(algorithm: Algorithm) -> list[tuple[Case, str]]:
    return [(each, engine) for each in cases(algorithm) for engine in ENGINES]
