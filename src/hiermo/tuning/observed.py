"""The constants of the analysis as one run has them: extrema over the very points at which its proofs use them.

Such constants make every step of a proof true of this run, and are the least that do: a bound that fails with them is
wrong, and not just unlucky in its constants.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.algorithms.hiermo import HierMo
from hiermo.core.errors import UserError
from hiermo.core.units import human
from hiermo.theory.constants import Constants
from hiermo.tuning.virtual import Moment, Rows, Shares

Numbers = NDArray[np.float64]
Loss = Callable[[Rows], float]  # F at a model [d]

# Sums over thousands of samples in float64 are right to some 1e-14 of the largest gradient; two gradients that differ
# by less than this share of it may be equal, and their difference says nothing of curvature.
NOISE = 1e-13
MOST_BYTES = 2**30  # of the cloud's virtual models, which are kept until x* is known


class Gaps(NamedTuple):
    """Left sides of the theorems, and when: `[m]` iterations, `[m, L]` distances of edges or `[m, 1]` of the cloud."""

    t: Numbers
    distance: Numbers


@dataclass
class Observed:
    """Looks at one moment after the other."""

    algorithm: HierMo
    shares: Shares
    loss: Loss
    _moments: list[tuple[Any, ...]] = field(default_factory=list)
    _merges: list[tuple[Any, ...]] = field(default_factory=list)
    _rounds: list["Round"] = field(default_factory=list)
    _worker_in_edge: Any = 0.0  # [n] largest |grad F_i - grad F_l| at x_[k],l
    _worker_in_cloud: Any = 0.0  # [n] largest |grad F_i - grad F| at x_{p}
    _edge_in_cloud: Any = 0.0  # [L] largest |grad F_l - grad F| at x_{p}
    _bends: list[tuple[Any, Any]] = field(default_factory=list)  # how far gradients differ, and the points
    _scale: float = 0.0

    def see(self, moment: Moment) -> None:
        before, after, slopes, shares = moment.before, moment.after, moment.slopes, self.shares
        parents = shares.parents
        of_edges, of_rounds = shares.edges(slopes.edges), shares.edges(slopes.rounds)  # of F_l at x_[k],l and x_{p},l
        edges_at_cloud, of_cloud = shares.edges(slopes.cloud), shares.cloud(slopes.cloud)  # of F_l and of F at x_{p}
        self._worker_in_edge = np.maximum(self._worker_in_edge, size(slopes.edges - of_edges[parents]))
        self._worker_in_cloud = np.maximum(self._worker_in_cloud, size(slopes.cloud - of_cloud))
        self._edge_in_cloud = np.maximum(self._edge_in_cloud, size(edges_at_cloud - of_cloud))
        own, cloud = before.workers.x, before.cloud.x
        self._bends += [
            (size(slopes.workers - slopes.edges), size(own - before.edges.x[parents])),  # Theorem 1, of F_i
            (size(of_rounds - edges_at_cloud), size(before.rounds.x - cloud)),  # Theorem 3, of F_l
            (size(of_edges - edges_at_cloud), size(before.edges.x - cloud)),  # the corrected ones, of F_l
            (size(slopes.workers - slopes.cloud), size(own - cloud)),  # and of F_i
        ]
        slope = float(size(of_cloud))
        pushed = [
            ratio(self.algorithm.gamma * size(v), self.algorithm.eta * g)
            for v, g in ((before.workers.v, size(slopes.workers)), (before.cloud.v, np.array([slope])))
        ]
        t = moment.t + 1
        self._moments.append(
            (t, size(moment.minus - after.edges.x), size(slopes.workers).max(), max(p.max() for p in pushed))
        )
        self._scale = max(self._scale, float(size(after.workers.x).max()), float(size(after.cloud.x).max()))
        if not self._rounds or self._rounds[-1].is_over:
            self._rounds.append(Round())
        self._rounds[-1].add(cloud[0], of_cloud)
        self._check_memory(cloud)
        if moment.plus is not None:
            self._merges.append((t, size(moment.plus - moment.minus)))
        if moment.merged is not None:
            self._rounds[-1].end(moment, self.loss, shares)

    def _check_memory(self, model: Rows) -> None:
        if (needed := len(self._moments) * model.nbytes) > MOST_BYTES:
            raise UserError(
                f"the virtual models of {len(self._moments)} iterations take {human(needed)}: "
                "take fewer iterations, or a smaller model"
            )

    @property
    def scale(self) -> float:
        """The length of the largest model."""
        return self._scale

    @property
    def rho(self) -> float:
        """Of the workers' gradients, and of F between the ends of a round where it is compared."""
        steepest = max(each[2] for each in self._moments)
        return float(max(steepest, *(each.steepness for each in self._rounds)))

    @property
    def beta(self) -> float:
        """Smoothness: of F_i and F_l between the points that are compared, and of F from one x_{p} to the next."""
        noise, along = NOISE * self.rho, [pair for each in self._rounds for pair in each.bends]
        return float(max(ratio(np.maximum(0, slopes - noise), points).max() for slopes, points in self._bends + along))

    @property
    def mu(self) -> float:
        return float(max(each[3] for each in self._moments))

    @property
    def sigma(self) -> float:
        return float(min(ratio(np.min(r.slopes), np.max(r.slopes)) for r in self._rounds))

    def omega(self, minimiser: Rows) -> float:
        farthest = max(float(size(x - minimiser)) for each in self._rounds for x in each.models)
        return 1 / farthest**2 if farthest else np.inf

    @property
    def jumps(self) -> Numbers:
        """`[P, L]`: how far a merge of the cloud moves the model of each edge, |x - x_l+|; none follows the last."""
        found = [each.jumps for each in self._rounds[:-1]]
        return np.array(found) if found else np.zeros((1, len(self.shares.of_edges)))

    @property
    def worker_to_cloud(self) -> float:
        return float(self.shares.of_workers @ self._worker_in_cloud)

    @property
    def edge_to_cloud(self) -> float:
        return float(self.shares.of_edges @ self._edge_in_cloud)

    def constants(self, minimiser: Rows | None) -> Constants:
        """Without a minimiser, omega is 0, with which no bound of the loss is finite."""
        return Constants(
            eta=self.algorithm.eta,
            gamma=self.algorithm.gamma,
            gamma_a=self.algorithm.gamma_a,
            rho=self.rho,
            beta=self.beta,
            mu=self.mu,
            omega=0.0 if minimiser is None else self.omega(minimiser),
            sigma=self.sigma,
            delta_edges=tuple(self.shares.edges(self._worker_in_edge).tolist()),
            shares=tuple(self.shares.of_edges.tolist()),
            divergences=(self.edge_to_cloud,),
        )

    def workers_from_edges(self) -> Gaps:
        """|x_l- - x_[k],l| after every iteration."""
        return Gaps(np.array([each[0] for each in self._moments]), np.array([each[1] for each in self._moments]))

    def momentum_at_edges(self) -> Gaps:
        """|x_l+ - x_l-| at every merge of the edges."""
        return Gaps(np.array([each[0] for each in self._merges]), np.array([each[1] for each in self._merges]))

    def edges_from_cloud(self) -> Gaps:
        """|x_[p pi] - x_{p}| at the end of every round of the cloud."""
        return self._of_rounds("edges_gap")

    def model_from_cloud(self) -> Gaps:
        """|x - x_{p}| then."""
        return self._of_rounds("model_gap")

    def losses(self) -> Gaps:
        """F(x) then."""
        return self._of_rounds("loss")

    def _of_rounds(self, name: str) -> Gaps:
        return Gaps(
            np.array([each.t for each in self._rounds]), np.array([[getattr(each, name)] for each in self._rounds])
        )


