"""FedADC: the cloud's momentum is embedded in the local steps.

Ozfatura, Ozfatura, Gunduz, "FedADC: Accelerated Federated Learning with Drift Control", ISIT 2021 (arXiv 2012.09102).
The local step was read in code of the authors' group; the 1/tau and the server's step are from memory (medium
confidence). The momentum is a sum over the steps of a round (DOMO's is a mean). variant = "hb" takes the gradient
before the move along the momentum, "nesterov" after it; which one the HierMo paper ran is not said. beta_l defaults
to beta, and then the cloud model is the plain mean of the workers. Default beta 0.5 as in that comparison.
Traffic: 1 vector up, 2 down per worker and round.
Absent workers: the mean is over those present, and the momentum goes on with it.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.plan import Setting
from hiermo.core.record import bound
from hiermo.core.vector import Vector


class Server(NamedTuple):
    x: Vector  # model
    m: Vector  # momentum, a sum over the steps of a round


@dataclass(frozen=True, kw_only=True)
class FedADC(Algorithm):
    """The cloud's momentum, spread evenly over the local steps of a round."""

    momentum_at: ClassVar[str] = "cloud, applied at workers"
    eta_per_round: ClassVar[bool] = True
    cites: ClassVar[tuple[str, ...]] = ("fedadc",)

    eta: Rate = 0.01
    beta: Momentum = 0.5
    beta_l: Momentum | None = None
    alpha: Rate = 1.0
    variant: Literal["hb", "nesterov"] = "hb"
    tau: Any = bound()

    tiers = 2
    up, down = Model, Server

    def bind(self, setting: Setting) -> "FedADC":
        return replace(self, tau=setting.periods[0])

    @property
    def local(self) -> float:
        return self.beta if self.beta_l is None else self.beta_l

    def init(self, x: Any) -> tuple[Model, Server]:
        return Model(x), Server(x, m=0 * x)

    def step(self, w: Model, down: Server, grad: Gradient) -> Model:
        moved = w.x - self.eta * self.local * down.m / self.tau
        return Model(moved - self.eta * grad(w.x if self.variant == "hb" else moved))

    def server(self, s: Server, mean: Model) -> Server:
        m = (s.x - mean.x) / self.eta + (self.beta - self.local) * s.m
        return Server(s.x - self.alpha * self.eta * m, m)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)
