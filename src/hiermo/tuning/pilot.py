"""A short run at the beginning, from which the constants of a problem are sampled.

It is a real run of the algorithm with short periods, at whose root merges everyone is looked at (`sight`). Its seconds
are those of the network's clock, looks included, and count against the budget of whoever asked for it.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any, NamedTuple

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import Diverged
from hiermo.core.plan import Schedule
from hiermo.core.problem import Problem, initial_buffers
from hiermo.engine.run import run
from hiermo.topology.tree import Tree
from hiermo.tuning.objective import Times
from hiermo.tuning.sight import BATCHES, Sight, look

SHARE = 0.05  # of the budget, at most
# tau and rounds, best first. All other periods are 1: nodes of every tier go apart from the beginning of a round on,
# whether it has inner merges or not, and messages are what costs most
LADDER = ((10, 4), (10, 2), (5, 2), (10, 1), (5, 1), (3, 1), (2, 1), (1, 1))
CHEAP = 0.25  # of the share: only so is the first one worth more than the iterations that it costs

Show = Callable[[int, int], object]  # iterations done, of how many


class Size(NamedTuple):
    """Of a pilot."""

    periods: tuple[int, ...]
    rounds: int

    @property
    def iterations(self) -> int:
        return self.rounds * prod(self.periods)

    def seconds(self, times: Times) -> float:
        """Steps, models up, means and the new model down, gradients at all means, and those up again."""
        gradients = BATCHES * (len(self.periods) + 1)
        return float(self.rounds * ((prod(self.periods) + gradients) * times.theta_w + 1.5 * sum(times.upper)))


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """What was seen."""

    size: Size
    sights: tuple[Sight, ...]  # the first before anyone moved

    def facts(self) -> dict[str, Any]:
        """For a file; `from_facts` reads it."""
        return {
            "periods": list(self.size.periods),
            "rounds": self.size.rounds,
            "sights": [asdict(sight) for sight in self.sights],
        }

    @staticmethod
    def from_facts(facts: dict[str, Any]) -> "Pilot":
        size = Size(tuple(facts["periods"]), int(facts["rounds"]))
        return Pilot(size=size, sights=tuple(Sight(**sight) for sight in facts["sights"]))


def chosen_size(times: Times, share: float = SHARE) -> Size:
    """The best that takes no more than this share of the budget, or else the smallest."""
    first, *others = (Size((tau, *[1] * (len(times.upper) - 1)), rounds) for tau, rounds in LADDER)
    if first.seconds(times) <= CHEAP * share * times.budget_s:
        return first
    return next((size for size in others if size.seconds(times) <= share * times.budget_s), others[-1])


def run_pilot(
    problem: Problem,
    algorithm: Algorithm,
    tree: Tree,
    size: Size,
    *,
    seed: int,
    schedule: Schedule | None = None,
    show: Show = lambda done, of: None,
) -> Pilot:
    """Cut short where it diverges: what was seen before says enough."""
    start = problem.initial(seed)
    everywhere = start[None].expand(tree.n_workers, -1) if hasattr(start, "expand") else _repeated(start, tree)
    first = look(problem, tree, seed, 0, everywhere, loss_of(problem.evaluate(start, initial_buffers(problem, seed))))
    sights = [replace(first, kept=[], smoothness=[], momenta=[])]
    show(0, size.iterations)
    states = run(
        algorithm, tree, problem, periods=size.periods, iterations=size.iterations, seed=seed, schedule=schedule
    )
    eta = float(getattr(algorithm, "eta", 0.0))
    try:
        for state in states:
            loss = loss_of(problem.evaluate(state.model, state.model_buffers))
            workers = state.tiers[0]
            sights.append(look(problem, tree, seed, state.t, workers.x, loss, pull(algorithm, workers), eta))
            show(state.t, size.iterations)
    except Diverged:
        if len(sights) < 2:
            raise
    return Pilot(size=size, sights=tuple(sights))


def loss_of(metrics: dict[str, Any]) -> float:
    """On the training set, where that is evaluated."""
    return float(metrics.get("train_loss", metrics["loss"]))


def pull(algorithm: Algorithm, worker: Any) -> Any:
    """gamma v of every worker, where the algorithm has such; v is what the paper calls a worker's momentum."""
    gamma = momenta(algorithm)[1]
    if not gamma:
        return None
    if "v" in worker._fields:
        return gamma * worker.v
    if "m" in worker._fields and hasattr(algorithm, "form"):
        return gamma * worker.m if algorithm.form == "velocity" else worker.x - worker.m
    return None


def momenta(algorithm: Algorithm) -> tuple[float, float, float]:
    """eta, gamma and gamma_a as HierMo calls them; 0 where an algorithm has no such momentum."""
    eta, gamma, gamma_a = (float(getattr(algorithm, name, 0.0)) for name in ("eta", "gamma", "gamma_a"))
    return eta, gamma, gamma_a


def _repeated(start: Any, tree: Tree) -> Any:
    return start[None].repeat(tree.n_workers, axis=0)
