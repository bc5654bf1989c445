"""The constants of the bounds, and what going apart costs, from some looks at a short run; each with its uncertainty.

Extrema over a whole run, as the theory has them, blow up near a stationary point; each is taken here by a rule that a
single odd number cannot spoil, and the rule is told with the value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.theory.constants import Constants
from hiermo.topology.tree import Tree
from hiermo.tuning.drift import MOST, Drift
from hiermo.tuning.sight import Sight

Numbers = NDArray[np.float64]

RESAMPLED = 200  # bootstrap
LEAST_GAIN = 0.1  # alpha is at least this share of eta
LEAST_KEPT = 0.01  # of the gradient: below that only noise tells how little
UNKNOWN = 0.01  # drift per iteration, where it cannot be seen: as with a few classes per worker
LEAST_STEP = 1e-6  # eta beta, below which h is nothing and only takes long


@dataclass(frozen=True)
class Estimate:
    """A number, by how much it may be off (one standard deviation), and how it was found."""

    value: float
    uncertainty: float
    rule: str

    @property
    def low(self) -> float:
        return max(0.0, self.value - self.uncertainty)

    @property
    def high(self) -> float:
        return self.value + self.uncertainty


@dataclass(frozen=True)
class Estimates:
    """Of one pilot. `lost[k]` is the `lost` of `drift[k]`, that of the nodes of tier k."""

    of: dict[str, Estimate]
    constants: Constants
    lost: tuple[Estimate, ...]
    drift: tuple[Drift, ...]
    notes: tuple[str, ...]


def estimates(sights: Sequence[Sight], tree: Tree, sizes: Any, momenta: Any) -> Estimates:
    """`momenta` is (eta, gamma, gamma_a)."""
    eta, gamma, gamma_a = momenta
    merged = [sight for sight in sights if sight.kept]  # all but the first, before anyone moved
    shares = tree.sizes(sizes)[1] / np.sum(sizes)
    parents, weights = tree.parents[0], tree.weights(sizes)
    notes: list[str] = []
    edges = [_spread_within(merged, 0, parents == edge, weights[0]) for edge in range(tree.counts[1])]
    upper = [
        _spread_within(merged, k, slice(None), tree.sizes(sizes)[k] / np.sum(sizes)) for k in range(1, tree.tiers - 1)
    ]
    least = least_loss(sights)
    clear = [sight for sight in sights if sight.gradient > 0]  # the others do not stand out of the noise
    distance = [max(sight.loss - least.value, 1e-12) / sight.gradient for sight in clear]
    turns = [min(a.gradient, b.gradient) / max(a.gradient, b.gradient) for a, b in pairwise(clear)]
    of = {
        "rho": _quantile(
            [g for sight in sights for g in sight.gradients], 0.9, "90 % of the workers' gradients are shorter"
        ),
        "beta": _quantile(
            [each for sight in merged for each in sight.smoothness], 0.9, "90 % of the measured ratios are smaller"
        ),
        "delta": Estimate(
            float(sum(s * e.value for s, e in zip(shares, edges, strict=True))),
            float(np.sqrt(sum((s * e.uncertainty) ** 2 for s, e in zip(shares, edges, strict=True)))),
            "workers around their edge, mean over data and looks, noise of batches taken out",
        ),
        **{
            ("edge_to_cloud" if k == len(upper) - 1 else f"tier_{k + 1}_to_{k + 2}"): each
            for k, each in enumerate(upper)
        },
        "mu": _momentum([m for sight in merged for m in sight.momenta], gamma),
        "omega": _quantile(
            [1 / each**2 for each in distance] or [1.0], 0.1, "1 / |x - x*|^2 with |x - x*| as (F - F*) / |grad F|"
        ),
        "sigma": _quantile(turns or [1.0], 0.1, "gradients at two looks in a row"),
        "F*": least,
    }
    drifts = [_drift(merged, k) for k in range(tree.tiers - 1)]
    if not np.isfinite(np.array([sight.kept for sight in merged])).any(axis=0).all():
        notes.append(
            "gradients do not stand out of the noise of batches: drift is assumed, and larger batches would tell"
        )
    beta = of["beta"].value
    if beta > (largest := 1 / (eta * (gamma + 1))):
        notes.append(f"beta = {beta:.3g}: the bound needs beta eta (gamma + 1) <= 1, so {largest:.3g} is used in it")
        beta = largest
    beta = max(beta, LEAST_STEP / eta)
    mu = of["mu"].value
    if gamma and mu > (most := most_mu(eta, beta, gamma)):
        notes.append(f"mu = {mu:.3g} would make the bound void: {most:.3g} is used, where alpha = {LEAST_GAIN:g} eta")
        mu = most
    constants = Constants(
        eta=eta,
        gamma=gamma,
        gamma_a=gamma_a,
        rho=of["rho"].value,
        beta=beta,
        mu=mu,
        omega=of["omega"].value,
        sigma=max(of["sigma"].value, 1e-6),
        delta_edges=tuple(each.value for each in edges),
        shares=tuple(float(share) for share in shares),
        divergences=tuple(each.value for each in upper),
    )
    lost, drift = zip(*drifts, strict=True)
    return Estimates(of, constants, lost, drift, tuple(notes))


def most_mu(eta: float, beta: float, gamma: float) -> float:
    """The largest with alpha >= LEAST_GAIN eta; alpha is eta d (1 - beta eta d / 2), d = 1 + gamma - gamma mu."""
    step = beta * eta
    d = (1 - np.sqrt(max(0.0, 1 - 2 * step * LEAST_GAIN))) / step if step > 1e-9 else LEAST_GAIN
    return float(max(0.0, (1 + gamma - d) / gamma))


def least_loss(sights: Sequence[Sight]) -> Estimate:
    """F*, extrapolated as the theory has it, 1 / (F - F*) growing evenly; else 0, below which no loss is.

    Its uncertainty is up to the best that was seen.
    """
    losses, t = np.array([sight.loss for sight in sights]), np.array([sight.t for sight in sights], float)
    best = float(losses.min())
    floor = 0.0 if best >= 0 else best - 10 * max(float(losses.max()) - best, 1e-12)
    guess, rule = floor, "no less than this was assumed"
    if len(losses) >= 4 and (np.diff(losses) < 0).all():
        tried = floor + (best - floor) * np.linspace(0, 0.95, 96)
        misfits = [_uneven(t, 1 / (losses - each)) for each in tried]
        guess, rule = float(tried[int(np.argmin(misfits))]), "extrapolated: 1 / (F - F*) grows evenly"
    return Estimate(guess, best - guess, rule)


def _uneven(t: Numbers, y: Numbers) -> float:
    """How far from a straight line, relative to what it rises."""
    fit = np.polynomial.Polynomial.fit(t, y, 1)
    return float(np.abs(y - fit(t)).max() / max(np.ptp(y), 1e-30))


def _quantile(samples: Sequence[float], share: float, rule: str) -> Estimate:
    return _robust(samples, lambda rows: np.quantile(rows, share, axis=-1), rule)


def _robust(samples: Sequence[float], statistic: Callable[[Numbers], Any], rule: str) -> Estimate:
    """With the deviation that it has when the samples are drawn again from themselves."""
    known = np.array([each for each in samples if np.isfinite(each)])
    if not len(known):
        return Estimate(0.0, 0.0, f"{rule}; nothing could be measured")
    drawn = known[np.random.default_rng(0).integers(len(known), size=(RESAMPLED, len(known)))]
    alone = abs(float(statistic(known))) / 2 if len(known) == 1 else 0.0  # one number says nothing of its spread
    return Estimate(float(statistic(known)), max(float(np.std(statistic(drawn))), alone), rule)


def _spread_within(sights: Sequence[Sight], tier: int, some: Any, weights: Numbers) -> Estimate:
    """Of some nodes of a tier around their parents, in the mean."""
    share = np.asarray(weights)[some] / np.sum(np.asarray(weights)[some])
    each = [float(np.sum(share * np.array(sight.apart[tier])[some])) for sight in sights]
    found = _robust(each, lambda rows: rows.mean(-1), "mean over nodes by their data, noise of batches taken out")
    return Estimate(max(0.0, found.value), found.uncertainty, found.rule)


def _momentum(samples: Sequence[float], gamma: float) -> Estimate:
    if not gamma:
        return Estimate(0.0, 0.0, "no momentum at the workers")
    if not samples:
        steady = gamma / (1 - gamma)
        return Estimate(steady, steady, "that of a constant gradient: this algorithm's velocities are not known")
    return _quantile(samples, 0.9, "90 % of the workers' gamma |v| / (eta |grad F|) are smaller")


def _drift(sights: Sequence[Sight], tier: int) -> tuple[Estimate, Drift]:
    """At the longest time apart that was looked at."""
    length = max(sight.since for sight in sights)
    # no more is kept than batches agree about: where nothing seems to be lost, periods would have no end
    kept = [min(sight.kept[tier], 1 - sight.noise[tier]) for sight in sights if sight.since == length]
    if not np.isfinite(kept).any():
        lost = UNKNOWN * length
        return Estimate(lost, lost, f"assumed, {UNKNOWN} per iteration: nothing could be seen"), Drift(lost, length)
    found = _lost(kept)
    rule = f"of the gradient is lost {length} iterations after a merge, median of the looks"
    if found.value > MOST * length:
        rule += f"; {MOST * length:.2g} is used: more is that of a first plateau"
    return Estimate(found.value, found.uncertainty, rule), Drift.seen(found.value, length)


def _lost(kept: Sequence[float]) -> Estimate:
    known = np.array([share for share in kept if np.isfinite(share)])
    found = _robust((np.maximum(known, LEAST_KEPT) ** -0.5 - 1).tolist(), lambda rows: np.median(rows, -1), "")
    return Estimate(max(0.0, found.value), found.uncertainty, "")
