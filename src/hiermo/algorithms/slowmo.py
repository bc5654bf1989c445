"""SlowMo: heavy-ball momentum at the cloud, around any base optimiser at the workers.

Wang, Tantia, Ballas, Rabbat, "SlowMo: Improving Communication-Efficient Distributed SGD with Slow Momentum", ICLR
2020 (arXiv 1910.00643). The HierMo paper counts it as momentum at the aggregator alone: base = "sgd", beta = 0.5,
alpha = 1. What becomes of the base optimiser's buffer at the start of a round is a choice: "reset" (the paper's habit
for SGD, from memory), "maintain" (what libraries do) or "average" (sent and averaged like the model).
Traffic: 1 vector up and 1 down per worker and round; 2 and 2 with buffer = "average".
Absent workers: the mean is over those present; with buffer = "maintain" an absentee keeps its own.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Model, Rule
from hiermo.core.parameter import Momentum, Rate
from hiermo.core.record import adopt
from hiermo.core.vector import Vector


class Worker(NamedTuple):
    x: Vector  # model
    b: Vector  # the base optimiser's buffer, in units of a gradient


class Server(NamedTuple):
    x: Vector  # model
    u: Vector  # slow momentum, in units of a gradient
    b: Vector  # mean buffer, for buffer="average" alone


@dataclass(frozen=True, kw_only=True)
class SlowMo(Algorithm):
    """A base optimiser at the workers (plain SGD, heavy ball or Nesterov), heavy-ball momentum at the cloud."""

    momentum_at: ClassVar[str] = "cloud"
    eta_per_round: ClassVar[bool] = True
    cites: ClassVar[tuple[str, ...]] = ("slowmo",)

    eta: Rate = 0.01
    beta: Momentum = 0.5
    alpha: Rate = 1.0
    base: Literal["sgd", "hb", "nag"] = "sgd"
    gamma: Momentum = 0.0
    buffer: Literal["reset", "maintain", "average"] = "reset"

    tiers = 2

    @property
    def up(self) -> Any:  # depends on the buffer
        return Worker if self.buffer == "average" else Model

    @property
    def down(self) -> Any:  # likewise
        return self.up

    def init(self, x: Any) -> tuple[Worker, Server]:
        return Worker(x, b=0 * x), Server(x, u=0 * x, b=0 * x)

    def receive(self, w: Worker, down: Any) -> Worker:
        new: Worker = adopt(w, down)
        return new._replace(b=0 * w.b) if self.buffer == "reset" else new

    def step(self, w: Worker, down: Any, grad: Gradient) -> Worker:
        g = grad(w.x)
        b = g if self.base == "sgd" else self.gamma * w.b + g
        return Worker(w.x - self.eta * (g + self.gamma * b if self.base == "nag" else b), b)

    def server(self, s: Server, mean: Any) -> Server:
        u = self.beta * s.u + (s.x - mean.x) / self.eta
        new: Server = adopt(s, mean)
        return new._replace(x=s.x - self.alpha * self.eta * u, u=u)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)
