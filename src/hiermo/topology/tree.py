"""A tree of nodes: workers are tier 0, the cloud is the single node of the highest tier."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError

Index = NDArray[np.intp]


class Tree:
    """Who is whose parent, for any number of tiers.

    >>> tree = Tree.regular(edges=2, workers_per_edge=2)
    >>> tree
    Tree(4 workers, 2 edges, cloud)
    >>> tree.parents[0].tolist()
    [0, 0, 1, 1]
    >>> tree.flatten()
    Tree(4 workers, cloud)
    """

    def __init__(self, *parents: Iterable[int]) -> None:
        """`parents[k][i]` is the parent, in tier k+1, of node i of tier k; the last is all zeros, the cloud."""
        self.parents: tuple[Index, ...] = tuple(_read_only(tier) for tier in parents)
        self.counts: tuple[int, ...] = (*(len(tier) for tier in self.parents), 1)
        if not self.parents:
            raise UserError("a tree needs at least one worker under the cloud")
        for k, (tier, n_parents) in enumerate(zip(self.parents, self.counts[1:], strict=True)):
            if not np.array_equal(np.unique(tier), np.arange(n_parents)):
                above = "the cloud, node 0" if k == len(self.parents) - 1 else f"the nodes 0 to {n_parents - 1}"
                raise UserError(f"tree: tier {k} must name as parents exactly {above}, not {np.unique(tier).tolist()}")

    @classmethod
    def regular(cls, *, edges: int, workers_per_edge: int | Sequence[int]) -> "Tree":
        """Three tiers; `workers_per_edge` is one number, or one per edge."""
        each = [workers_per_edge] * edges if isinstance(workers_per_edge, (int, np.integer)) else list(workers_per_edge)
        if edges < 1 or len(each) != edges or min(each, default=0) < 1:
            raise UserError(f"a tree needs at least one edge and one worker per edge, not {edges} edges with {each}")
        return cls(np.repeat(np.arange(edges), each), np.zeros(edges, int))

    @classmethod
    def branching(cls, *children: int) -> "Tree":
        """Any depth: children per node, from the cloud downwards.

        >>> Tree.branching(2, 3, 4)
        Tree(24 workers, 6 edges, 2 nodes, cloud)
        """
        if not children or min(children) < 1:
            raise UserError(f"every node above the workers needs at least one child, not {list(children)}")
        counts = np.cumprod(children).tolist()
        return cls(
            *(np.repeat(np.arange(n // c), c) for n, c in zip(reversed(counts), reversed(children), strict=True))
        )

    @classmethod
    def from_groups(cls, groups: Sequence[Sequence[int]]) -> "Tree":
        """Three tiers; group l holds the workers of edge l.

        >>> Tree.from_groups([[0, 1], [2, 3, 4]])
        Tree(5 workers, 2 edges, cloud)
        """
        workers = [worker for group in groups for worker in group]
        if sorted(workers) != list(range(len(workers))) or not all(groups):
            raise UserError("tree: groups must be non-empty and hold each worker 0, 1, 2, ... exactly once")
        parents = np.empty(len(workers), int)
        for edge, group in enumerate(groups):
            parents[list(group)] = edge
        return cls(parents, np.zeros(len(groups), int))

    @classmethod
    def from_parents(cls, *parents: Iterable[int]) -> "Tree":
        """Any depth, tier by tier from the workers; the last tuple is all zeros.

        >>> Tree.from_parents((0, 0, 1, 1, 2), (0, 0, 1), (0, 0))
        Tree(5 workers, 3 edges, 2 nodes, cloud)
        """
        return cls(*parents)

    @property
    def tiers(self) -> int:
        """Number of tiers, the workers' and the cloud's included."""
        return len(self.counts)

    @property
    def n_workers(self) -> int:
        return self.counts[0]

    def flatten(self) -> "Tree":
        """The same workers directly under the cloud."""
        return Tree(np.zeros(self.n_workers, int))

    def children(self, tier: int, nodes: int | Sequence[int] | Index) -> Index:
        """Indices, in the tier below, of the children of `nodes` of `tier`."""
        return np.flatnonzero(np.isin(self.parents[tier - 1], nodes))

    def ancestors(self, tier: int, workers: Any) -> Index:
        """Indices, in `tier`, of the nodes above some workers; in tier 0 the workers themselves.

        >>> Tree.regular(edges=3, workers_per_edge=2).ancestors(1, [0, 4, 5]).tolist()
        [0, 2]
        """
        nodes = np.asarray(workers)
        for parents in self.parents[:tier]:
            nodes = np.unique(parents[nodes])
        return nodes

    @property
    def groups(self) -> list[list[int]]:
        """The workers of each edge, or on two tiers of the cloud: what `from_groups` takes."""
        return [self.children(1, edge).tolist() for edge in range(self.counts[1])]

    def sizes(self, sizes: Sequence[int]) -> tuple[NDArray[Any], ...]:
        """Data under every node, tier by tier, from that of the workers."""
        tiers = [np.asarray(sizes)]
        if tiers[0].shape != (self.n_workers,):
            raise UserError(f"{tiers[0].size} sizes of data for {self.n_workers} workers")
        for parents, n in zip(self.parents, self.counts[1:], strict=True):
            total = np.zeros(n, tiers[-1].dtype)
            np.add.at(total, parents, tiers[-1])
            tiers.append(total)
        return tuple(tiers)

    def weights(self, sizes: Sequence[int]) -> tuple[NDArray[np.float64], ...]:
        """Each node's share of its parent's data, D_i / D_l, for every tier below the cloud.

        >>> [share.tolist() for share in Tree.from_groups([[0], [1, 2]]).weights([2, 1, 3])]
        [[1.0, 0.25, 0.75], [0.3333333333333333, 0.6666666666666666]]
        """
        tiers = self.sizes(sizes)
        return tuple(
            below / above[parents] for below, above, parents in zip(tiers, tiers[1:], self.parents, strict=False)
        )

    @cached_property
    def _key(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(tier.tolist()) for tier in self.parents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Tree({self})"

    def __str__(self) -> str:
        below = [
            f"{n} {noun}" for n, noun in zip(self.counts, ["workers", "edges", *["nodes"] * self.tiers], strict=False)
        ]
        return ", ".join([*below[: self.tiers - 1], "cloud"])


def _read_only(tier: Iterable[int]) -> Index:
    array = np.array(list(tier) if not isinstance(tier, np.ndarray) else tier)
    if array.ndim != 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise UserError("tree: parents must be non-empty lists of whole numbers, one list per tier")
    array = array.astype(np.intp)
    array.flags.writeable = False
    return array
