"""Where a delay comes from: a constant, a distribution, or measured samples; each makes a number out of random bits."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import expm1, inf, log1p, sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

OCTAVES, PER_OCTAVE = 40, 256  # of a table of quantiles, towards either end
SHIFT = np.uint64(52 - 8)  # of a float64, whose first bits behind the exponent are the place within an octave
LOW = 2.0 ** (63 - OCTAVES)
FIRST = np.array([LOW]).view(np.uint64)[0] >> SHIFT
REST = (np.uint64(1) << SHIFT) - np.uint64(1)
ENTRIES = OCTAVES * PER_OCTAVE + 2


class Source(Protocol):
    """What draws ask of it."""

    @property
    def mean(self) -> float: ...
    def drawn(self, bits: NDArray[np.uint64]) -> Numbers:
        """A number for each 64 random bits."""
        ...


@dataclass(frozen=True)
class Constant:
    seconds: float

    @property
    def mean(self) -> float:
        return self.seconds

    def drawn(self, bits: NDArray[np.uint64]) -> Numbers:
        return np.full(len(bits), float(self.seconds))


class _ByTable(ABC):
    """A distribution that is drawn by its quantiles."""

    @abstractmethod
    def quantiles(self, p: Numbers, q: Numbers) -> Numbers:
        """Where a share p lies below, and q = 1 - p above."""

    @cached_property
    def table(self) -> Numbers:
        """Quantiles at the places of the lower half, then of the upper, finer and finer towards the ends."""
        places = (np.arange(ENTRIES, dtype=np.uint64) + FIRST) << SHIFT
        outside = np.minimum(places.view(np.float64) * 2.0**-64, 0.5)
        return np.concatenate([self.quantiles(outside, 1 - outside), self.quantiles(1 - outside, outside)])

    def drawn(self, bits: NDArray[np.uint64]) -> Numbers:
        upper = bits >> np.uint64(63)
        outside = (bits & np.uint64(2**63 - 1)).astype(np.float64)  # how far from the end that is nearer
        np.maximum(outside, LOW, out=outside)
        inside = outside.view(np.uint64)
        entry = ((inside >> SHIFT) - FIRST + upper * np.uint64(ENTRIES)).astype(np.intp)
        share = (inside & REST) * 2.0 ** -float(SHIFT)
        here = self.table[entry]
        found: Numbers = here + share * (self.table[entry + 1] - here)
        return found


@dataclass(frozen=True)
class Lognormal(_ByTable):
    """Of a mean, and a coefficient of variation (deviation over mean)."""

    mean: float
    cv: float

    def quantiles(self, p: Numbers, q: Numbers) -> Numbers:
        from scipy.special import ndtri

        variance = log1p(self.cv**2)
        score = np.where(p < q, ndtri(p), -ndtri(q))
        found: Numbers = self.mean * np.exp(sqrt(variance) * score - variance / 2)
        return found

    @property
    def mean_inverse(self) -> float:
        return (1 + self.cv**2) / self.mean


@dataclass(frozen=True)
class Gamma(_ByTable):
    """Of a mean and a coefficient of variation."""

    mean: float
    cv: float

    def quantiles(self, p: Numbers, q: Numbers) -> Numbers:
        from scipy.special import gammainccinv, gammaincinv

        shape = self.cv**-2
        found: Numbers = np.where(p < q, gammaincinv(shape, p), gammainccinv(shape, q)) * self.mean / shape
        return found

    @property
    def mean_inverse(self) -> float:
        return 1 / (self.mean * (1 - self.cv**2)) if self.cv < 1 else inf


@dataclass(frozen=True)
class ShiftedExponential(_ByTable):
    """Never less than the shift, and beyond it exponential."""

    shift: float
    mean: float

    def quantiles(self, p: Numbers, q: Numbers) -> Numbers:
        return self.shift - (self.mean - self.shift) * np.where(p < q, np.log1p(-p), np.log(q))

    @property
    def mean_inverse(self) -> float:
        from scipy.special import hyperu

        beyond = self.mean - self.shift
        return float(hyperu(1, 1, self.shift / beyond) / beyond) if self.shift else inf  # e^r E1(r), r = shift / beyond


@dataclass(frozen=True, eq=False)
class Samples:
    """Measured ones, each as likely as the others."""

    values: Numbers

    @cached_property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def mean_inverse(self) -> float:
        return float(np.mean(1 / self.values))

    def drawn(self, bits: NDArray[np.uint64]) -> Numbers:
        found: Numbers = self.values[_below(bits, len(self.values))]
        return found


@dataclass(frozen=True)
class Times:
    """A source multiplied by a number."""

    source: Any
    factor: float

    @property
    def mean(self) -> float:
        return float(self.factor * self.source.mean)

    def drawn(self, bits: NDArray[np.uint64]) -> Numbers:
        found: Numbers = self.factor * self.source.drawn(bits)
        return found


@dataclass(frozen=True)
class Inverse:
    """Seconds per byte of a bandwidth that varies."""

    source: Any

    @property
    def mean(self) -> float:
        """Of the seconds: a mean bandwidth is not what a mean transfer gets."""
        return float(self.source.mean_inverse)

    def drawn(self, bits: NDArray[np.uint64]) -> Numbers:
        found: Numbers = 1 / self.source.drawn(bits)
        return found


def scaled(source: Any, factor: float) -> Any:
    """A source multiplied by a number; a constant stays one."""
    if factor == 1:
        return source
    return Constant(source.seconds * factor) if isinstance(source, Constant) else Times(source, factor)


def inverse(source: Any) -> Any:
    return Constant(1 / source.seconds) if isinstance(source, Constant) else Inverse(source)


def _below(bits: NDArray[np.uint64], n: int) -> NDArray[np.intp]:
    """A whole number from 0 to n - 1 for each."""
    return ((bits >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.intp)


def sigma_to_cv(sigma: float) -> float:
    """The coefficient of variation of a log-normal whose logarithm has this deviation."""
    return sqrt(expm1(sigma**2))


class Flat(NamedTuple):
    """A source as one list of values: factor times (one over) what is drawn of them."""

    values: Numbers
    samples: bool  # each value as likely; else a table of quantiles
    factor: float = 1.0
    turned: bool = False


def flat_source(source: Any) -> Flat:
    if isinstance(source, Times):
        inner = flat_source(source.source)
        return inner._replace(factor=inner.factor * source.factor)
    if isinstance(source, Inverse):
        return flat_source(source.source)._replace(turned=True)
    if isinstance(source, Constant):
        return Flat(np.array([float(source.seconds)]), samples=True)
    if isinstance(source, Samples):
        return Flat(np.asarray(source.values, float), samples=True)
    return Flat(source.table, samples=False)
