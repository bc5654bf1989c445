"""Delays on a given tree: what every node takes to compute, and every link to carry a message."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.clock.delays import Delays, Rule
from hiermo.clock.draws import Draws
from hiermo.clock.nodes import Nodes
from hiermo.clock.sources import Constant
from hiermo.clock.values import Speed, Way
from hiermo.topology.tree import Tree

Numbers = NDArray[np.float64]
Index = NDArray[np.intp]


class WayDraws:
    """One direction of the links above all nodes of a tier."""

    def __init__(self, ways: Sequence[Way], group: Index, seed: int, what: str) -> None:
        self.latency = Draws([way.latency for way in ways], group, seed, f"{what} latency")
        self.per_byte = Draws([way.per_byte for way in ways], group, seed, f"{what} bytes")
        shared = np.array([way.per_byte.mean if way.shared else 0.0 for way in ways])[group]
        self.shared = shared if shared.any() else None  # seconds per byte of a line that siblings share

    def seconds(self, t: int, nodes: Any, size: float) -> Numbers:
        """What a message of so many bytes takes on its own; on a line that is shared, the latency alone."""
        latency = self.latency.at(t, nodes)
        if not size or (self.per_byte.constant and not self.per_byte.means.any()):
            return latency
        own = self.per_byte.at(t, nodes)
        if self.shared is not None:
            own = np.where(self.shared if nodes is None else self.shared[nodes], 0.0, own)
        return latency + size * own


class Network:
    """`compute[k]` of tier k, `up[k]` and `down[k]` of the links above it: each a sum of stretches of the way."""

    def __init__(self, delays: Delays, tree: Tree, seed: int, work: Callable[[int], float]) -> None:
        """`work(tier)` is what an iteration or a merge there takes, in floating-point operations."""
        delays.check(tree)
        self._delays, self._tree, self._seed = delays, tree, seed
        self.compute = [self._computing(tier, work(tier)) for tier in range(tree.tiers)]
        self.up = [self._ways(tier, "up") for tier in range(tree.tiers - 1)]
        self.down = [self._ways(tier, "down") for tier in range(tree.tiers - 1)]

    def _computing(self, tier: int, work: float) -> Draws:
        sources, group = self._assigned(tier, "compute", self._delays.rules)
        made = [source.source(work) if isinstance(source, Speed) else source for source in sources]
        return Draws([Constant(0.0), *made], group, self._seed, f"compute {tier}")

    def _ways(self, tier: int, direction: str) -> list[WayDraws]:
        # both directions draw the same bits at the same t: what a link is like at a moment holds both ways, and a
        # round trip that was measured as one keeps its distribution
        rules = self._delays.rules
        if self._tree.tiers > 2:
            ways, group = self._assigned(tier, direction, [self._link(rule, tier) for rule in rules])
            return [WayDraws([Way(), *ways], group, self._seed, f"link {tier}")]
        ways, group = self._assigned(0, f"cloud-{direction}", rules)
        found = [WayDraws([Way(), *ways], group, self._seed, "link to cloud")]
        if (group == 0).any():  # by way of where an edge would be
            lower, below = self._assigned(0, direction, rules)
            below[group != 0] = 0
            found.append(WayDraws([Way(), *lower], below, self._seed, "link 0"))
            above = np.where(group == 0, 1, 0)
            found.append(WayDraws([Way(), self._delays.of("edge", direction)], above, self._seed, "link 1"))
        return found

    def _link(self, rule: Rule, tier: int) -> Rule:
        """phi_w2e is every link's but the topmost, phi_e2c the topmost one's."""
        top = self._tree.tiers - 2
        if rule.role == "compute" or rule.nodes.first is not None:
            return rule
        if rule.nodes.tier == "edge":
            return rule._replace(nodes=rule.nodes._replace(tier=top))
        if rule.nodes == Nodes("worker") and 0 < tier < top:
            return rule._replace(nodes=Nodes(tier))
        return rule

    def _assigned(self, tier: int, role: str, rules: Sequence[Rule]) -> tuple[list[Any], Index]:
        """What the rules say of a role, and which of it is each node's: 0 for none."""
        found: list[Any] = []
        group = np.zeros(self._tree.counts[tier], np.intp)
        for rule in rules:
            if rule.role == role and len(nodes := rule.nodes.within(tier, self._tree)):
                found.append(rule.value)
                group[nodes] = len(found)
        return found, group
