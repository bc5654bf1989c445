"""What the bounds need to know of a problem and of the algorithm's settings."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import fsum, isfinite

from hiermo.core.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Constants:
    """The constants of the paper's Section 4 and appendix, measured on a problem.

    The paper takes its `delta`, an average over what workers differ within their edges, for what edges differ from the
    cloud too; edges of identical workers make it 0, whatever the edges hold. `divergences` are those of the upper tiers
    as measured.
    """

    eta: float
    gamma: float
    gamma_a: float
    rho: float  # largest gradient of a worker
    beta: float  # smoothness of the workers' losses
    mu: float  # largest gamma |v| / (eta |grad F|)
    omega: float  # smallest 1 / |x - x*|^2
    sigma: float  # smallest ratio of two gradients within a cloud interval
    delta_edges: tuple[float, ...]  # divergence of an edge's workers around it, for each edge
    shares: tuple[float, ...]  # of the data, for each edge
    divergences: tuple[float, ...] = ()  # of the nodes of a tier around their parents, edges around the cloud first

    @property
    def delta(self) -> float:
        """The paper's: the average of the edges' own, by data."""
        return fsum(share * delta for share, delta in zip(self.shares, self.delta_edges, strict=True))

    @property
    def alpha(self) -> float:
        """What an iteration is sure to gain, per squared gradient.

        As printed: eta (g+1) (1 - beta eta (g+1) / 2) - beta eta^2 g^2 mu^2 / 2 - eta g mu (1 - beta eta (g+1)), g =
        gamma. With d = 1 + g - g mu that is eta d (1 - beta eta d / 2). So where beta eta (g+1) <= 1, it is above 0
        just where mu < (1 + g) / g, and above that of plain gradient descent, eta (1 - beta eta / 2), just where
        mu < 1, whatever eta is.
        """
        d = 1 + self.gamma - self.gamma * self.mu
        return self.eta * d * (1 - self.beta * self.eta * d / 2)

    def without_momentum(self) -> "Constants":
        """The same of HierFAVG."""
        return replace(self, gamma=0.0, gamma_a=0.0, mu=0.0)

    def check(self) -> None:
        """Refuses what Theorems 4 to 6 do not cover, a sentence for each condition."""
        _refuse(_of_values(self) or _of_momenta(self) + _of_bound(self))

    @property
    def plain(self) -> bool:
        """No momentum at all: HierFAVG."""
        return self.gamma == 0 == self.gamma_a

    def check_momenta(self) -> None:
        """Refuses what Theorems 1 to 3 do not cover; their limit without any momentum is HierFAVG's."""
        _refuse(_of_values(self) or ([] if self.plain else _of_momenta(self)))

    def check_plain(self) -> None:
        """Refuses what the bound of HierFAVG does not cover; momenta do not matter to it."""
        plain = self.without_momentum()
        _refuse(_of_values(plain) or _of_bound(plain))


def _refuse(faults: list[str]) -> None:
    if faults:
        raise UserError("; ".join(faults))


@lru_cache(maxsize=16)  # a search asks for the same ones again and again
def _of_values(c: Constants) -> list[str]:
    found = []
    for each in fields(c):
        value = getattr(c, each.name)
        wrong = [x for x in (value if isinstance(value, tuple) else [value]) if not (isfinite(x) and x >= 0)]
        found += [f"{each.name} must be finite and at least 0, not {x:g}" for x in wrong]
    if len(c.shares) != len(c.delta_edges) or not c.shares:
        found.append(
            f"shares and delta_edges must have an entry for each edge, not {len(c.shares)} and {len(c.delta_edges)}"
        )
    elif not found and abs(fsum(c.shares) - 1) > 1e-9:
        found.append(f"shares must sum to 1, not to {fsum(c.shares):g}")
    return found


def _of_momenta(c: Constants) -> list[str]:
    found = []
    if not 0 < c.gamma < 1:
        found.append(f"gamma must be in (0, 1), not {c.gamma:g}")
    if not 0 <= c.gamma_a < 1:
        found.append(f"gamma_a must be in [0, 1), not {c.gamma_a:g}")
    return found


def _of_bound(c: Constants) -> list[str]:
    found = [f"{name} must be above 0, not 0" for name in ("eta", "omega", "sigma") if not getattr(c, name)]
    step = c.beta * c.eta * (c.gamma + 1)
    if step > 1:
        found.append(
            f"beta*eta*(gamma+1) must be at most 1, not {step:g} (beta {c.beta:g}, eta {c.eta:g}, gamma {c.gamma:g}): "
            f"take eta at most {1 / (c.beta * (c.gamma + 1)):.3g}"
        )
    if c.gamma and c.gamma * c.mu >= 1 + c.gamma:
        found.append(
            f"alpha must be above 0, not {c.alpha:.3g} (eta {c.eta:g}, gamma {c.gamma:g}, beta {c.beta:g}, mu "
            f"{c.mu:g}): mu must be below (1+gamma)/gamma = {1 / c.gamma + 1:.3g}; a smaller gamma allows more, and a "
            "smaller eta, with which gradients turn less, makes for less of it"
        )
    return found
