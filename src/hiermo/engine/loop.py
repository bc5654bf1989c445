"""The only synchronous training loop: applies the events of a plan to the state, one after the other."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import Diverged
from hiermo.core.plan import Event, Merge, Schedule, Setting, Spread, Step, Survey, reached
from hiermo.core.problem import Problem, blocks, initial_buffers
from hiermo.core.record import adopt, of, pick
from hiermo.engine.families import Families
from hiermo.engine.stacked import Pieces, Stacked, Where
from hiermo.engine.state import State
from hiermo.engine.stretch import Stretch
from hiermo.topology.tree import Tree

Course = Generator[Stretch | tuple[State, bool], Any, None]


def begin(algorithm: Algorithm, tree: Tree, problem: Problem, engine: Stacked, setting: Setting) -> State:
    """The state before the first event: every node of a tier alike."""
    records = algorithm.init(problem.initial(setting.seed))
    statistics = initial_buffers(problem, setting.seed)
    return State(
        tiers=tuple(engine.fill(of(records, k), n) for k, n in enumerate(tree.counts)),
        down=engine.fill(pick(of(algorithm.down, 0), of(records, 1)), tree.counts[1]),
        buffers=None if statistics is None else tuple(engine.repeat(statistics, n) for n in tree.counts),
        t=0,
        rounds=0,
        position=0,
        start=setting.start,
        periods=setting.periods,
        seed=setting.seed,
    )


@dataclass(frozen=True)
class Loop:
    """What does not change during a run; `algorithm` is bound."""

    algorithm: Algorithm
    tree: Tree
    problem: Problem
    engine: Stacked
    seed: int
    schedule: Schedule | None = None

    def states(self, state: State, events: Iterator[Event], *, fine: bool) -> Iterator[tuple[State, bool]]:
        """The state after each act, and whether nothing more happens at its t.

        An act is an event, or all the steps in a row between two others (one by one if `fine`) with the Spread before.
        """
        course = self.course(state, events, fine=fine)
        found = next(course, None)
        while found is not None:
            if isinstance(found, Stretch):
                new = self.engine.in_blocks(found.compute, found.w, found.blocks, alike=True)
                found = course.send(new)
            else:
                yield found
                found = next(course, None)

    def course(self, state: State, events: Iterator[Event], *, fine: bool) -> Course:
        """The same, but what workers compute between two merges is left to whoever asks: it comes as a Stretch, and
        their new records are to be sent back."""
        for act, closing in acts(islice(events, state.position, None), fine=fine):
            last = act[-1]
            match last:
                case Step():
                    stretch = Stretch(self, state, act)
                    new = stretch.finish((yield stretch))
                case Merge():
                    new = self.merge(state, last)
                case Spread():
                    new = self.spread(state, last)
                case Survey():
                    new = self.survey(state, last)
            done = last.t if isinstance(last, (Step, Merge)) else state.t
            state = replace(new, t=done, position=state.position + len(act), event=last)
            yield state, closing

    @cached_property
    def sizes(self) -> tuple[Any, ...]:
        """Data under every node, tier by tier."""
        return self.tree.sizes(self.problem.sizes)

    def families(self, tier: int, children: Any) -> tuple[Any, Families]:
        """The parents of some children of a tier, None for all of them, and who belongs to whom."""
        if children is None:
            if tier not in self._families:
                everyone = Families(self.sizes[tier], self.tree.parents[tier], self.tree.counts[tier + 1])
                self._families[tier] = everyone
            return None, self._families[tier]
        nodes = np.asarray(children)
        parents, group = np.unique(self.tree.parents[tier][nodes], return_inverse=True)
        some = None if len(parents) == self.tree.counts[tier + 1] else parents
        return some, Families(self.sizes[tier][nodes], group, len(parents))

    @cached_property
    def _families(self) -> dict[int, Families]:
        return {}

    def at(self, t: int) -> Algorithm:
        """The algorithm with the step size of iteration t."""
        return self.algorithm if self.schedule is None else replace(self.algorithm, eta=self.schedule(t))  # type: ignore[type-var]  # a dataclass

    def where(self, tier: int, nodes: Any, t: int) -> Where:
        everyone = np.arange(self.tree.counts[tier])
        return Where(tier, everyone if nodes is None else np.asarray(nodes), t, self.tree.tiers)

    def received(self, state: State, workers: Any) -> Any:
        """The last message of each worker, out of the rows that siblings share."""
        return self.engine.take(state.down, self.tree.parents[0][workers])

    def merge(self, state: State, event: Merge) -> State:
        engine, k, a = self.engine, event.tier, self.at(event.t)
        below = self.where(k - 1, event.children, event.t)
        children = engine.take(state.tiers[k - 1], event.children)
        if k == 1 and type(a).send is not Algorithm.send:
            children = self.computed(a.send, state, children, below)
            state = self.put(state, 0, event.children, children)
        some, families = self.families(k - 1, event.children)
        sent = self.carry(pick(of(a.up, k - 1), children), k - 1)
        means = engine.mean(sent, families)
        here = self.where(k, some, event.t)
        if event.children is None or type(a).present is Algorithm.present:
            new = engine.merged(of(a.aggregators(), k - 1), engine.take(state.tiers[k], some), means, here)
        else:
            new = self.merged_by_shares(a, engine.take(state.tiers[k], some), means, here, families)
        if (row := engine.first_broken(new)) is not None:
            raise Diverged("the model", k, int(here.nodes[row]), event.t, self.tree.tiers)
        statistics = None
        if state.buffers is not None:
            statistics = engine.average(engine.rows(state.buffers[k - 1], below.nodes), families)
        return replace(self.put(state, k, some, new, statistics), rounds=state.rounds + (k == self.tree.tiers - 1))

    def merged_by_shares(self, a: Algorithm, nodes: Any, means: Any, here: Where, families: Families) -> Any:
        """Each parent by the rule for the share of its data that is present."""
        totals = families.children_totals
        for row, node in enumerate(here.nodes):
            whole = self.sizes[here.tier][node]
            exact = Fraction(int(totals[row]), int(whole))
            share = exact if means[0].dtype == object else float(exact)
            rule = of((a if exact == 1 else a.present(share)).aggregators(), here.tier - 1)
            own = here._replace(nodes=here.nodes[row : row + 1])
            one = self.engine.merged(rule, self.engine.take(nodes, [row]), self.engine.take(means, [row]), own)
            nodes = self.engine.put(nodes, [row], one)
        return nodes

    def computed(self, rule: Any, state: State, w: Any, where: Where) -> Any:
        """What `rule(w, down, full_grad)` makes of some workers."""

        def one(rows: slice, part: Any) -> Pieces:
            mine = where._replace(nodes=where.nodes[rows])
            full = self.engine.gradient(self.problem.full_grad, mine.nodes)
            yield
            return self.engine.each(rule, part, self.received(state, mine.nodes), where=mine, grad=full)

        return self.engine.in_blocks(one, w, blocks(self.problem, len(where.nodes)))

    def spread(self, state: State, event: Spread) -> State:
        state, arrived = self.spread_above(state, event)
        nodes = reached(self.tree, event)[0]
        here = self.where(0, nodes, event.t)
        w = self.engine.take(state.tiers[0], nodes)
        new = self.engine.each(self.at(event.t).receive, w, arrived(here.nodes), where=here)
        return self.put(state, 0, nodes, new)

    def spread_above(self, state: State, event: Spread) -> tuple[State, Callable[[Any], Any]]:
        """All but the workers' own rule; and the messages that arrive at some of them."""
        engine, a, below = self.engine, self.at(event.t), reached(self.tree, event)
        for j in range(event.tier - 1, -1, -1):  # j = the tier that receives
            nodes = below[j]
            here = self.where(j, nodes, event.t)
            senders = self.tree.parents[j][here.nodes]
            sent = pick(of(a.down, j), state.tiers[j + 1])
            new = engine.take(state.tiers[j], nodes)
            if j == 0:
                teams = None if nodes is None else np.unique(senders)
                state = replace(state, down=engine.put(state.down, teams, engine.take(sent, teams)))
            else:
                new = engine.each(adopt, new, self.carry(engine.take(sent, senders), j), where=here)
            statistics = None if state.buffers is None else engine.rows(state.buffers[j + 1], senders)
            state = self.put(state, j, nodes, new, statistics)
        return state, lambda workers: self.carry(engine.take(sent, self.tree.parents[0][workers]), 0)

    def survey(self, state: State, event: Survey) -> State:
        engine, a = self.engine, self.at(event.t)
        here, nodes = self.where(0, event.workers, event.t), event.workers
        means = self.computed(a.survey, state, engine.take(state.tiers[0], nodes), here)
        for k in range(1, self.tree.tiers):
            nodes, families = self.families(k - 1, nodes)
            means = engine.mean(means, families)

        def told(record: Any, tier: int) -> Any:
            answer = engine.take(means, np.zeros(self.tree.counts[tier], int))
            return engine.each(adopt, record, answer, where=self.where(tier, None, event.t))

        # every aggregator is told, or an edge would send stale answers down in the middle of a cloud round
        above = [told(state.tiers[k], k) for k in range(1, self.tree.tiers)]
        return replace(state, tiers=(state.tiers[0], *above), down=told(state.down, 1))

    def carry(self, message: Any, link: int) -> Any:
        """Every message between two nodes passes here, many at once: the place for what a link does to it."""
        return message

    def put(self, state: State, tier: int, nodes: Any, new: Any, statistics: Any = None) -> State:
        """The state with the records, and where given the statistics, of some nodes of one tier replaced."""
        tiers = list(state.tiers)
        tiers[tier] = self.engine.put(tiers[tier], nodes, new)
        if statistics is None or state.buffers is None:
            return replace(state, tiers=tuple(tiers))
        buffers = list(state.buffers)
        buffers[tier] = statistics if nodes is None else self.engine.replace(buffers[tier], nodes, statistics)
        return replace(state, tiers=tuple(tiers), buffers=tuple(buffers))


def acts(events: Iterator[Event], *, fine: bool) -> Iterator[tuple[list[Event], bool]]:
    """Steps in a row of the same workers as one act, other events alone; and whether it closes its t.

    A Spread to everyone belongs to the steps of everyone that follow it.
    """
    act: list[Event] = []
    for event in events:
        if act:
            last = act[-1]
            if not fine and isinstance(event, Step) and _goes_on(last, event):
                act.append(event)
                continue
            yield act, not (isinstance(event, Merge) and event.t == last.t)
        act = [event]
    if act:
        yield act, True


def _goes_on(last: Event, event: Step) -> bool:
    if isinstance(last, Spread):
        return last.children is None and last.workers is None and event.workers is None
    return isinstance(last, Step) and event.workers is last.workers
