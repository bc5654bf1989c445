"""The paper's bounds, Theorems 2 to 6, as printed; `corrected` has those that hold where these do not.

Trees may have any depth: periods (tau, pi) are the paper's three tiers, (tau,) two of them, and for (p_1, ..., p_m)

    j_1 = sum_l share_l (h(p_1, delta_l) + s(p_1)),   j_k = h(p_1 ... p_k, delta^(k)) + (p_k + 1) j_(k-1)

which is the paper's j for m = 2; for deeper trees it is our own, by the same steps, with momentum at the lowest
aggregators only. Periods may be real numbers from 1 on, as derivatives need it.
"""

from collections.abc import Sequence
from math import hypot, inf, prod, sqrt
from typing import NamedTuple

from hiermo.core.errors import UserError
from hiermo.theory.constants import Constants
from hiermo.theory.drift import h, h_slope


def s(tau: float, constants: Constants) -> float:
    """How far an edge's momentum takes its model at a merge, by Theorem 2."""
    constants.check_momenta()
    _check_periods((tau,))
    return _s(tau, constants)


def alpha(constants: Constants) -> float:
    """What an iteration is sure to gain, per squared gradient (Theorem 4)."""
    constants.check()
    return constants.alpha


def j(periods: Sequence[float], constants: Constants, printed: bool = True) -> float:
    """How far the cloud's model is from its virtual update when a round of the cloud ends.

    `printed` takes the paper's delta for what the nodes of upper tiers differ from their parents, else the measured
    `divergences`.
    """
    constants.check_momenta()
    return _j(periods, constants, printed)


def j_slope(periods: Sequence[float], k: int, constants: Constants, printed: bool = True) -> float:
    """The derivative of j by periods[k]."""
    constants.check_momenta()
    _check_periods(periods)
    motion = {"eta": constants.eta, "beta": constants.beta, "gamma": constants.gamma}
    length, total = periods[0], _j(periods[:1], constants, printed)
    slope = h_slope(length, constants.delta, **motion) + _s(1, constants) if k == 0 else 0.0
    for tier, (period, apart) in enumerate(
        zip(periods[1:], apart_at(len(periods), constants, printed), strict=True), 1
    ):
        length *= period
        own = h_slope(length, apart, **motion) * length / periods[k] if k <= tier else 0.0
        slope = own + (total if k == tier else (period + 1) * slope)
        total = h(length, apart, **motion) + (period + 1) * total
    return slope


def apart_at(n_periods: int, constants: Constants, printed: bool) -> tuple[float, ...]:
    """What the nodes of each upper tier differ from their parents: all the paper's delta, or as measured."""
    needed = n_periods - 1
    if printed:
        return (constants.delta,) * needed
    if len(constants.divergences) < needed:
        raise UserError(f"{n_periods} periods need {needed} measured divergences, not {len(constants.divergences)}")
    return constants.divergences[:needed]


def theorem_4(T: float, epsilon: float, periods: Sequence[float], constants: Constants) -> float:
    """F(x^T) - F(x*) where the losses at the ends of all rounds are at least epsilon above the least one."""
    constants.check()
    gain = constants.omega * constants.alpha * constants.sigma**2
    lost = constants.rho * _j(periods, constants, True) / prod(periods)
    _check_iterations(T)
    if not (epsilon > 0 and gain > lost / epsilon**2):
        raise UserError(
            f"Theorem 4 needs epsilon above {sqrt(lost / gain):.3g}, where omega alpha sigma^2 > rho j / (tau pi "
            f"epsilon^2), not {epsilon:g}"
        )
    return 1 / (T * (gain - lost / epsilon**2))


def theorem_5(T: float, gap: float, periods: Sequence[float], constants: Constants) -> float:
    """Least loss at the end of a round, above F(x*), where models are at most `gap` from their virtual updates then.

    epsilon_0 + rho gap, with epsilon_0 the positive root of epsilon_0 = 1 / (T (omega alpha sigma^2 - rho gap / (tau pi
    epsilon_0^2))).
    """
    _check_iterations(T)
    gain = constants.omega * constants.alpha * constants.sigma**2
    if not gain > 0:
        raise UserError(f"Theorem 5 needs omega alpha sigma^2 above 0, not {gain:g}")
    q, away = 1 / (2 * T * gain), constants.rho * gap if constants.rho else 0.0
    return q + away + hypot(q, sqrt(away / (gain * prod(periods))))


def f_hiermo(T: float, periods: Sequence[float], constants: Constants, printed: bool = True) -> float:
    """HierMo's bound by Theorem 5, the one that HierOPT minimises."""
    constants.check()
    return theorem_5(T, _j(periods, constants, printed), periods, constants)


def f_hierfavg(T: float, periods: Sequence[float], constants: Constants, printed: bool = True) -> float:
    """The same without momentum: the limit gamma = gamma_a = 0, as the paper does not print its constants."""
    constants.check_plain()
    plain = constants.without_momentum()
    return theorem_5(T, _j(periods, plain, printed), periods, plain)


class Comparison(NamedTuple):
    """Theorem 6, HierMo against HierFAVG.

    The paper says that HierMo's bound is the lower one as eta -> 0. Both tend to 1 / (T omega alpha sigma^2), so the
    larger alpha wins, and HierMo's is larger just where mu < 1: `holds_in_the_limit`. On a constant gradient mu is
    gamma / (1 - gamma), which is 1 at gamma = 0.5. At the given eta j counts as well, and momentum makes it larger.
    """

    hiermo: float
    hierfavg: float
    alpha_hiermo: float
    alpha_hierfavg: float
    hiermo_is_lower: bool
    holds_in_the_limit: bool


def theorem_6(T: float, periods: Sequence[float], constants: Constants, printed: bool = True) -> Comparison:
    """Both bounds side by side."""
    ours, plain = f_hiermo(T, periods, constants, printed), f_hierfavg(T, periods, constants, printed)
    return Comparison(
        hiermo=ours,
        hierfavg=plain,
        alpha_hiermo=constants.alpha,
        alpha_hierfavg=constants.without_momentum().alpha,
        hiermo_is_lower=ours < plain,
        holds_in_the_limit=constants.mu < 1,
    )


def _s(tau: float, c: Constants) -> float:
    return c.gamma_a * tau * c.eta * c.rho * (c.gamma * c.mu + c.gamma + 1)


def _j(periods: Sequence[float], c: Constants, printed: bool) -> float:
    _check_periods(periods)
    motion = {"eta": c.eta, "beta": c.beta, "gamma": c.gamma}
    length = periods[0]
    total = h(length, c.delta, **motion) + _s(length, c)  # of the edges' average: h is proportional to delta
    for period, apart in zip(periods[1:], apart_at(len(periods), c, printed), strict=True):
        length *= period
        total = h(length, apart, **motion) + (period + 1) * total
    return total


def _check_periods(periods: Sequence[float]) -> None:
    if not (len(periods) and all(1 <= period < inf for period in periods)):
        raise UserError(f"periods must be numbers of at least 1, not {', '.join(f'{p:g}' for p in periods) or 'none'}")


def _check_iterations(T: float) -> None:
    if not T > 0:
        raise UserError(f"T must be above 0, not {T:g}")
