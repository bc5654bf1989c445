"""FedMom: Nesterov momentum at the cloud.

Huo, Yang, Gu, Carin, Huang, "Faster On-Device Training Using New Federated Momentum Algorithm" (arXiv 2002.02090).
Written from a third-party implementation and from memory of the paper. Its server step is N/M when M of N workers take
part, hence eta_s = 1 here; its beta is 0.9, the HierMo paper's comparison and our default 0.5.
Traffic: 1 vector up and 1 down per worker and round.
Absent workers: the mean is over those present; it is re-weighted already, so the paper's N/M is not needed.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.vector import Vector


class Server(NamedTuple):
    x: Vector  # model
    y: Vector  # the model before its extrapolation


@dataclass(frozen=True, kw_only=True)
class FedMom(Algorithm):
    """Plain SGD at the workers, Nesterov momentum at the cloud."""

    momentum_at: ClassVar[str] = "cloud"
    cites: ClassVar[tuple[str, ...]] = ("fedmom",)

    eta: Rate = 0.01
    beta: Momentum = 0.5
    eta_s: Rate = 1.0

    tiers = 2
    up = down = Model

    def init(self, x: Any) -> tuple[Model, Server]:
        return Model(x), Server(x, y=x)

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * grad(w.x))

    def server(self, s: Server, mean: Model) -> Server:
        y = s.x - self.eta_s * (s.x - mean.x)
        return Server(y + self.beta * (y - s.y), y)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)
