"""Bounds that hold where the printed Theorems 2 and 3 fail, for HierMo in the form of velocities, as recursions.

Why they fail. Theorem 2 sums an edge interval's steps from x_l-, the mean before the last merge, but the workers set
out from x_l+, beyond it, or from the cloud's model: the step between is missing. Theorem 3 adds up what its edge
intervals lose each for itself, as if what one leaves behind did not grow in the next ones, uses Theorem 2, and takes
delta for what edges differ from the cloud. On a linear loss with nothing that differs, the first is short by
1 / (1 - gamma_a), and the second's left side over its right is (pi - 1) / (pi (1 - gamma_a)).

What is asked for beyond the printed constants can be measured: `jump`, the mean over edges of |x - x_l+|, how far a
merge of the cloud moves an edge's model, at its largest; and `worker_to_cloud`, the mean over workers of the largest
|grad F_i - grad F|, for which delta and the `divergences` above it stand in where it is not given. mu must have been
measured where steps begin, merges included.

Bounds of the loss: `total_gap` takes the place of j in Theorems 4 and 5. Their proof takes a point of the mean value
theorem for one of the trajectory, which is a gap for losses that are not convex; for convex ones F(x) - F(x*) <=
|grad F(x)| |x - x*| makes that step right with any sigma up to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, prod

from hiermo.core.errors import UserError
from hiermo.theory.bounds import s, theorem_5
from hiermo.theory.constants import Constants


def edge_gap(k: int, tau: int, pi: int, constants: Constants, jump: float = 0.0) -> float:
    """|x_l+ - x_l-| at the k-th merge of an edge: what Theorem 2 should say.

    Let d^k = x_l-^(k tau) - x_l-^((k-1) tau), so that x_l+ = x_l- + gamma_a d. Interval k sets out from x_l+, that is
    gamma_a d^(k-1) beyond x_l-, and after a merge of the cloud from where that jumped to, and then walks S^k, of which
    s(tau) / gamma_a is a bound: d^k = (jump) + gamma_a d^(k-1) + S^k. So the gap, gamma_a |d^k|, is at most gamma_a
    times the last one, plus s(tau), plus gamma_a times the jump if there was one; at first there is none.
    """
    _check(jump=jump)
    _check_counts(k, tau, pi)
    step, gap = s(tau, constants), 0.0
    for interval in range(k):
        jumped = jump if interval and interval % pi == 0 else 0.0
        gap = constants.gamma_a * gap + step + constants.gamma_a * jumped
    return gap


def edge_gap_limit(tau: int, pi: int, constants: Constants, jump: float = 0.0) -> float:
    """A bound of `edge_gap` for all k, approached right after merges of the cloud."""
    _check(jump=jump)
    _check_counts(tau, pi)
    kept = constants.gamma_a
    return s(tau, constants) / (1 - kept) + kept * jump / (1 - kept**pi)


def cloud_gap(
    periods: Sequence[int],
    constants: Constants,
    *,
    jump: float,
    worker_to_cloud: float | None = None,
    edge_to_cloud: float | None = None,
) -> float:
    """|mean of the edges' virtual updates - the cloud's| at the end of a round: what Theorem 3 should say.

    In the last edge interval it is edges that move, each by its own gradient, and they differ from the cloud by
    `edge_to_cloud`.
    """
    apart, edges = _apart(periods, constants, worker_to_cloud, edge_to_cloud)
    gap = _merge_gap(periods, constants, jump)
    here = _Distances(constants)
    for _ in range(prod(periods[1:]) - 1):
        here.walk(periods[0], apart)
        here.extrapolate(gap)
    here.walk(periods[0], edges if len(periods) > 1 else 0.0)
    return here.mean_x


def total_gap(
    periods: Sequence[int], constants: Constants, *, jump: float, worker_to_cloud: float | None = None
) -> float:
    """|x - x_{p}| at the end of a round, the cloud's model against its virtual update: what j stands for.

    For trees of any depth: nodes above the edges average, and a mean is no farther away than what it is the mean of.
    """
    apart, _ = _apart(periods, constants, worker_to_cloud, 0.0)
    gap = _merge_gap(periods, constants, jump)
    here = _Distances(constants)
    for _ in range(prod(periods[1:])):
        here.walk(periods[0], apart)
        here.extrapolate(gap)
    return here.mean_x


def f_corrected(
    T: float, periods: Sequence[int], constants: Constants, *, jump: float, worker_to_cloud: float | None = None
) -> float:
    """Theorem 5 with `total_gap` for j."""
    constants.check()
    return theorem_5(T, total_gap(periods, constants, jump=jump, worker_to_cloud=worker_to_cloud), periods, constants)


@dataclass
class _Distances:
    """From the cloud's virtual update, which all set out with when its round begins.

    With p_i a worker's share of the data and x_{p}, v_{p} the virtual update: x = sum_i p_i |x_i - x_{p}| and v that of
    the velocities; mean_x = |sum_i p_i x_i - x_{p}| and mean_v. A gradient of worker i at x_i differs from F's at x_{p}
    by at most beta |x_i - x_{p}| plus what F_i and F differ there, which is gone from the mean of all workers.
    """

    constants: Constants
    x: float = 0.0
    v: float = 0.0
    mean_x: float = 0.0
    mean_v: float = 0.0

    def walk(self, iterations: int, apart: float) -> None:
        c = self.constants
        for _ in range(iterations):
            curved = c.eta * c.beta * self.x
            pushed = curved + c.eta * apart
            self.v = c.gamma * self.v + pushed
            self.x += c.gamma * self.v + pushed
            self.mean_v = c.gamma * self.mean_v + curved
            self.mean_x += c.gamma * self.mean_v + curved
            if not isfinite(self.x + self.mean_x):
                self.x = self.mean_x = inf
                return

    def extrapolate(self, gap: float) -> None:
        """A merge of the edges: averaging brings nothing farther away, their momentum does."""
        self.x += gap
        self.mean_x += gap


def _apart(
    periods: Sequence[int], constants: Constants, worker: float | None, edge: float | None
) -> tuple[float, float]:
    """What the gradients of workers, and of edges, differ from the cloud's."""
    constants.check_momenta()
    _check_counts(*periods)
    above = len(periods) - 1
    if (worker is None or edge is None) and len(constants.divergences) < above:
        raise UserError(
            f"{len(periods)} periods need {above} measured divergences, not {len(constants.divergences)}, "
            "where worker_to_cloud and edge_to_cloud are not given"
        )
    edges = sum(constants.divergences[:above]) if edge is None else edge
    workers = constants.delta + sum(constants.divergences[:above]) if worker is None else worker
    _check(worker_to_cloud=workers, edge_to_cloud=edges)
    return workers, edges


def _merge_gap(periods: Sequence[int], constants: Constants, jump: float) -> float:
    """What an edge's momentum does at a merge; on two tiers the edge is the cloud, and nothing makes it jump."""
    tau, pi, jumped = (periods[0], periods[1], jump) if len(periods) > 1 else (periods[0], 1, 0.0)
    return edge_gap_limit(tau, pi, constants, jumped)


def _check(**values: float) -> None:
    for name, value in values.items():
        if not (isfinite(value) and value >= 0):
            raise UserError(f"{name} must be finite and at least 0, not {value:g}")


def _check_counts(*counts: int) -> None:
    if not counts or any(count < 1 or count != int(count) for count in counts):
        raise UserError(f"periods must be whole numbers of at least 1, not {', '.join(map(str, counts)) or 'none'}")
