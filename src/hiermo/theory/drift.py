"""h(x, delta): how far x local iterations take the mean of the workers from where one model had gone (Theorem 1).

    h(x, delta) = eta delta H(x),   H(x) = I (gA)^x + J (gB)^x - 1/(eta beta) - (g^2 (g^x - 1) - (g - 1) x) / (g - 1)^2

with g = gamma and A, B, I, J of the paper's appendix. H(0) = H(1) = 0, and H grows from 1 on; between 0 and 1 it is
negative and bounds nothing, so x is 0 or at least 1.

As printed the terms cancel: they are as large as 1/(eta beta), their sum as small as eta beta. Three ways around it:
the closed form in float64 where an estimate of its own error allows; for whole x the recurrence that it solves, whose
terms are all positive; else the closed form again in as many digits as it takes. gamma = 0 is plain gradient descent
(HierFAVG), where h = (delta/beta) ((1 + eta beta)^x - 1) - eta delta x.
"""

from functools import lru_cache
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError

Numbers = NDArray[np.float64]

ACCURACY = 1e-10  # relative, by the estimate, which is generous
LONGEST = 2**17  # steps of the recurrence, after which roundings could add up to more than that
FINEST = 2**14  # bits
BLOCK = 2**16  # entries of a table at a time
TINY = 1e-300  # an eta * beta below it is that of a linear loss, whose mean does not drift


def h(x: float, delta: float, *, eta: float, beta: float, gamma: float) -> float:
    """Distance of the mean from the virtual update after x iterations; infinity where H(x) is beyond float64.

    >>> round(h(10, 0.3, eta=0.01, beta=1.0, gamma=0.5), 6)
    0.004669
    """
    _check(delta, eta, beta, gamma)
    if not (x == 0 or 1 <= x < inf):
        raise UserError(f"h(x) is defined for x = 0 and x >= 1, not for x = {x:g}")
    return eta * delta * _shape(float(x), eta, beta, gamma) if eta * delta else 0.0


def h_slope(x: float, delta: float, *, eta: float, beta: float, gamma: float) -> float:
    """The derivative of h by x, for x >= 1."""
    _check(delta, eta, beta, gamma)
    if not 1 <= x < inf:
        raise UserError(f"the slope of h(x) is defined for x >= 1, not for x = {x:g}")
    return eta * delta * _shape_slope(float(x), eta, beta, gamma) if eta * delta else 0.0


def h_table(n: int, *, eta: float, beta: float, gamma: float) -> Numbers:
    """H(0), ..., H(n) in one go: h(x, delta) = eta * delta * H[x]."""
    _check(0.0, eta, beta, gamma)
    if n < 0:
        raise UserError(f"a table of h needs a length of at least 0, not {n}")
    if eta * beta < TINY:
        return np.zeros(n + 1)
    table, rough = np.full(n + 1, inf), -1
    with np.errstate(all="ignore"):
        for begin in range(0, n + 1, BLOCK):
            x = np.arange(begin, min(begin + BLOCK, n + 1), dtype=np.float64)
            closed = _closed(x, eta * beta, gamma, np, 2.0**-52)
            table[begin : begin + BLOCK] = closed.value
            rough = max(rough, *(begin + np.flatnonzero(~closed.is_fine)[-1:]), -1)
            if closed.value[-1] == inf:
                break
    if rough >= 0:  # all that are too inaccurate have few iterations
        table[: rough + 1] = _recurrence(int(rough), eta * beta, gamma)
    return table


class _Estimate(NamedTuple):
    value: Any
    error: Any

    @property
    def is_fine(self) -> Any:
        return (self.error <= ACCURACY * self.value) | (self.value == inf)


@lru_cache(maxsize=1 << 16)
def _shape(x: float, eta: float, beta: float, gamma: float) -> float:
    """H(x)."""
    eta_beta = eta * beta
    if x in (0, 1) or eta_beta < TINY:
        return 0.0
    with np.errstate(all="ignore"):
        closed = _closed(np.float64(x), eta_beta, gamma, np, 2.0**-52)
    if closed.is_fine:
        return float(closed.value)
    if x.is_integer() and x <= LONGEST:
        return float(np.linalg.matrix_power(_iteration(eta_beta, gamma), int(x))[3, 4])
    return _finer(x, eta, beta, gamma)


@lru_cache(maxsize=1 << 16)
def _shape_slope(x: float, eta: float, beta: float, gamma: float) -> float:
    """The derivative of H at x."""
    if eta * beta < TINY:
        return 0.0
    with np.errstate(all="ignore"):
        closed = _closed(np.float64(x), eta * beta, gamma, np, 2.0**-52, slope=True)
    return float(closed.value) if closed.is_fine else _finer(x, eta, beta, gamma, slope=True)


