"""Who takes part: events of a plan with everyone -> events with those who are there.

One rule for every algorithm. A node takes part from a message of its parent that reaches it until it is found missing.
A merge goes on with those who are there, re-weighted; a parent without any keeps what it has, and still climbs. What an
absentee did in the round is lost: its record stays as the round's message left it, until the next one reaches it.
"""

from collections.abc import Iterator
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
        self._keys = {
            what: [keys_of(seed, f"{what} {tier}", np.arange(n)) for tier, n in enumerate(tree.counts)]
            for what in ("asked", "drop-out")
        }
        self._away = [
            [(each, nodes) for each in absence.spells if len(nodes := each.nodes.within(tier, tree))]
            for tier in range(tree.tiers)
        ]
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

    def _spread(self, event: Spread) -> Iterator[Event]:
        moment, wait = self.timeline.free[event.tier], 0.0
        family, reach = self._reach(event, moment)
        if not reach[0].any() and (back := self._back(family, float(moment.max()))) is not None:
            wait = back  # nobody is there: whoever is back first is sent to
            family, reach = self._reach(event, np.full_like(moment, back))
        for j in range(event.tier - 1, -1, -1):
            self._asked[j][family[j]] = reach[j][family[j]]
            self._there[j][family[j]] = reach[j][family[j]]
            self._since[j][family[j]] = event.t
        if not reach[0].any():
            return
        everyone = all(mask.all() for mask in reach)
        sent = event if everyone else Spread(event.t, event.tier, event.children, np.flatnonzero(reach[0]))
        self.timeline.spread(sent, wait)
        self._there[0] &= ~(reach[0] & self._by_chance("drop-out", 0, event.t, self.absence.drop_out))
        yield sent

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
            missing = self._gone(j, moment, moment, event.t, np.full(len(parents), event.t))
            if j:
                missing |= self._by_chance("drop-out", j, event.t, self.absence.edge_drop_out)
            reach[j] = family[j] & senders[parents] & ~missing
        if self.absence.participation < 1:
            reach[0] = self._chosen(reach[0], event.t)
        for j in range(1, event.tier):  # who has nobody below to send to is not sent to
            reach[j] &= _any_child(reach[j - 1], self.tree.parents[j - 1], self.tree.counts[j])
        return family, reach

    def _merge(self, event: Merge) -> Iterator[Event]:
        k = event.tier
        below = k - 1
        parents = self.tree.parents[below]
        meant = _mask(event.children, len(parents))
        steps: list[Step] = []
        if below == 0:
            steps = [step for step in self._steps if step.workers is None or meant[np.asarray(step.workers)].any()]
            self._steps = [step for step in self._steps if not any(step is each for each in steps)]
        there = meant & self._there[below]
        trying = np.flatnonzero(there)
        for step in steps:
            self.timeline.step(step.t, _some(there & _mask(step.workers, len(parents)), step.workers))
        arrivals = np.full(len(parents), np.inf)
        if len(trying):
            arrivals[trying] = self.timeline.arrivals(Merge(event.t, k, None if there.all() else trying))
        begun = self.timeline.sent[k][parents]
        there &= ~self._gone(below, begun, arrivals, event.t, self._since[below])
        there, waited = self._in_time(k, meant & self._asked[below], there, arrivals)
        self._there[below] &= there | ~meant
        makers = np.flatnonzero(there)
        for step in steps:
            if (some := there & _mask(step.workers, len(parents))).any():
                yield Step(step.t, _some(some, step.workers, makers))
        if len(makers):
            merged = Merge(event.t, k, None if there.all() else makers)
            self.timeline.merge(merged, arrivals[makers], waited)
            yield merged

    def _in_time(self, k: int, asked: Mask, there: Mask, arrivals: Numbers) -> tuple[Mask, Numbers | None]:
        """Who arrives before the deadline, or first of all; and until when their parents wait for the others."""
        patience = self.absence.deadline_s if k == 1 else self.absence.cloud_deadline_s
        if patience is None:
            return there, None
        parents, n = self.tree.parents[k - 1], self.tree.counts[k]
        limit = self.timeline.sent[k] + patience
        earliest = np.full(n, np.inf)
        np.minimum.at(earliest, parents[there], arrivals[there])
        limit_or_first = np.maximum(limit, earliest)  # where nobody is in time, the first is waited for
        in_time = there & (arrivals <= limit_or_first[parents])
        missing = np.zeros(n, bool)
        np.logical_or.at(missing, parents, asked & ~in_time)
        return in_time, np.where(missing & np.isfinite(earliest), limit, 0.0)

    def _gone(self, tier: int, begin: Numbers, end: Numbers, t: int, since: Any) -> Mask:
        """Who is away at some moment between two."""
        gone = np.zeros(self.tree.counts[tier], bool)
        for away, nodes in self._away[tier]:
            gone[nodes] |= _overlap(away, begin[nodes], end[nodes], since[nodes], t)
        return gone

    def _back(self, family: list[Mask], moment: float) -> float | None:
        """When the first of those who are away for some time comes back."""
        ends = [
            away.seconds[1]
            for tier, mask in enumerate(family)
            for away, nodes in self._away[tier]
            if away.seconds is not None and mask[nodes].any() and away.seconds[1] > moment
        ]
        return min(ends, default=None)

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
    if same is not None and len(same) == len(nodes):
        return same  # one object for steps in a row, which belong together
    return meant if meant is not None and len(meant) == len(nodes) else nodes


def _any_child(mask: Mask, parents: Any, n: int) -> Mask:
    found = np.zeros(n, bool)
    found[parents[mask]] = True
    return found
