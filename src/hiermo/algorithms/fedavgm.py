"""FedAvgM: FedAvg with momentum at the cloud.

Hsu, Qi, Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification", 2019
(arXiv 1909.06335). The momentum is a decaying sum of the rounds' steps, not a mean: no factor (1 - beta). Usual beta
0.9, default 0.5 like every momentum here. nesterov adds the look-ahead.
Traffic: 1 vector up and 1 down per worker and round.
Absent workers: the mean is over those present, and the momentum goes on with it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.vector import Vector


class Server(NamedTuple):
    x: Vector  # model
    m: Vector  # decaying sum of the rounds' steps


@dataclass(frozen=True, kw_only=True)
class FedAvgM(Algorithm):
    """Plain SGD at the workers, heavy-ball (or Nesterov) momentum at the cloud."""

    momentum_at: ClassVar[str] = "cloud"
    cites: ClassVar[tuple[str, ...]] = ("fedavgm",)

    eta: Rate = 0.01
    beta: Momentum = 0.5
    eta_s: Rate = 1.0
    nesterov: bool = False

    tiers = 2
    up = down = Model

    def init(self, x: Any) -> tuple[Model, Server]:
        return Model(x), Server(x, m=0 * x)

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * grad(w.x))

    def server(self, s: Server, mean: Model) -> Server:
        delta = s.x - mean.x
        m = self.beta * s.m + delta
        return Server(s.x - self.eta_s * (delta + self.beta * m if self.nesterov else m), m)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)
