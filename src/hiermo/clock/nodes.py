"""Which nodes of a tree a name means: `worker`, `worker 3`, `edges 0-4`, `cloud`, `tier 2`, `node 1 of tier 2`."""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.topology.tree import Tree

NAME = re.compile(
    r"(worker|edge)s?(?:[ _/-]*(\d{1,9})(?:\s*(?:-|to)\s*(\d{1,9}))?)?"
    r"|(cloud)(?:[ _/-]*0)?|tier (\d{1,9})|node (\d{1,9}) of tier (\d{1,9})"
)
WAYS = "write 'worker', 'worker 3', 'workers 0-9', 'edge', 'edge 1', 'cloud', 'tier 2' or 'node 1 of tier 2'"


class Nodes(NamedTuple):
    """Some nodes of one tier, whatever the tree."""

    tier: str | int  # worker, edge (every tier between), cloud, or the number of a tier
    first: int | None = None  # None: all
    last: int | None = None
    every: int = 1  # of those, every so many-th,
    offset: int = 0  # beginning with this one

    def __str__(self) -> str:
        name = f"tier {self.tier}" if isinstance(self.tier, int) else self.tier
        if self.first is None:
            return name
        if isinstance(self.tier, int):
            return f"node {self.first} of {name}"
        return f"{name} {self.first}" if self.first == self.last else f"{name}s {self.first}-{self.last}"

    def within(self, tier: int, tree: Tree) -> NDArray[np.intp]:
        """Their indices, where they are of this tier of a tree."""
        root = tree.tiers - 1
        names = {0: ("worker", 0), root: ("cloud", root)}.get(tier, ("edge", tier))
        single_edge = self.tier == "edge" and self.first is not None and tier != 1  # `edge 3` is one of tier 1
        if self.tier not in names or single_edge:
            return np.empty(0, np.intp)
        n = tree.counts[tier]
        last = n - 1 if self.last is None else min(self.last, n - 1)
        return np.arange(self.first or 0, last + 1)[self.offset :: self.every]

    def check(self, tree: Tree, at: str) -> None:
        """Refuses a number that the tree does not have."""
        tier = {"worker": 0, "edge": 1}.get(str(self.tier), self.tier)
        if not isinstance(tier, int):
            return  # there always is a cloud
        first, last = self.first or 0, self.last or 0
        n = tree.counts[tier] if tier < tree.tiers else 0
        lost = tier > 0 and tree.tiers == 2  # a flattened tree has lost its edges, and their numbers
        if last < first or (last >= n and not lost):
            raise UserError(f"{at}: there is no {self}: the tree has {tree}")


def named_nodes(name: str) -> Nodes | None:
    """What a name means, or None where it is none of these: then it may be a class of devices.

    >>> named_nodes("workers 0-3")
    Nodes(tier='worker', first=0, last=3, every=1, offset=0)
    """
    found = NAME.fullmatch(name.strip().lower())
    if found is None:
        return None
    kind, first, last, cloud, tier, node, of = found.groups()
    if cloud:
        return Nodes("cloud")
    if tier is not None:
        return Nodes(int(tier))
    if node is not None:
        return Nodes(int(of), int(node), int(node))
    return Nodes(kind, None if first is None else int(first), None if first is None else int(last or first))