@dataclass
class Round:
    """One interval of the cloud: x_{p} from beginning to end, and what is merged then."""

    models: list[Rows] = field(default_factory=list)
    slopes: list[float] = field(default_factory=list)  # |grad F|
    bends: list[tuple[Any, Any]] = field(default_factory=list)  # how far they differ from one iteration to the next
    t: int = 0
    edges_gap: float = 0.0
    model_gap: float = 0.0
    loss: float = 0.0
    steepness: float = 0.0
    jumps: Any = ()
    is_over: bool = False
    _slope: Any = None

    def add(self, model: Rows, slope: Rows) -> None:
        if self.models:
            self.bends.append((size(slope - self._slope), size(model - self.models[-1])))
        self.models.append(model)
        self.slopes.append(float(size(slope)))
        self._slope = slope

    def end(self, moment: Moment, loss: Loss, shares: Shares) -> None:
        last, merged, plus = moment.after.cloud.x[0], moment.merged, moment.plus
        assert merged is not None and plus is not None and moment.last is not None
        self.add(last, moment.last)
        self.t, self.is_over = moment.t + 1, True
        self.edges_gap = float(size(shares.of_edges @ moment.after.edges.x - last))
        self.model_gap = float(size(merged - last))
        self.loss, virtual = loss(merged), loss(last)
        noise = 1e-14 * (abs(self.loss) + abs(virtual))
        self.steepness = float(ratio(max(0.0, abs(self.loss - virtual) - noise), self.model_gap))
        self.jumps = size(merged - plus)


def size(rows: Rows) -> Any:
    """Lengths `[n]` of rows `[n, d]`, or that of one vector `[d]`."""
    return np.linalg.norm(rows, axis=-1)


def ratio(above: Any, below: Any) -> Any:
    """0 / 0 is 0: nothing where nothing is compared."""
    above, below = np.asarray(above, float), np.asarray(below, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above > 0, above / below, 0.0)
