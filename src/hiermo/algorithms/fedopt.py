"""FedAdam, FedYogi, FedAdagrad: adaptive optimisers at the cloud.

Reddi, Charles, Zaheer, Garrett, Rush, Konecny, Kumar, McMahan, "Adaptive Federated Optimization", ICLR 2021
(arXiv 2003.00295). s starts at epsilon squared, as the paper asks (s0 sets another start); no bias correction.
eta_s is a step per coordinate: tune it, 0.01 to 0.1 is usual.
Traffic: 1 vector up and 1 down per worker and round.
Absent workers: the mean is over those present, and the cloud's moments go on with it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Portion, Rate, Weight
from hiermo.core.vector import Vector, sign, sqrt


class Server(NamedTuple):
    x: Vector  # model
    m: Vector  # first moment of the rounds' steps
    s: Vector  # second moment


@dataclass(frozen=True, kw_only=True)
class FedAdam(Algorithm):
    """Plain SGD at the workers, Adam at the cloud."""

    momentum_at: ClassVar[str] = "cloud, adaptive"
    cites: ClassVar[tuple[str, ...]] = ("fedopt",)

    eta: Rate = 0.01
    eta_s: Rate = 0.1
    beta1: Portion = 0.9
    beta2: Portion = 0.99
    epsilon: Weight = 1e-3
    s0: Weight | None = None

    tiers = 2
    up = down = Model

    def init(self, x: Any) -> tuple[Model, Server]:
        s0 = self.epsilon**2 if self.s0 is None else self.s0
        return Model(x), Server(x, m=0 * x, s=0 * x + s0)

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * grad(w.x))

    def second(self, s: Any, dd: Any) -> Any:
        return self.beta2 * s + (1 - self.beta2) * dd

    def server(self, node: Server, mean: Model) -> Server:
        d = mean.x - node.x
        m = self.beta1 * node.m + (1 - self.beta1) * d
        s = self.second(node.s, d * d)
        return Server(node.x + self.eta_s * m / (sqrt(s) + self.epsilon), m, s)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)


@dataclass(frozen=True, kw_only=True)
class FedYogi(FedAdam):
    """Plain SGD at the workers, Yogi at the cloud."""

    def second(self, s: Any, dd: Any) -> Any:
        return s - (1 - self.beta2) * dd * sign(s - dd)


@dataclass(frozen=True, kw_only=True)
class FedAdagrad(FedAdam):
    """Plain SGD at the workers, Adagrad at the cloud."""

    def second(self, s: Any, dd: Any) -> Any:
        return s + dd
