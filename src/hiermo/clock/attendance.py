"""Who takes part: events of a plan with everyone -> events with those who are there.

One rule for every algorithm. A node takes part from a message of its parent that reaches it until it is found missing.
A merge goes on with those who are there, re-weighted; a parent without any keeps what it has, and still climbs. What an
absentee did in the round is lost: its record stays as the round's message left it, until the next one reaches it.
"""

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.clock.absence import Absence, Away
from hiermo.clock.draws import keys_of, uniform_at
from hiermo.clock.timeline import Timeline
from hiermo.core.plan import Event, Merge, Spread, Step, Survey
from hiermo.topology.tree import Tree

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]


class Attendance:
    """Plays events on a timeline as it lets them through."""

    def __init__(self, absence: Absence, tree: Tree, timeline: Timeline, seed: int) -> None:
        absence.check(tree)
        self.absence, self.tree, self.timeline = absence, tree, timeline
        self._asked: list[Mask] = [np.ones(n, bool) for n in tree.counts]  # reached by the round's message
        self._there: list[Mask] = [np.ones(n, bool) for n in tree.counts]  # and not missing since
        self._since = [np.zeros(n, int) for n in tree.counts]  # the iteration before which that message came
        self._lost = [np.zeros(n) for n in tree.counts]  # the second at which each of the missing had gone away, or 0
        self._keys = {
            what: [keys_of(seed, f"{what} {tier}", np.arange(n)) for tier, n in enumerate(tree.counts)]
            for what in ("asked", "drop-out")
        }
        self._away, self._timed = _away_by_tier(absence, tree), absence.depends_on_time
        self._steps: list[Step] = []  # since the last merge: who made them for nothing is known at the merge

    def let_through(self, event: Event) -> Iterator[Event]:
        """What becomes of an event, and of those before it that waited for it."""
        match event:
            case Step():
                self._steps.append(event)
                return
            case Merge():
                yield from self._merge(event)
                return
        yield from self.rest()
        if isinstance(event, Spread):
            yield from self._spread(event)
        elif isinstance(event, Survey):
            workers = np.flatnonzero(self._there[0])
            if len(workers):
                asked = event if len(workers) == self.tree.n_workers else Survey(event.t, workers)
                self.timeline.survey(asked)
                yield asked

    def rest(self) -> Iterator[Event]:
        """Steps that no merge follows."""
        steps, self._steps = self._steps, []
        for step in steps:
            there = self._there[0] & _mask(step.workers, self.tree.n_workers)
            if there.any():
                done = Step(step.t, _some(there, step.workers))
                self.timeline.play(done)
                yield done

    def waits(self, event: Spread) -> float:
        """Until when nobody is there whom a Spread to come could reach: 0 if someone is, inf if nobody ever will be."""
        _, reach, wait = self._sent(event)
        return wait if reach[0].any() else inf

    def _spread(self, event: Spread) -> Iterator[Event]:
        k, free, parents = event.tier, self.timeline.free[event.tier], self.tree.parents[event.tier - 1]
        if k < self.tree.tiers - 1:
            senders = _any_child(_mask(event.children, len(parents)), parents, len(free))
            self._take_out(k, senders, free, event.t)
        family, reach, wait = self._sent(event)
        for j in range(k):
            self._asked[j][family[j]] = self._there[j][family[j]] = reach[j][family[j]]
            self._since[j][family[j]], self._lost[j][family[j]] = event.t, 0.0
        if not reach[0].any():
            return
        waiting = parents[reach[k - 1]]
        free[waiting] = np.maximum(free[waiting], wait)
        everyone = all((some == meant).all() for some, meant in zip(reach, family, strict=True))
        sent = event if everyone else Spread(event.t, k, event.children, np.flatnonzero(reach[0]))
        self.timeline.spread(sent)
        self._there[0] &= ~(reach[0] & self._by_chance("drop-out", 0, event.t, self.absence.drop_out))
        yield sent

    def _sent(self, event: Spread) -> tuple[list[Mask], list[Mask], float]:
        """Who is meant, who is reached, and until when their parents wait for that."""
        moment = self.timeline.free[event.tier]
        family, reach = self._reach(event, moment)
        if not reach[0].any():  # whoever is back first is sent to
            for back in self._returns(family, float(moment.min())):
                _, later = self._reach(event, np.maximum(moment, back))
                if later[0].any():
                    return family, later, back
        return family, reach, 0.0

    def _reach(self, event: Spread, moment: Numbers) -> tuple[list[Mask], list[Mask]]:
        """Per tier below the sender: who is meant, and who of them is reached."""
        top = event.tier - 1
        family: list[Mask] = [np.empty(0, bool)] * event.tier
        reach = list(family)
        for j in range(top, -1, -1):
            parents = self.tree.parents[j]
            family[j] = _mask(event.children, len(parents)) if j == top else family[j + 1][parents]
            senders = self._there[j + 1] if j == top else reach[j + 1]
            moment = moment[parents]
            missing = self._gone(j, moment, event.t)
            if j:
                missing |= self._by_chance("drop-out", j, event.t, self.absence.edge_drop_out)
            reach[j] = family[j] & senders[parents] & ~missing
        if self.absence.participation < 1:
            reach[0] = self._chosen(reach[0], event.t)
        for j in range(1, event.tier):  # who has nobody below to send to is not sent to
            reach[j] &= _any_child(reach[j - 1], self.tree.parents[j - 1], self.tree.counts[j])
        return family, reach

    def _merge(self, event: Merge) -> Iterator[Event]:
        k, below = event.tier, event.tier - 1
        parents, n = self.tree.parents[below], self.tree.counts[k]
        meant = _mask(event.children, len(parents))
        steps = self._steps_of(meant) if below == 0 else []
        there = meant & self._there[below] & self._there[k][parents]
        arrivals = self._arrivals(event, steps, there)
        self._take_out(below, there, arrivals, event.t)
        there &= self._there[below]
        there, until = self._in_time(k, meant & self._asked[below], there, arrivals)
        if k < self.tree.tiers - 1:
            merging = np.maximum(until, self.timeline.free[k])
            np.maximum.at(merging, parents[there], arrivals[there])
            self._take_out(k, _any_child(meant, parents, n), merging, event.t)
            there &= self._there[k][parents]
            until = np.where(self._there[k], until, self._lost[k])
        self._there[below] &= there | ~meant
        idle = _any_child(meant, parents, n) & ~_any_child(there, parents, n)
        self.timeline.free[k][idle] = np.maximum(self.timeline.free[k], until)[idle]
        makers = np.flatnonzero(there)
        for step in steps:
            if (some := there & _mask(step.workers, len(parents))).any():
                done = Step(step.t, _some(some, step.workers, makers))
                self.timeline.play(done)
                yield done
        if len(makers):
            merged = event if len(makers) == meant.sum() else Merge(event.t, k, makers)
            self.timeline.merge(merged, self.timeline.arrivals(merged), until)
            if k == self.tree.tiers - 1:
                self.timeline.now = float(self.timeline.free[k][0])  # nobody waited for what late edges did meanwhile
            yield merged

    def _steps_of(self, meant: Mask) -> list[Step]:
        """The steps of those who merge; those of others wait for a merge of their own."""
        if meant.all():
            found, self._steps = self._steps, []
            return found
        found, self._steps, waiting = [], [], self._steps
        for step in waiting:
            own = _mask(step.workers, len(meant))
            if (own & meant).any():
                found.append(Step(step.t, _some(own & meant, step.workers)))
            if (own & ~meant).any():
                self._steps.append(Step(step.t, _some(own & ~meant, step.workers)))
        return found

    def _arrivals(self, event: Merge, steps: list[Step], trying: Mask) -> Numbers:
        """When each would be there, after its steps; inf for those who are not even trying."""
        arrivals = np.full(len(trying), np.inf)
        if not self._timed or not trying.any():
            return arrivals
        before = self.timeline.free[0].copy() if steps else self.timeline.free[0]
        for step in steps:
            if (some := trying & _mask(step.workers, len(trying))).any():
                self.timeline.step(step.t, _some(some, step.workers))
        arrivals[trying] = self.timeline.arrivals(Merge(event.t, event.tier, _some(trying, None)))
        self.timeline.free[0] = before  # whose steps count is not known yet
        return arrivals

    def _in_time(self, k: int, asked: Mask, there: Mask, arrivals: Numbers) -> tuple[Mask, Numbers]:
        """Who arrives before the deadline, or first of all; and until when their parents wait for the others."""
        patience = self.absence.deadline_s if k == 1 else self.absence.cloud_deadline_s
        parents, n = self.tree.parents[k - 1], self.tree.counts[k]
        until = np.zeros(n)
        if patience is not None:
            limit, earliest = self.timeline.sent[k] + patience, np.full(n, np.inf)
            np.minimum.at(earliest, parents[there], arrivals[there])
            earliest[np.isinf(earliest)] = 0.0
            there = there & (arrivals <= np.maximum(limit, earliest)[parents])  # if nobody is in time, the first counts
            late = _any_child(asked & ~there, parents, n)
            until[late] = limit[late]
        # a parent that nobody comes to goes on when it has lost the last of them, or time would stand still
        alone = asked & ~_any_child(there, parents, n)[parents]
        np.maximum.at(until, parents[alone], self._lost[k - 1][alone])
        return there, until

    def _take_out(self, tier: int, some: Mask, end: Numbers, t: int) -> None:
        """Finds those missing who were away at some moment since their parent's message."""
        begin = self.timeline.sent[tier + 1][self.tree.parents[tier]]
        for away, nodes in self._away[tier]:
            own = nodes[some[nodes] & self._there[tier][nodes]]
            gone = own[_overlap(away, begin[own], end[own], self._since[tier][own], t)]
            self._there[tier][gone] = False
            if away.seconds is not None:
                self._lost[tier][gone] = np.maximum(begin[gone], away.seconds[0])

    def _gone(self, tier: int, moment: Numbers, t: int) -> Mask:
        """Who is away now."""
        gone = np.zeros(self.tree.counts[tier], bool)
        for away, nodes in self._away[tier]:
            gone[nodes] |= _overlap(away, moment[nodes], moment[nodes], t, t)
        return gone

    def _returns(self, family: list[Mask], moment: float) -> list[float]:
        """When those who are away for some time come back, one after the other."""
        ends = {
            away.seconds[1]
            for tier, mask in enumerate(family)
            for away, nodes in self._away[tier]
            if away.seconds is not None and mask[nodes].any() and moment < away.seconds[1] < inf
        }
        return sorted(ends)

    def _by_chance(self, what: str, tier: int, t: int, chance: float) -> Mask:
        if not chance:
            return np.zeros(self.tree.counts[tier], bool)
        return uniform_at(self._keys[what][tier], t) < chance

    def _chosen(self, mask: Mask, t: int) -> Mask:
        """Of the workers of each parent, those whose draw is smallest."""
        nodes = np.flatnonzero(mask)
        parents = self.tree.parents[0][nodes]
        order = np.lexsort((uniform_at(self._keys["asked"][0][nodes], t), parents))
        counts = np.bincount(parents, minlength=self.tree.counts[1])
        rank = np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts)
        wanted = np.maximum(1, np.floor(counts * self.absence.participation + 0.5))
        chosen = np.zeros_like(mask)
        chosen[nodes[order[rank < np.repeat(wanted, counts)]]] = True
        return chosen


