"""FedAvg: local SGD at the workers, one data-weighted average at the cloud.

McMahan, Moore, Ramage, Hampson, Aguera y Arcas, "Communication-Efficient Learning of Deep Networks from
Decentralized Data", AISTATS 2017 (arXiv 1602.05629).
Differs from the paper: every worker takes part in every round and does tau iterations, not epochs.
Two tiers: on a deeper tree it runs on the flattened one, with tau times pi as its period.
Traffic: 1 vector up and 1 down per worker and round.
Absent workers: the mean is over those present.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from hiermo.core.algorithm import Algorithm, Gradient, Model
from hiermo.core.parameter import Rate


@dataclass(frozen=True, kw_only=True)
class FedAvg(Algorithm):
    """Plain SGD at the workers, a data-weighted average at the cloud."""

    cites: ClassVar[tuple[str, ...]] = ("fedavg",)

    eta: Rate = 0.01

    tiers = 2
    up = down = Model

    def init(self, x: Any) -> tuple[Model]:
        return (Model(x),)

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * grad(w.x))
