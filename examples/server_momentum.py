"""An algorithm of one's own: heavy-ball momentum at every aggregator, on a tree of any depth.

Run it with `hiermo run examples/server_momentum.toml`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from hiermo import Algorithm, Model


class Aggregator(NamedTuple):
    x: object  # model
    u: object  # momentum; it is in neither `up` nor `down`, so it never leaves the node


@dataclass(frozen=True, kw_only=True)
class ServerMomentum(Algorithm):
    """Plain SGD at the workers; each aggregator moves on by beta times its last move."""

    eta: float = 0.01
    beta: float = 0.5

    up = down = Model  # what climbs and what descends

    def init(self, x):  # one record per tier, workers first; the last serves all tiers above
        return Model(x), Aggregator(x, u=0 * x)

    def step(self, w, down, grad):  # one local iteration of a worker
        return Model(w.x - self.eta * grad(w.x))

    def merge(self, node, mean):  # mean: the children's messages, weighted by their data
        u = self.beta * node.u + (mean.x - node.x)
        return Aggregator(node.x + u, u)

    def aggregators(self):  # one rule per aggregating tier, lowest first; the last serves all above
        return (self.merge,)
