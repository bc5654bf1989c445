"""DOMO: momentum at the workers and at the cloud, fused.

Xu, Huang, "Coordinating Momenta for Cross-silo Federated Learning", AAAI 2022 (arXiv 2102.03970). Written from a
third-party implementation and from memory of the paper (medium-high confidence). variant = "pre" is DOMO, which moves
the workers along the cloud's momentum at the start of a round; "intra" is DOMO-S, which does so in every step. Local
momentum is heavy ball and starts from zero in every round. The fusion constant's default, beta = alpha mu_s, is ours:
the fused start is then the cloud's own look-ahead. Defaults mu_s = mu_l = 0.5 as in the HierMo paper's comparison.
Traffic: 1 vector up, 2 down per worker and round (the momentum could be inferred under a constant eta; it is sent).
Absent workers: the mean direction is over those present, and the momentum goes on with it.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Rule
from hiermo.core.parameter import Momentum, Rate, Weight
from hiermo.core.plan import Setting
from hiermo.core.record import bound
from hiermo.core.vector import Vector


class Worker(NamedTuple):
    x: Vector  # model
    b: Vector  # local momentum; not named m, which the cloud sends
    d: Vector  # mean of b over the round


class Direction(NamedTuple):
    d: Vector


class Server(NamedTuple):
    x: Vector  # model
    m: Vector  # momentum, a mean over the steps of a round


@dataclass(frozen=True, kw_only=True)
class DOMO(Algorithm):
    """Heavy-ball momentum at the workers (mu_l) and at the cloud (mu_s), fused into the workers' steps."""

    momentum_at: ClassVar[str] = "worker and cloud"
    eta_per_round: ClassVar[bool] = True
    cites: ClassVar[tuple[str, ...]] = ("domo",)

    eta: Rate = 0.01
    mu_s: Momentum = 0.5
    mu_l: Momentum = 0.5
    alpha: Rate = 1.0
    beta: Weight | None = None
    variant: Literal["pre", "intra"] = "pre"
    tau: Any = bound()

    tiers = 2
    up, down = Direction, Server

    def bind(self, setting: Setting) -> "DOMO":
        return replace(self, tau=setting.periods[0])

    @property
    def fusion(self) -> float:
        return self.alpha * self.mu_s if self.beta is None else self.beta

    def init(self, x: Any) -> tuple[Worker, Server]:
        return Worker(x, b=0 * x, d=0 * x), Server(x, m=0 * x)

    def receive(self, w: Worker, down: Server) -> Worker:
        x = down.x - self.eta * self.fusion * self.tau * down.m if self.variant == "pre" else down.x
        return Worker(x, b=0 * w.b, d=0 * w.d)

    def step(self, w: Worker, down: Server, grad: Gradient) -> Worker:
        b = self.mu_l * w.b + grad(w.x)
        move = b + self.fusion * down.m if self.variant == "intra" else b
        return Worker(w.x - self.eta * move, b, w.d + b / self.tau)

    def server(self, s: Server, mean: Direction) -> Server:
        m = self.mu_s * s.m + mean.d
        return Server(s.x - self.alpha * self.eta * self.tau * m, m)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)