def _away_by_tier(absence: Absence, tree: Tree) -> list[list[tuple[Away, NDArray[np.intp]]]]:
    """Spells with their nodes in every tier: with a node, all below it are away."""
    found: list[list[tuple[Away, NDArray[np.intp]]]] = [[] for _ in tree.counts]
    for away in sorted(absence.spells, key=lambda each: each.seconds or each.iterations or ()):
        mask = np.zeros(1, bool)  # the cloud is always there
        for tier in range(tree.tiers - 2, -1, -1):
            mask = mask[tree.parents[tier]] | _mask(away.nodes.within(tier, tree), tree.counts[tier])
            if mask.any():
                found[tier].append((away, np.flatnonzero(mask)))
    return found


def _overlap(away: Away, begin: Numbers, end: Numbers, since: Any, t: int) -> Mask:
    if away.seconds is not None:
        found: Mask = (away.seconds[0] <= end) & (begin < away.seconds[1])
        return found
    assert away.iterations is not None
    during: Mask = (away.iterations[0] <= t) & (np.asarray(since) < away.iterations[1])
    return during


def _mask(nodes: Any, n: int) -> Mask:
    if nodes is None:
        return np.ones(n, bool)
    mask = np.zeros(n, bool)
    mask[np.asarray(nodes)] = True
    return mask


def _some(there: Mask, meant: Any, same: Any = None) -> Any:
    """The nodes of a mask; None where that is everyone, and `meant` itself where it is those."""
    if there.all():
        return None
    nodes = np.flatnonzero(there)
    if meant is not None and len(meant) == len(nodes):
        return meant
    return same if same is not None and len(same) == len(nodes) else nodes  # steps in a row share one object


def _any_child(mask: Mask, parents: Any, n: int) -> Mask:
    found = np.zeros(n, bool)
    found[parents[mask]] = True
    return found
