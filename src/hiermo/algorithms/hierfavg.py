"""HierFAVG: federated averaging on every tier, no momentum.

Liu, Zhang, Song, Letaief, "Client-Edge-Cloud Hierarchical Federated Learning", ICC 2020 (arXiv 1905.06641).
Differs from the paper in nothing; its kappa_1 is tau here, its kappa_2 is pi.
Traffic: 1 vector up and 1 down on every link.
Absent children: the mean is over those present; an edge that hears from nobody keeps its model.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from hiermo.core.algorithm import Algorithm, Gradient, Model
from hiermo.core.parameter import Rate


@dataclass(frozen=True, kw_only=True)
class HierFAVG(Algorithm):
    """Plain SGD at the workers, data-weighted averages at the edges and at the cloud."""

    cites: ClassVar[tuple[str, ...]] = ("hierfavg",)

    eta: Rate = 0.01

    up = down = Model

    def init(self, x: Any) -> tuple[Model]:
        return (Model(x),)

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * grad(w.x))
