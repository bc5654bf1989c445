"""Multi-level local SGD: plain SGD at the workers, averages on every level with periods of their own.

Lin, Stich, Patel, Jaggi, "Don't Use Large Mini-Batches, Use Local SGD", ICLR 2020 (arXiv 1808.07217), hierarchical
local SGD; also studied as H-SGD and multi-level SGD. Averages are weighted by data here; with two levels it is
HierFAVG.
Traffic: 1 vector up and 1 down on every link.
Absent children: the mean is over those present; a node that hears from nobody keeps its model.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from hiermo.core.algorithm import Algorithm, Gradient, Model
from hiermo.core.parameter import Rate


@dataclass(frozen=True, kw_only=True)
class LocalSGD(Algorithm):
    """Plain SGD at the workers; every level averages, fine levels first."""

    cites: ClassVar[tuple[str, ...]] = ("localsgd",)

    eta: Rate = 0.01

    up = down = Model

    def init(self, x: Any) -> tuple[Model]:
        return (Model(x),)

    def step(self, w: Model, down: Model, grad: Gradient) -> Model:
        return Model(w.x - self.eta * grad(w.x))
