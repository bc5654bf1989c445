"""CFL: synchronous inside a cluster, asynchronous between the cluster heads (edges) and the cloud.

Wang, Xu, Liu, Huang, Qiao, Zhao, "Resource-Efficient Federated Learning with Hierarchical Aggregation in Edge
Computing", INFOCOM 2021. The merge rule, alpha, a and b follow a formula-level transcript of that paper (high
confidence). Its choice of clusters is left out: the tree's edges are the clusters. Ours, because the papers are
silent: an edge does pi rounds between two merges; edges merge in the order in which a clock has them arrive, and those
that arrive together, which without a clock is all of them, in a random order that is a function of (seed, edge,
arrival), or by index (order = "fixed"); edges train concurrently (schedule = "async"), or each pulls right before it
trains ("sequential"). No weight D_l / D enters the cloud's merge, so its limit is biased where edges differ: expected.
Traffic: 1 vector up and 1 down on every link, and a stamp between edge and cloud.
Absent children: the mean of an edge is over the workers present; an edge that was away pulls when it is back, and
counts as stale as it then is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Portion, Rate, Weight
from hiermo.core.plan import Event, Merge, Setting, Spread, Step
from hiermo.core.record import adopt, bound
from hiermo.core.vector import Vector, where


class Stamped(NamedTuple):
    x: Vector  # model
    n: Vector  # [1]  cloud: merges so far; edge: their number when it pulled


@dataclass(frozen=True, kw_only=True)
class CFL(Algorithm):
    """Averages at the edges; the cloud mixes in each edge as it arrives, less where it is stale."""

    cites: ClassVar[tuple[str, ...]] = ("cfl",)

    eta: Rate = 0.01
    a: Weight = 5  # staleness up to which an edge counts in full
    b: Weight = 1.0  # how fast it counts less beyond that
    alpha: Portion | None = None  # weight of an arriving edge; 1 - (L - 1) / N where left out
    order: Literal["random", "fixed"] = "random"
    schedule: Literal["async", "sequential"] = "async"
    weight: Any = bound()

    tiers = 3
    up = down = (Model, Stamped)

    def bind(self, setting: Setting) -> "CFL":
        n_workers, n_edges, _ = setting.tree.counts
        return replace(self, weight=1 - (n_edges - 1) / n_workers if self.alpha is None else self.alpha)

    def init(self, x: Any) -> tuple[Model, Stamped]:
        return Model(x), Stamped(x, n=0 * x[:1])

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * grad(w.x))

    def cloud(self, c: Stamped, edge: Stamped) -> Stamped:  # the mean of the one edge that arrived is that edge
        n = c.n + 1
        s = n - edge.n  # staleness, at least 1
        alpha = where(s <= self.a, self.weight + 0 * s, self.weight * s**-self.b)
        return Stamped((1 - alpha) * c.x + alpha * edge.x, n)

    def aggregators(self) -> tuple[Rule, ...]:
        return adopt, self.cloud

    def plan(self, setting: Setting) -> Iterator[Event]:
        if self.schedule == "async":
            yield Spread(setting.start + 1, 2)
        for visit in self.visits(setting):
            yield from visit

    def cycle(self, setting: Setting, ell: int, team: Any, p: int) -> list[Event]:
        """What edge ell and its team do until they have arrived for the p-th time."""
        tau, pi = setting.periods
        t = setting.start + (p - 1) * tau * pi
        events: list[Event] = []
        if self.schedule == "sequential":
            events.append(Spread(t + 1, 2, (ell,)))  # pull right before training
        for k in range(pi):
            if k:
                events.append(Spread(t + 1, 1, team))
            events += [Step(t + j, team) for j in range(1, tau + 1)]
            t += tau
            events.append(Merge(t, 1, team))
        return [*events, Merge(t, 2, (ell,))]

    def visits(self, setting: Setting) -> Iterator[list[Event]]:
        """The events of each arrival at the cloud, and of the pull after it: a queue in the order of time.

        Without a clock all edges are equally fast. It ends with the first arrival by which the steps of all workers are
        as many as `iterations` of each would be.
        """
        n_workers, n_edges, _ = setting.tree.counts
        teams = [tuple(setting.tree.children(1, ell).tolist()) for ell in range(n_edges)]
        period = setting.periods[0] * setting.periods[1]
        # edges that take turns have no order to find
        player = None if setting.clock is None or self.schedule == "sequential" else setting.clock.player()
        left = (setting.iterations - setting.start) * n_workers
        queue: list[tuple[float, float, int, int, list[Event], int]] = []

        def add(moment: float, ell: int, p: int, events: list[Event], steps: int = 0) -> None:
            first = setting.start // period + p  # a function of (seed, edge, arrival): a longer run begins alike
            tie = Random(f"{setting.seed} {ell} {first}").random() if self.order == "random" else 0.0
            heappush(queue, (moment, tie, ell, p, events, steps))

        def train(ell: int, p: int) -> None:
            """Edge ell sets out for its p-th arrival."""
            events, moment, steps = self.cycle(setting, ell, teams[ell], p), float(p), period * len(teams[ell])
            if player is not None:
                steps = sum(player.play(event) for event in events[:-1])  # fewer where somebody is absent
                moment = player.arrival(Merge(events[-1].t, 2, (ell,)))
            add(moment, ell, p, events, steps)

        starts = [0.0] * n_edges
        if player is not None:
            starts = [player.waits(Spread(setting.start + 1, 2, (ell,))) for ell in range(n_edges)]
            player.play(Spread(setting.start + 1, 2))
        for ell, start in enumerate(starts):
            if start == min(starts):
                train(ell, 1)
            else:
                add(start, ell, 0, [Spread(setting.start + 1, 2, (ell,))])
        while left > 0:
            moment, _, ell, p, events, steps = heappop(queue)
            if moment == inf:
                return  # all are away for good
            yield events
            if player is not None:
                player.play(events[-1])
            if isinstance(events[-1], Merge):
                left -= steps
                if self.schedule == "async":
                    pull = Spread(events[-1].t + 1, 2, (ell,))  # right after merging, or when it is back
                    if player is not None and (back := player.waits(pull)):
                        add(back, ell, p, [pull])
                        continue
                    yield [pull]
                    if player is not None:
                        player.play(pull)
            train(ell, p + 1)
