"""HierAdMo: HierMo whose edge momentum adapts to how well gradients and velocities agree.

Yang, Fu, Bao, Yuan, Zhou, "Hierarchical Federated Learning with Adaptive Momentum in Multi-Tier Networks", ICDCS
2023. Uncertain: only the abstract was at hand (momentum is scaled down where worker and edge momenta disagree); the
rule is from memory, with a cap of 0.99. Velocities, not positions, are added up: a cosine with a position would
depend on the origin. agree = "worker" averages the workers' cosines; "edge" takes the cosine of the edge's step with
the mean of their velocities (one more vector up). fixed = c is the non-adaptive HierAdMo-R, which is HierMo with
gamma_a = c. form = "position" is stable for gamma + gamma_a < 1 alone, so it needs cap < 1 - gamma.
Traffic: workers send 2 vectors and a scalar (or 3 vectors), all else is 2.
Absent children: means, that of the cosines too, are over those present; an edge that hears from nobody keeps model and
momentum, and whoever comes back starts with those of its parent.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple
import warnings

from hiermo.core.algorithm import Algorithm, Gradient, Rule
from hiermo.core.errors import UserError
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.plan import Setting
from hiermo.core.record import adopt
from hiermo.core.vector import Vector, clip, cosine


class Worker(NamedTuple):
    x: Vector  # model
    m: Vector  # worker momentum: velocity v_i, or position y_i
    g: Vector  # minus the gradients of this edge round, added up
    s: Vector  # its velocities, added up
    cos: Vector  # [1]  agreement of the two, set on sending


class Report(NamedTuple):
    x: Vector
    m: Vector
    cos: Vector


class Sums(NamedTuple):
    x: Vector
    m: Vector
    s: Vector


class Pair(NamedTuple):
    x: Vector
    m: Vector


class Edge(NamedTuple):
    x: Vector  # x_l+  edge model
    m: Vector  # mean of the workers' momenta
    y: Vector  # y_l+  edge momentum; never leaves the edge


@dataclass(frozen=True, kw_only=True)
class HierAdMo(Algorithm):
    """HierMo with an edge momentum that follows the cosine between gradients and velocities."""

    momentum_at: ClassVar[str] = "worker and edge, adaptive"
    cites: ClassVar[tuple[str, ...]] = ("hieradmo",)

    eta: Rate = 0.01
    gamma: Momentum = 0.5
    cap: Momentum = 0.99
    agree: Literal["worker", "edge"] = "worker"
    fixed: Momentum | None = None
    form: Literal["velocity", "position"] = "velocity"

    down = Pair

    @property
    def up(self) -> Any:  # depends on what is to agree
        return (Report if self.agree == "worker" else Sums), Pair

    def bind(self, setting: Setting) -> "HierAdMo":
        if self.form == "position" and self.fixed is None and self.cap >= 1 - self.gamma:
            raise UserError(
                f"HierAdMo(form='position') diverges from cap = 1 - gamma = {1 - self.gamma:g} on: "
                f"set cap below that, not {self.cap}"
            )
        if self.form == "position" and self.fixed is not None and self.gamma + self.fixed >= 1:
            warnings.warn(
                f"HierAdMo(form='position') is unstable for gamma + fixed >= 1 (here {self.gamma} + {self.fixed}); "
                "form='velocity' is stable for all momenta below 1",
                stacklevel=3,
            )
        return self

    def init(self, x: Any) -> tuple[Worker, Edge, Pair]:
        m = 0 * x if self.form == "velocity" else x
        return Worker(x, m, g=0 * x, s=0 * x, cos=0 * x[:1]), Edge(x, m, y=x), Pair(x, m)

    def receive(self, w: Worker, down: Pair) -> Worker:
        return Worker(down.x, down.m, g=0 * w.g, s=0 * w.s, cos=w.cos)

    def step(self, w: Worker, down: Pair, grad: Gradient) -> Worker:
        g = grad(w.x)
        y = w.x - self.eta * g
        v = self.gamma * w.m - self.eta * g if self.form == "velocity" else y - w.m
        return Worker(y + self.gamma * v, v if self.form == "velocity" else y, w.g - g, w.s + v, w.cos)

    def send(self, w: Worker, down: Pair, full_grad: Gradient) -> Worker:
        return w._replace(cos=cosine(w.g, w.s))

    def edge(self, e: Edge, mean: Any) -> Edge:
        y = mean.x
        cos = mean.cos if self.agree == "worker" else cosine(y - e.y, mean.s)
        gamma_a = clip(cos, 0, self.cap) if self.fixed is None else self.fixed
        return Edge(y + gamma_a * (y - e.y), mean.m, y)

    def aggregators(self) -> tuple[Rule, ...]:
        return self.edge, adopt
