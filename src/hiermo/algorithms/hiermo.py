"""HierMo: Nesterov momentum at the workers and again at the edges.

"Hierarchical Federated Learning with Momentum Acceleration in Multi-Tier Networks" (arXiv 2210.14560), Algorithm 1;
the line numbers below are its.

Two forms, which the paper takes for one. Its proofs average the workers' velocities v = y(t) - y(t-1):
`form="velocity"`, the default, stable for all momenta below 1, with an effective step of
eta / ((1 - gamma)(1 - gamma_a)); the published results are this form's. Its Algorithm 1 averages the positions y:
`form="position"`, which feeds the edge's extrapolation back into the workers' momentum, has an effective step of
eta / (1 - gamma - gamma_a), and is unstable from gamma + gamma_a = 1 on: the paper's own 0.5 and 0.5 is on that edge.
They coincide where gamma or gamma_a is 0.

Beyond the paper: on more than three tiers the lowest aggregators have momentum and those above average (ours);
on two tiers the cloud is the edge, which is FastSlowMo.
Traffic: 2 vectors up and 2 down on every link. Defaults are the paper's.
Absent children: means are over those present; an edge that hears from nobody keeps model and momentum, and whoever
comes back starts with those of its parent.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple
import warnings

from hiermo.core.algorithm import Algorithm, Gradient, Rule
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.plan import Setting
from hiermo.core.record import adopt
from hiermo.core.vector import Vector


class Worker(NamedTuple):
    x: Vector  # model
    m: Vector  # worker momentum: velocity v_i, or position y_i


class Edge(NamedTuple):
    x: Vector  # x_l+  edge model
    m: Vector  # mean of the workers' momenta
    y: Vector  # y_l+  edge momentum; never leaves the edge


@dataclass(frozen=True, kw_only=True)
class HierMo(Algorithm):
    """Nesterov momentum at the workers (gamma) and at the edges (gamma_a)."""

    momentum_at: ClassVar[str] = "worker and edge"
    cites: ClassVar[tuple[str, ...]] = ("hiermo",)

    eta: Rate = 0.01
    gamma: Momentum = 0.5
    gamma_a: Momentum = 0.5
    form: Literal["velocity", "position"] = "velocity"

    up = down = Worker

    def init(self, x: Any) -> tuple[Worker, Edge, Worker]:  # lines 1-2
        m = 0 * x if self.form == "velocity" else x
        return Worker(x, m), Edge(x, m, y=x), Worker(x, m)

    def step(self, w: Worker, down: Worker, grad: Gradient) -> Worker:  # lines 5-6
        d = self.eta * grad(w.x)
        if self.form == "position":
            y = w.x - d
            return Worker(y + self.gamma * (y - w.m), y)
        v = self.gamma * w.m - d
        return Worker(w.x + self.gamma * v - d, v)

    def edge(self, e: Edge, mean: Worker) -> Edge:  # lines 9-11
        y = mean.x  # line 10 telescopes: the weights sum to one
        return Edge(y + self.gamma_a * (y - e.y), mean.m, y)

    def aggregators(self) -> tuple[Rule, ...]:  # lines 16-17: the cloud averages
        return self.edge, adopt

    def bind(self, setting: Setting) -> "HierMo":
        if self.form == "position" and self.gamma + self.gamma_a >= 1:
            warnings.warn(
                f"HierMo(form='position') is unstable for gamma + gamma_a >= 1 (here {self.gamma} + {self.gamma_a}); "
                "form='velocity' is stable for all momenta below 1",
                stacklevel=3,
            )
        return self
