"""When every event of a plan happens: plan x delays -> seconds, for all nodes of a tier at once.

`free[k]` says when each node of tier k is done with what it did last. A merge waits for its slowest child: links are
parallel, as the paper assumes, or share their parent's line, and then messages go one after the other.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.clock.network import Network, WayDraws
from hiermo.core.plan import Event, Merge, Spread, Step, Survey, reached
from hiermo.topology.tree import Tree

Numbers = NDArray[np.float64]


class Costs(NamedTuple):
    """What an algorithm's events take on a given model: bytes of messages, and gradients."""

    up: tuple[float, ...]  # bytes of a message on each link, lowest first
    down: tuple[float, ...]
    asked: tuple[float, ...]  # bytes of an answer to a survey, up each link
    told: tuple[float, ...]  # bytes of the mean answer, down each link
    gradients: int = 1  # of a batch, in one iteration
    full: Any = 0.0  # a gradient over all data of each worker, in gradients of a batch
    full_on_sending: bool = False  # whether a worker needs one before it climbs


class Timeline:
    """Plays events one after the other."""

    def __init__(self, network: Network, tree: Tree, costs: Costs, begin: float = 0.0) -> None:
        self.network, self.tree, self.costs = network, tree, costs
        self.free: list[Numbers] = [np.full(n, begin) for n in tree.counts]
        self.sent: list[Numbers] = [np.full(n, begin) for n in tree.counts]  # when each last sent to its children
        # the latest moment of all that others waited for: neither a message on its way down, which is still to be
        # followed by something, nor the iterations of somebody who is too late for a merge
        self.now = begin

    def play(self, event: Event) -> float:
        """The moment at which all iterations and merges so far are done."""
        match event:
            case Step(t, workers):
                self._passed(self.step(t, workers))
            case Merge():
                self.merge(event, self.arrivals(event))
            case Spread():
                self.spread(event)
            case Survey():
                self.survey(event)
        return self.now

    def step(self, t: int, workers: Any) -> Numbers:
        """Until when they compute; whether anyone waits for that is for a merge to say."""
        workers = _index(workers)
        seconds = self.network.compute[0].in_turn(t, workers)
        if self.costs.gradients != 1:
            seconds = seconds * self.costs.gradients
        return self._until(0, workers, self._free(0, workers) + seconds)

    def arrivals(self, event: Merge) -> Numbers:
        """When the messages of the children would be there, if nobody waits."""
        k, children = event.tier - 1, _index(event.children)
        ready = self._free(k, children)
        if k == 0 and self.costs.full_on_sending:
            ready = ready + self._full(event.t, children)
        return self._climbed(k, children, event.t, ready, self.costs.up[k])

    def merge(self, event: Merge, arrivals: Numbers, waited: Numbers | None = None) -> None:
        """The parents go on when the last of the messages is there, and not before they have `waited`."""
        k = event.tier
        children = _index(event.children)
        if children is None:
            parents, group = None, self.tree.parents[k - 1]
        else:
            parents, group = np.unique(self.tree.parents[k - 1][children], return_inverse=True)
        there = self._free(k, parents).copy()  # a parent may still be busy
        if waited is not None:
            np.maximum(there, waited if parents is None else waited[parents], out=there)
        np.maximum.at(there, group, arrivals)
        self._passed(self._until(k, parents, there + self.network.compute[k].at(event.t, parents)))

    def spread(self, event: Spread) -> None:
        nodes = [_index(some) for some in reached(self.tree, event)]
        for j in range(event.tier - 1, -1, -1):
            some = nodes[j]
            parents = self.tree.parents[j] if some is None else self.tree.parents[j][some]
            begin = self.free[j + 1][parents]
            self.sent[j + 1][parents] = begin
            arrived = self._descended(j, some, event.t - 1, begin, self.costs.down[j])
            if some is None:
                self.free[j] = arrived
            else:
                self.free[j][some] = arrived

    def survey(self, event: Survey) -> None:
        """Everyone computes a full gradient, the answers climb to the cloud, and their mean comes down."""
        everyone = Spread(event.t, self.tree.tiers - 1, workers=event.workers)
        nodes = [_index(some) for some in reached(self.tree, everyone)]
        self._until(0, nodes[0], self._free(0, nodes[0]) + self._full(event.t, nodes[0]))
        for k, some in enumerate(nodes):
            arrived = self._climbed(k, some, event.t, self._free(k, some), self.costs.asked[k])
            parents = self.tree.parents[k] if some is None else self.tree.parents[k][some]
            np.maximum.at(self.free[k + 1], parents, arrived)
        for j in range(self.tree.tiers - 2, -1, -1):
            if not self.costs.told[j]:
                continue  # nobody below needs the answer: no message comes down, and nobody waits for one
            parents = self.tree.parents[j] if nodes[j] is None else self.tree.parents[j][nodes[j]]
            arrived = self._descended(j, nodes[j], event.t, self.free[j + 1][parents], self.costs.told[j])
            self._passed(self._until(j, nodes[j], arrived))

    def _free(self, tier: int, nodes: Any) -> Numbers:
        return self.free[tier] if nodes is None else self.free[tier][nodes]

    def _until(self, tier: int, nodes: Any, seconds: Numbers) -> Numbers:
        if nodes is None:
            self.free[tier] = seconds
        else:
            self.free[tier][nodes] = seconds
        return seconds

    def _passed(self, seconds: Numbers) -> None:
        self.now = max(self.now, float(seconds.max(initial=0)))

    def _full(self, t: int, workers: Any) -> Numbers:
        batches = np.broadcast_to(self.costs.full, self.tree.n_workers)
        seconds: Numbers = self.network.compute[0].at(t, workers) * (batches if workers is None else batches[workers])
        return seconds

    def _climbed(self, k: int, nodes: Any, t: int, ready: Numbers, size: float) -> Numbers:
        for way in self.network.up[k]:
            ready = ready + way.seconds(t, nodes, size)
            if way.shared is not None:
                ready = self._in_line(way, k, nodes, ready, size)
        return ready

    def _descended(self, k: int, nodes: Any, t: int, ready: Numbers, size: float) -> Numbers:
        for way in reversed(self.network.down[k]):
            if way.shared is not None:
                ready = self._in_line(way, k, nodes, ready, size)
            ready = ready + way.seconds(t, nodes, size)
        return ready

    def _in_line(self, way: WayDraws, k: int, nodes: Any, ready: Numbers, size: float) -> Numbers:
        """Siblings on one line: who is ready first goes first, and who comes then waits for its end."""
        assert way.shared is not None
        each = size * (way.shared if nodes is None else way.shared[nodes])
        parents = self.tree.parents[k] if nodes is None else self.tree.parents[k][nodes]
        done = ready.copy()
        order = np.lexsort((ready, parents))  # stable: of those that are ready together, the lower index first
        order = order[each[order] > 0]
        for family in np.split(order, np.flatnonzero(np.diff(parents[order])) + 1):
            lengths = np.cumsum(each[family])  # one after the other, each not before it is ready
            done[family] = lengths + np.maximum.accumulate(ready[family] - (lengths - each[family]))
        return done


def _index(nodes: Any) -> Any:
    return None if nodes is None else np.asarray(nodes)
