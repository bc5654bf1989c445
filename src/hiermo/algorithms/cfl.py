"""CFL: synchronous inside a cluster, asynchronous between the cluster heads (edges) and the cloud.

Wang, Xu, Liu, Huang, Qiao, Zhao, "Resource-Efficient Federated Learning with Hierarchical Aggregation in Edge
Computing", INFOCOM 2021. The merge rule, alpha, a and b follow a formula-level transcript of that paper (high
confidence). Its choice of clusters is left out: the tree's edges are the clusters. Ours, because the papers are
silent: an edge does pi rounds between two merges; edges that arrive together merge in a random order that is a
function of (seed, edge, arrival), or by index (order = "fixed"); edges train concurrently (schedule = "async"), or
each pulls right before it trains ("sequential"). No weight D_l / D enters the cloud's merge, so its limit is biased
where edges differ: expected.
Traffic: 1 vector up and 1 down on every link, and a stamp between edge and cloud.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
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

    def arrivals(self, setting: Setting) -> Iterator[tuple[float, float, int, int]]:
        """(time, tie, edge, its how-manieth), for each arrival at the cloud."""
        period = setting.periods[0] * setting.periods[1]
        for ell in range(setting.tree.counts[1]):
            pace = setting.pace[ell] if setting.pace else 1
            for p in range(1, int((setting.iterations - setting.start) // (period * pace)) + 1):
                first = setting.start // period + p  # a function of (seed, edge, arrival): a longer run begins alike
                tie = Random(f"{setting.seed} {ell} {first}").random() if self.order == "random" else 0.0
                yield p * period * pace, tie, ell, p

    def plan(self, setting: Setting) -> Iterator[Event]:
        tau, pi = setting.periods
        if self.schedule == "async":
            yield Spread(setting.start + 1, 2)
        teams = [tuple(setting.tree.children(1, ell).tolist()) for ell in range(setting.tree.counts[1])]
        for _, _, ell, p in sorted(self.arrivals(setting)):
            t = setting.start + (p - 1) * tau * pi
            if self.schedule == "sequential":
                yield Spread(t + 1, 2, (ell,))  # pull right before training
            for k in range(pi):
                if k:
                    yield Spread(t + 1, 1, teams[ell])
                for t in range(t + 1, t + tau + 1):  # noqa: B020 - t goes on from where the last round ended
                    yield Step(t, teams[ell])
                yield Merge(t, 1, teams[ell])
            yield Merge(t, 2, (ell,))
            if self.schedule == "async":
                yield Spread(t + 1, 2, (ell,))  # pull right after merging
