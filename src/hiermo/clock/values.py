"""What TOML says of one delay: a number of seconds, a distribution, or a link with its latency and bandwidth."""

from dataclasses import dataclass
from math import exp
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from hiermo.clock.sources import Constant, Gamma, Lognormal, Samples, ShiftedExponential, inverse, scaled, sigma_to_cv
from hiermo.core.errors import UserError
from hiermo.core.parameter import Range, Rate, Seconds, Weight, faults, suggestion


class Way(NamedTuple):
    """One direction of a link: a latency in seconds, and seconds per byte."""

    latency: Any = Constant(0.0)
    per_byte: Any = Constant(0.0)
    shared: bool = False  # the bandwidth is the parent's, for all its children together


@dataclass(frozen=True, kw_only=True)
class Speed:
    """A device that computes at this pace: how long an iteration takes depends on the model."""

    flops_per_s: Rate
    cv: Weight = 0.0

    def source(self, work: float) -> Any:
        return _lognormal(work / self.flops_per_s, self.cv)


@dataclass(frozen=True, kw_only=True)
class _Constant:
    seconds: Seconds

    def source(self) -> Any:
        return Constant(float(self.seconds))


@dataclass(frozen=True, kw_only=True)
class _Lognormal:
    mean: Rate | None = None
    median: Rate | None = None
    cv: Weight | None = None
    sigma: Weight | None = None

    def source(self) -> Any:
        if (self.mean is None) == (self.median is None) or (self.cv is None) == (self.sigma is None):
            raise UserError("a lognormal needs mean or median, and cv or sigma")
        cv = sigma_to_cv(self.sigma) if self.sigma is not None else float(self.cv or 0)
        mean = self.mean if self.mean is not None else float(self.median or 0) * exp(np.log1p(cv**2) / 2)
        return _lognormal(mean, cv)


@dataclass(frozen=True, kw_only=True)
class _Gamma:
    mean: Rate
    cv: Annotated[float, Range(ge=0, le=30)]  # beyond it next to all draws are zero

    def source(self) -> Any:
        return Gamma(self.mean, self.cv) if self.cv else Constant(self.mean)


@dataclass(frozen=True, kw_only=True)
class _ShiftedExponential:
    shift: Seconds = 0.0
    mean: Seconds

    def source(self) -> Any:
        if self.mean < self.shift:
            raise UserError(f"mean = {self.mean} is less than shift = {self.shift}, which every delay exceeds")
        return ShiftedExponential(self.shift, self.mean) if self.mean > self.shift else Constant(self.mean)


@dataclass(frozen=True, kw_only=True)
class _Samples:
    seconds: tuple[Seconds, ...]

    def source(self) -> Any:
        if not self.seconds:
            raise UserError("there is no sample")
        return Samples(np.array(self.seconds, float))


KINDS: dict[str, Any] = {
    "constant": _Constant,
    "lognormal": _Lognormal,
    "gamma": _Gamma,
    "shifted_exponential": _ShiftedExponential,
    "samples": _Samples,
    "speed": Speed,
}


@dataclass(frozen=True, kw_only=True)
class LinkTable:
    """A link: what is not said of one direction is said of both. Bandwidths are in bytes per second."""

    latency_s: Any = 0.0  # one way
    bandwidth: Any = None
    up_bandwidth: Any = None
    down_bandwidth: Any = None
    up_s: Any = None  # a delay as such, whatever the size of the message
    down_s: Any = None
    shared: bool | Literal["up", "down"] = False  # the parent's bandwidth, for all its children together


def parse_source(value: Any, at: str, *, speed: bool = False) -> Any:
    """A number of seconds, or a table whose `kind` is a distribution; `speed` admits that of a device."""
    known = [kind for kind in KINDS if speed or kind != "speed"]
    if not isinstance(value, dict):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise UserError(f"{at} must be a number of seconds of at least 0, or a distribution, not {value!r}")
        return Constant(float(value))
    kind = value.get("kind")
    if kind not in known:
        shown = "is missing" if kind is None else f"must not be {kind!r}{suggestion(str(kind), known)}"
        raise UserError(f"{at}.kind {shown}: name one of {', '.join(known)}")
    own = {key: each for key, each in value.items() if key != "kind"}
    wrong = [
        f"{at}.{name} {what}".replace(f"a parameter of {KINDS[kind].__name__}", f"a key of a {kind}")
        for name, what in faults(KINDS[kind], own)
    ]
    if wrong:
        raise UserError("\n".join(each.replace(KINDS[kind].__name__, f"a {kind}") for each in wrong))
    made = KINDS[kind](**own)
    if kind == "speed":
        return made
    try:
        return made.source()
    except UserError as error:
        raise UserError(f"{at}: {error}") from None


def parse_link(value: Any, at: str) -> tuple[Way, Way]:
    """(up, down); a number or a distribution is there and back, and half of it each way."""
    if not isinstance(value, dict) or "kind" in value:
        return both_ways(Way(scaled(parse_source(value, at), 0.5)))
    if wrong := faults(LinkTable, value):
        shown = [f"{at}.{name} {what}".replace("a parameter of LinkTable", "a key of a link") for name, what in wrong]
        raise UserError("\n".join(shown))
    table = LinkTable(**value)
    ways = []
    for direction in ("up", "down"):
        as_such, own = getattr(table, f"{direction}_s"), getattr(table, f"{direction}_bandwidth")
        bandwidth, key = (own, f"{direction}_bandwidth") if own is not None else (table.bandwidth, "bandwidth")
        if as_such is not None and own is not None:
            raise UserError(f"{at}: {direction}_s is a delay as such: it goes without {direction}_bandwidth")
        if as_such is not None:
            ways.append(Way(parse_source(as_such, f"{at}.{direction}_s")))
            continue
        shared = table.shared is True or table.shared == direction
        per_byte = Constant(0.0) if bandwidth is None else _per_byte(bandwidth, f"{at}.{key}")
        if shared and (bandwidth is None or not isinstance(per_byte, Constant)):
            raise UserError(f"{at}.shared needs a bandwidth that is a number")
        ways.append(Way(parse_source(table.latency_s, f"{at}.latency_s"), per_byte, shared))
    return ways[0], ways[1]


def both_ways(way: Way) -> tuple[Way, Way]:
    return way, way


def _per_byte(bandwidth: Any, at: str) -> Any:
    source = parse_source(bandwidth, at)
    smallest = source.values.min() if isinstance(source, Samples) else source.mean
    if smallest <= 0:
        raise UserError(f"{at} must be above 0: it is in bytes per second")
    return inverse(source)


def _lognormal(mean: float, cv: float) -> Any:
    return Lognormal(mean, cv) if cv and mean else Constant(mean)
