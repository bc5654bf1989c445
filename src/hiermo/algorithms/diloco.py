"""DiLoCo: AdamW at the workers, Nesterov momentum at the cloud.

Douillard, Feng, Rusu, Chhaparia, Donchev, Kuncoro, Ranzato, Szlam, Shen, "DiLoCo: Distributed Low-Communication
Training of Language Models" (arXiv 2311.08105); rules as in the open implementation OpenDiLoCo. The inner optimiser's
state stays on its worker and is neither averaged nor reset. The paper's period is about 500 steps. AdamW with 0.9,
0.999 and 1e-8.
Traffic: 1 vector up and 1 down per worker and round.
Absent workers: the mean is over those present; an absentee keeps the state of its inner optimiser.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Momentum, Rate, Weight
from hiermo.core.vector import Vector, sqrt

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Worker(NamedTuple):
    x: Vector  # model
    m: Vector  # AdamW's first moment
    s: Vector  # its second moment
    k: Vector  # [1]  its steps


class Server(NamedTuple):
    x: Vector  # model
    b: Vector  # outer momentum


@dataclass(frozen=True, kw_only=True)
class DiLoCo(Algorithm):
    """An inner AdamW (or SGD) that stays on its worker, an outer Nesterov momentum at the cloud."""

    momentum_at: ClassVar[str] = "worker (own) and cloud"
    cites: ClassVar[tuple[str, ...]] = ("diloco",)

    eta: Rate = 0.01
    outer_lr: Rate = 0.7
    outer_momentum: Momentum = 0.9
    inner: Literal["adamw", "sgd"] = "adamw"
    weight_decay: Weight = 0.0

    tiers = 2
    up = down = Model

    def init(self, x: Any) -> tuple[Worker, Server]:
        return Worker(x, m=0 * x, s=0 * x, k=0 * x[:1]), Server(x, b=0 * x)

    def step(self, w: Worker, down: Model, grad: Gradient) -> Worker:
        g = grad(w.x)
        x = w.x * (1 - self.eta * self.weight_decay)
        if self.inner == "sgd":
            return w._replace(x=x - self.eta * g)
        k = w.k + 1
        m = BETA1 * w.m + (1 - BETA1) * g
        s = BETA2 * w.s + (1 - BETA2) * g * g
        return Worker(x - self.eta * (m / (1 - BETA1**k)) / (sqrt(s / (1 - BETA2**k)) + EPSILON), m, s, k)

    def server(self, s: Server, mean: Model) -> Server:
        delta = s.x - mean.x
        b = self.outer_momentum * s.b + delta
        return Server(s.x - self.outer_lr * (delta + self.outer_momentum * b), b)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)
