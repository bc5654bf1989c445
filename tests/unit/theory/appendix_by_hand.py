"""The paper's appendix, letter by letter, in 60 digits."""

from typing import NamedTuple

from mpmath import log, mp, mpf, sqrt

DIGITS = 60


class Letters(NamedTuple):
    A: mpf
    B: mpf
    I: mpf  # noqa: E741 - the paper's letter
    J: mpf
    U: mpf
    V: mpf


def letters(eb, g):
    """A, B, I, J, U, V; call it within `mp.workdps`."""
    root = sqrt((1 + eb) ** 2 * (1 + g) ** 2 - 4 * g * (1 + eb))
    A, B = ((1 + eb) * (1 + g) + root) / (2 * g), ((1 + eb) * (1 + g) - root) / (2 * g)
    I = (g * A + A - 1) / ((A - B) * (g * A - 1))  # noqa: E741
    J = (g * B + B - 1) / ((A - B) * (1 - g * B))
    middle = (1 + eb + eb * g) / g
    return Letters(A, B, I, J, (middle - B) / (A - B), (A - middle) / (A - B))


def h_printed(x, delta, eta, beta, gamma):
    """Theorem 1; gamma = 0 by its limit."""
    with mp.workdps(max(DIGITS, mp.dps)):  # `diff` asks for more
        x, delta, eta, beta, g = (mpf(each) for each in (x, delta, eta, beta, gamma))
        eb = eta * beta
        if g == 0:
            return delta / beta * ((1 + eb) ** x - 1) - eta * delta * x
        A, B, I, J, _, _ = letters(eb, g)  # noqa: E741
        fading = (g**2 * (g**x - 1) - (g - 1) * x) / (g - 1) ** 2
        return eta * delta * (I * (g * A) ** x + J * (g * B) ** x - 1 / eb - fading)


def h_printed_slope(x, delta, eta, beta, gamma):
    """Its derivative, term by term; compared to `mpmath.diff` in the tests."""
    with mp.workdps(max(DIGITS, mp.dps)):  # `diff` asks for more
        x, delta, eta, beta, g = (mpf(each) for each in (x, delta, eta, beta, gamma))
        eb = eta * beta
        if g == 0:
            return delta / beta * (1 + eb) ** x * log(1 + eb) - eta * delta
        A, B, I, J, _, _ = letters(eb, g)  # noqa: E741
        fading = (g**2 * g**x * log(g) - (g - 1)) / (g - 1) ** 2
        return eta * delta * (I * (g * A) ** x * log(g * A) + J * (g * B) ** x * log(g * B) - fading)
