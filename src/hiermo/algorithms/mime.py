"""Mime and MimeLite: the cloud's momentum, frozen for a round, is applied in every local step.

Karimireddy, Jaggi, Kale, Mohri, Reddi, Stich, Suresh, "Mime: Mimicking Centralized Stochastic Algorithms in Federated
Learning" (arXiv 2008.03606). Before a round every worker sends its full gradient c at the cloud model; Mime also
corrects each local gradient by it, with the same batch at both points; MimeLite does not. form = "ema" is the paper's
(1 - beta) g + beta m; form = "hb", the default, is g + beta m, as implementations do with an SGD momentum optimiser:
ema at eta equals hb at eta (1 - beta). Which one the HierMo paper ran is not said; hb is the one whose result lies
where its table has Mime (uncertain). Default beta 0.5 as there; 0.9 is usual.
Traffic: up 2 vectors (model, full gradient), down 3 (model, momentum, mean gradient); MimeLite 2 and 2.
Absent workers: both means, of models and of full gradients, are over those present.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.vector import Vector


class FullGradient(NamedTuple):
    c: Vector  # at the round's start


class Lite(NamedTuple):
    x: Vector
    m: Vector


class Server(NamedTuple):
    x: Vector  # model
    m: Vector  # momentum, frozen during a round
    c: Vector  # mean of the full gradients


@dataclass(frozen=True, kw_only=True)
class Mime(Algorithm):
    """The cloud's momentum in every local step, and gradients corrected to mimic the centralised method."""

    momentum_at: ClassVar[str] = "cloud, applied at workers"
    cites: ClassVar[tuple[str, ...]] = ("mime",)

    eta: Rate = 0.01
    beta: Momentum = 0.5
    form: Literal["hb", "ema"] = "hb"
    eta_s: Rate = 1.0
    lite: bool = False

    tiers = 2
    up, asks = Model, FullGradient

    @property
    def down(self) -> Any:  # the lite one needs no mean gradient
        return Lite if self.lite else Server

    @property
    def kappa(self) -> Any:
        return 1 - self.beta if self.form == "ema" else 1

    def init(self, x: Any) -> tuple[Model, Server]:
        return Model(x), Server(x, m=0 * x, c=0 * x)

    def survey(self, w: Model, down: Any, full_grad: Gradient) -> FullGradient:
        return FullGradient(full_grad(down.x))

    def step(self, w: Model, down: Any, grad: Gradient) -> Model:
        g = grad(w.x) if self.lite else grad(w.x) - grad(down.x) + down.c
        return Model(w.x - self.eta * (self.kappa * g + self.beta * down.m))

    def server(self, s: Server, mean: Model) -> Server:
        return Server(s.x + self.eta_s * (mean.x - s.x), self.kappa * s.c + self.beta * s.m, s.c)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)


@dataclass(frozen=True, kw_only=True)
class MimeLite(Mime):
    """Mime without the correction of local gradients."""

    lite: bool = True
