"""FedNAG: Nesterov momentum at the workers; models and momenta are averaged.

Yang, Bao, Yuan, Tran, Zomaya, "Federated Learning with Nesterov Accelerated Gradient" (arXiv 2009.08716); restated
in the HierMo paper's appendix. Written from that appendix and from two third-party implementations, which agree;
equal to torch's SGD(nesterov=True) with averaged momentum buffers.
Paper's default gamma 0.5, ours the same. Traffic: 2 vectors up and 2 down per worker and round.
Absent workers: both means are over those present; whoever comes back gets both.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.vector import Vector


class Worker(NamedTuple):
    x: Vector  # model
    v: Vector  # velocity


@dataclass(frozen=True, kw_only=True)
class FedNAG(Algorithm):
    """Nesterov momentum at the workers; the cloud averages models and velocities."""

    momentum_at: ClassVar[str] = "worker"
    cites: ClassVar[tuple[str, ...]] = ("fednag",)

    eta: Rate = 0.01
    gamma: Momentum = 0.5

    tiers = 2
    up = down = Worker

    def init(self, x: Any) -> tuple[Worker]:
        return (Worker(x, v=0 * x),)

    def step(self, w: Worker, down: Worker, grad: Gradient) -> Worker:
        d = self.eta * grad(w.x)
        v = self.gamma * w.v - d
        return Worker(w.x + self.gamma * v - d, v)