def _closed(x: Any, eta_beta: Any, g: Any, lib: Any, eps: float, slope: bool = False) -> _Estimate:
    """H(x), or its slope, term by term with what rounding may have done to it; `lib` is numpy or mpmath.

    A and B come as gA = 1 + up and gB = 1 - down: up and -down are the roots of z^2 + c z - eta beta, so that neither
    needs a difference.
    """
    c = 1 - g - eta_beta * (1 + g)
    root = lib.sqrt(c * c + 4 * eta_beta)  # g (A - B)
    larger = (root + abs(c)) / 2
    up, down = (eta_beta / larger, larger) if c > 0 else (larger, eta_beta / larger)
    i = (1 + up + g * up) / (root * up)
    rate = lib.log1p(up)
    rises = lib.exp(x * rate + lib.log(i))  # I (gA)^x; in one exponent, as either may overflow alone
    error = eps * (10 + 5 * x * rate + abs(lib.log(i))) * rises
    if g:
        b = g * (1 + eta_beta) / (1 + up)
        decay, loss = -lib.log1p(-down) if down < 0.5 else -lib.log(b), -lib.log(g)
        falls, fades = lib.exp(-x * decay) / (root * down), lib.exp(-x * loss)
    else:
        b = decay = loss = falls = fades = 0  # gB = 0
    j, j_error = b + g * b - g, eps * (b + g * b + g) * (5 + 5 * x * decay)
    if slope:
        value = rate * rises - decay * j * falls + (g * g * loss * fades - (1 - g)) / (1 - g) ** 2
        rest = (g * g * loss * fades * (1 + x * loss) + 1 - g) / (1 - g) ** 2
        return _Estimate(value, rate * error + decay * j_error * falls + 5 * eps * rest)
    value = rises + j * falls - 1 / eta_beta + (g * g * (1 - fades) - (1 - g) * x) / (1 - g) ** 2
    rest = 1 / eta_beta + (g * g + (1 - g) * x) / (1 - g) ** 2
    return _Estimate(value, error + j_error * falls + 5 * eps * rest)


def _finer(x: float, eta: float, beta: float, gamma: float, slope: bool = False) -> float:
    """The same with twice the digits, until they suffice."""
    bits = 128
    while bits <= FINEST:
        context = _context(bits)
        wide = [context.mpf(each) for each in (x, eta, beta, gamma)]
        closed = _closed(wide[0], wide[1] * wide[2], wide[3], context, context.ldexp(1, -bits), slope)
        if closed.is_fine:
            return float(closed.value)
        bits *= 2
    return 0.0  # nearer to a zero than any float64 tells


@lru_cache
def _context(bits: int) -> Any:
    """mpmath with a precision of its own, as that of its shared context is anyone's to change."""
    from mpmath import MPContext

    context = MPContext()
    context.prec = bits
    return context


def _iteration(eta_beta: float, g: float) -> Numbers:
    """One step of the recurrence that H solves, for the state (p, u, P, H, 1) that starts as (0, 0, 0, 0, 1).

    u is a worker's distance and p its velocity's, in units of delta/beta; H and P are those of the mean, in units of
    eta delta. p' = g p + eb (u + 1), u' = u + g p' + eb (u + 1), P' = g P + u, H' = H + g P' + u, eb = eta beta.
    Nothing is negative, so no digits are lost.
    """
    e = eta_beta
    return np.array(
        [
            [g, e, 0, 0, e],
            [g * g, 1 + e * (1 + g), 0, 0, e * (1 + g)],
            [0, 1, g, 0, 0],
            [0, 1 + g, g * g, 1, 0],
            [0, 0, 0, 0, 1],
        ]
    )


def _recurrence(n: int, eta_beta: float, g: float) -> Numbers:
    """H(0), ..., H(n): all that is known, as many steps on as there are, until there are enough."""
    steps, states = _iteration(eta_beta, g), np.array([[0.0, 0, 0, 0, 1]]).T
    while (known := states.shape[1]) <= n:
        steps = steps @ steps if known > 1 else steps
        states = np.hstack([states, steps @ states[:, : n + 1 - known]])
    found: Numbers = states[3]
    return found


def _check(delta: float, eta: float, beta: float, gamma: float) -> None:
    for name, value in {"delta": delta, "eta": eta, "beta": beta}.items():
        if not (isfinite(value) and value >= 0):
            raise UserError(f"{name} must be finite and at least 0, not {value:g}")
    if not 0 <= gamma < 1:
        raise UserError(f"gamma must be in [0, 1), not {gamma:g}")
