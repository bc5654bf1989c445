"""FastSlowMo: Nesterov momentum at the workers and at the cloud, on two tiers.

Yang, Fu, Bao, Yuan, Zomaya, "FastSlowMo: Federated Learning with Combined Worker and Aggregator Momenta", IEEE TAI
2022. Written from a third-party implementation. It is HierMo with one edge, and has the same two forms: see there.
Traffic: 2 vectors up and 2 down per worker and round. Defaults are the paper's.
Absent workers: means are over those present; whoever comes back starts with the model and the momentum of the cloud.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple
import warnings

from hiermo.core.algorithm import Algorithm, Gradient, Rule
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.plan import Setting
from hiermo.core.vector import Vector


class Worker(NamedTuple):
    x: Vector  # model
    m: Vector  # worker momentum: velocity, or position


class Server(NamedTuple):
    x: Vector  # model
    m: Vector  # mean of the workers' momenta
    y: Vector  # the model before its extrapolation; never leaves the cloud


@dataclass(frozen=True, kw_only=True)
class FastSlowMo(Algorithm):
    """Nesterov momentum at the workers (gamma) and at the cloud (gamma_a)."""

    momentum_at: ClassVar[str] = "worker and cloud"
    cites: ClassVar[tuple[str, ...]] = ("fastslowmo",)

    eta: Rate = 0.01
    gamma: Momentum = 0.5
    gamma_a: Momentum = 0.5
    form: Literal["velocity", "position"] = "velocity"

    tiers = 2
    up = down = Worker

    def init(self, x: Any) -> tuple[Worker, Server]:
        m = 0 * x if self.form == "velocity" else x
        return Worker(x, m), Server(x, m, y=x)

    def step(self, w: Worker, down: Worker, grad: Gradient) -> Worker:
        d = self.eta * grad(w.x)
        if self.form == "position":
            y = w.x - d
            return Worker(y + self.gamma * (y - w.m), y)
        v = self.gamma * w.m - d
        return Worker(w.x + self.gamma * v - d, v)

    def server(self, s: Server, mean: Worker) -> Server:
        return Server(mean.x + self.gamma_a * (mean.x - s.y), mean.m, mean.x)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)

    def bind(self, setting: Setting) -> "FastSlowMo":
        if self.form == "position" and self.gamma + self.gamma_a >= 1:
            warnings.warn(
                f"FastSlowMo(form='position') is unstable for gamma + gamma_a >= 1 "
                f"(here {self.gamma} + {self.gamma_a}); form='velocity' is stable for all momenta below 1",
                stacklevel=3,
            )
        return self
