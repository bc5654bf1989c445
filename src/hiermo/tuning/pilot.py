"""A short run at the beginning, from which the constants of a problem are sampled.

It is a real run of the algorithm with short periods, at whose root merges everyone is looked at (`sight`). Its seconds
are those of the network's clock, looks included, and count against the budget of whoever asked for it.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any, NamedTuple

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import Diverged
from hiermo.core.problem import Problem, computing, initial_buffers
from hiermo.core.schedule import eta_of
from hiermo.engine.run import run
from hiermo.engine.state import State
from hiermo.topology.tree import Tree
from hiermo.tuning.objective import Times
from hiermo.tuning.sight import Sight, look

SHARE = 0.05  # of the budget, at most
# A round of the root has no inner merges: nodes of every tier go apart from its beginning on, and messages are what
# costs most. Drift slows down as models get farther apart, so a round is as long as its iterations take no more time
# than its messages, about as long as a good choice will be.
LONGEST, USUAL = 80, 10
MORE, CHEAP = (4, 2), 0.5  # more rounds than one are only worth it where they take this part of the share

Show = Callable[[int, int], object]  # iterations done, of how many


class Size(NamedTuple):
    """Of a pilot: the iterations of each round of the root, on so many aggregating tiers."""

    rounds: tuple[int, ...]
    n_periods: int
    batches: int = 2  # of a look

    @property
    def iterations(self) -> int:
        return sum(self.rounds)

    def seconds(self, times: Times) -> float:
        """Steps, models up, means and the new model down, gradients at all means, and those up again."""
        gradients = self.batches * (self.n_periods + 1) * len(self.rounds)
        return float((self.iterations + gradients) * times.theta_w + 1.5 * len(self.rounds) * sum(times.upper))


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """What was seen."""

    size: Size
    sights: tuple[Sight, ...]  # the first before anyone moved

    def facts(self) -> dict[str, Any]:
        """For a file; `from_facts` reads it."""
        return {
            "rounds": list(self.size.rounds),
            "n_periods": self.size.n_periods,
            "batches": self.size.batches,
            "sights": [asdict(sight) for sight in self.sights],
        }

    @staticmethod
    def from_facts(facts: dict[str, Any]) -> "Pilot":
        size = Size(tuple(facts["rounds"]), int(facts["n_periods"]), int(facts["batches"]))
        return Pilot(size=size, sights=tuple(Sight(**sight) for sight in facts["sights"]))


def chosen_size(times: Times, share: float = SHARE, batches: int = 2) -> Size:
    """The best that takes no more than this share of the budget, or else the smallest."""
    longest, n = int(min(LONGEST, max(USUAL, sum(times.upper) / times.theta_w))), len(times.upper)
    for rounds in MORE:
        several = Size((longest,) * rounds, n, batches)
        if several.seconds(times) <= CHEAP * share * times.budget_s:
            return several
    sizes = [Size((longest // 2**k,), n, batches) for k in range(longest.bit_length())]
    fewer = [Size((longest // 2**k,), n, 2) for k in range(longest.bit_length())] if batches > 2 else []
    fits = (size for size in (*sizes, *fewer) if size.seconds(times) <= share * times.budget_s)
    return next(fits, (*sizes, *fewer)[-1])


def run_pilot(
    problem: Problem,
    algorithm: Algorithm,
    tree: Tree,
    size: Size,
    *,
    seed: int,
    schedule: Any = None,
    show: Show = lambda done, of: None,
) -> Pilot:
    """Cut short where it diverges: what was seen before says enough. `schedule` is that of a recipe."""
    start = problem.initial(seed)
    everywhere = start[None].expand(tree.n_workers, -1) if hasattr(start, "expand") else _repeated(start, tree)
    with computing(problem):
        loss = loss_of(problem.evaluate(start, initial_buffers(problem, seed)))
        first = look(problem, tree, seed, 0, 0, everywhere, loss, batches=size.batches)
    sights, state = [replace(first, kept=[], noise=[], smoothness=[], momenta=[])], None
    eta = float(getattr(algorithm, "eta", 0.0))
    try:
        for length in size.rounds:
            show(0 if state is None else state.t, size.iterations)
            state = _one_round(problem, algorithm, tree, state, length, seed, schedule)
            with computing(problem):
                loss = loss_of(problem.evaluate(state.model, state.model_buffers))
                if not isfinite(loss):
                    break
                workers = state.tiers[0]
                pulls = pull(algorithm, workers)
                seen = look(problem, tree, seed, state.t, length, workers.x, loss, pulls, eta, size.batches)
                sights.append(seen)
    except Diverged:
        if len(sights) < 2:
            raise
    if len(sights) < 2:
        raise Diverged("the loss", tree.tiers - 1, 0, size.rounds[0], tree.tiers)
    return Pilot(size=size, sights=tuple(sights))


def _one_round(
    problem: Problem, algorithm: Algorithm, tree: Tree, state: State | None, length: int, seed: int, schedule: Any
) -> State:
    periods = (length, *[1] * (tree.tiers - 2))
    begun = 0 if state is None else state.t
    *_, after = run(
        algorithm,
        tree,
        problem,
        periods=periods,
        iterations=begun + length,
        seed=seed,
        start=state,
        schedule=None if schedule is None else eta_of(schedule, algorithm, periods),
    )
    return after


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
