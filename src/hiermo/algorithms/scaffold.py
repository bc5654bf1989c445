"""SCAFFOLD: control variates correct the drift of the workers.

Karimireddy, Kale, Mohri, Reddi, Stich, Suresh, "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML
2020 (arXiv 1910.06378). option = 2, the default, refreshes a worker's control from its own steps; option = 1 with its
full gradient at the cloud model. Averages are weighted by data for models and controls alike.
Traffic: 2 vectors up and 2 down per worker and round.
Absent workers: the mean model is over those present; c moves by their share of the data, so that it stays the mean of
all controls, and an absentee keeps its own.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from hiermo.core.algorithm import Algorithm, Gradient, Rule
from hiermo.core.parameter import Rate
from hiermo.core.plan import Setting
from hiermo.core.record import bound
from hiermo.core.vector import Vector


class Worker(NamedTuple):
    x: Vector  # model
    ci: Vector  # own control, stays here for good; not named c, which the cloud sends
    dc: Vector  # its last change, set on sending


class Report(NamedTuple):
    x: Vector
    dc: Vector


class Server(NamedTuple):
    x: Vector  # model
    c: Vector  # mean control


@dataclass(frozen=True, kw_only=True)
class SCAFFOLD(Algorithm):
    """SGD at the workers, each gradient corrected by the cloud's control minus the worker's own."""

    eta_per_round: ClassVar[bool] = True
    cites: ClassVar[tuple[str, ...]] = ("scaffold",)

    eta: Rate = 0.01
    eta_g: Rate = 1.0
    option: Literal[1, 2] = 2
    tau: Any = bound()
    share: Any = bound()  # of the data that takes part in a merge; None = all

    tiers = 2
    up, down = Report, Server

    def bind(self, setting: Setting) -> "SCAFFOLD":
        return replace(self, tau=setting.periods[0])

    def present(self, share: Any) -> "SCAFFOLD":
        return replace(self, share=share)

    def init(self, x: Any) -> tuple[Worker, Server]:
        return Worker(x, ci=0 * x, dc=0 * x), Server(x, c=0 * x)

    def step(self, w: Worker, down: Server, grad: Gradient) -> Worker:
        return w._replace(x=w.x - self.eta * (grad(w.x) - w.ci + down.c))

    def send(self, w: Worker, down: Server, full_grad: Gradient) -> Worker:
        c = full_grad(down.x) if self.option == 1 else w.ci - down.c + (down.x - w.x) / (self.tau * self.eta)
        return Worker(w.x, c, c - w.ci)

    def server(self, s: Server, mean: Report) -> Server:
        dc = mean.dc if self.share is None else self.share * mean.dc  # the controls of absentees stay as they are
        return Server(s.x + self.eta_g * (mean.x - s.x), s.c + dc)

    def aggregators(self) -> tuple[Rule, ...]:
        return (self.server,)
