"""FedProx: FedAvg with a proximal term that holds the workers near the cloud model.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, "Federated Optimization in Heterogeneous Networks", MLSys 2020
(arXiv 1812.06127). Differs: every worker does tau steps in every round. The paper tunes mu in {0.001, 0.01, 0.1, 1}.
Traffic: 1 vector up and 1 down per worker and round.
Absent workers: the mean is over those present.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from hiermo.core.algorithm import Algorithm, Gradient, Model
from hiermo.core.parameter import Rate, Weight


@dataclass(frozen=True, kw_only=True)
class FedProx(Algorithm):
    """SGD on each worker's loss plus mu / 2 times the squared distance to the cloud model."""

    cites: ClassVar[tuple[str, ...]] = ("fedprox",)

    eta: Rate = 0.01
    mu: Weight = 0.01

    tiers = 2
    up = down = Model

    def init(self, x: Any) -> tuple[Model]:
        return (Model(x),)

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * (grad(w.x) + self.mu * (w.x - down.x)))
