"""What TOML says of one delay: a number of seconds, a distribution, or a link with its latency and bandwidth."""

from dataclasses import dataclass
from math import exp, inf, isfinite
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from hiermo.clock.sources import Constant, Gamma, Lognormal, Samples, ShiftedExponential, inverse, scaled, sigma_to_cv
from hiermo.core.errors import UserError
from hiermo.core.parameter import Range, Rate, Seconds, faults, suggestion


class Way(NamedTuple):
    """One direction of a link: a latency in seconds, and seconds per byte."""

    latency: Any = Constant(0.0)
    per_byte: Any = Constant(0.0)
    shared: bool = False  # the bandwidth is the parent's, for all its children together


SLOWEST = 1e-9  # bytes per second that count as more than none: their inverse is a number
Variation = Annotated[float, Range(ge=0, le=1000)]  # deviation over mean; beyond it floats overflow before long


@dataclass(frozen=True, kw_only=True)
class Speed:
    """A device that computes at this pace: how long an iteration takes depends on the model."""

    flops_per_s: Rate
    cv: Variation = 0.0

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
    cv: Variation | None = None
    sigma: Annotated[float, Range(ge=0, le=3.7)] | None = None  # a cv of about 1000

    def source(self) -> Any:
        if (self.mean is None) == (self.median is None) or (self.cv is None) == (self.sigma is None):
            raise UserError("a lognormal needs mean or median, and cv or sigma")
        cv = sigma_to_cv(self.sigma) if self.sigma is not None else float(self.cv or 0)
        mean = self.mean if self.mean is not None else float(self.median or 0) * exp(np.log1p(cv**2) / 2)
        if not isfinite(mean):
            raise UserError(f"median = {self.median} makes a mean beyond all numbers")
        return _lognormal(float(mean), cv)


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


def parse_source(value: Any, at: str, *, speed: bool = False, of: str = "seconds") -> Any:
    """A number of seconds, or a table whose `kind` is a distribution; `speed` admits that of a device."""
    known = [kind for kind in KINDS if speed or kind != "speed"]
    if not isinstance(value, dict):
        value = _within_floats(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise UserError(f"{at} must be a number of {of} of at least 0, or a distribution, not {value!r}")
        return Constant(float(value))
    kind = value.get("kind")
    if kind not in known:
        shown = "is missing" if kind is None else f"must not be {kind!r}{suggestion(str(kind), known)}"
        raise UserError(f"{at}.kind {shown}: name one of {', '.join(known)}")
    own = {key: _within_floats(each) for key, each in value.items() if key != "kind"}
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
        half = Way(scaled(parse_source(value, at), 0.5))
        return half, half
    if misfits := faults(LinkTable, value):
        shown = [f"{at}.{name} {what}".replace("a parameter of LinkTable", "a key of a link") for name, what in misfits]
        raise UserError("\n".join(shown))
    table = LinkTable(**value)
    read: dict[str, Any] = {}
    wrong = []
    for key in ("latency_s", "bandwidth", "up_bandwidth", "down_bandwidth", "up_s", "down_s"):
        try:
            if (given := getattr(table, key)) is not None:
                read[key] = (_per_byte if "bandwidth" in key else parse_source)(given, f"{at}.{key}")
        except UserError as error:
            wrong.append(str(error))
    if wrong:
        raise UserError("\n".join(wrong))
    ways = []
    for direction in ("up", "down"):
        as_such, own = read.get(f"{direction}_s"), read.get(f"{direction}_bandwidth")
        if as_such is not None and own is not None:
            raise UserError(f"{at}: {direction}_s is a delay as such: it goes without {direction}_bandwidth")
        if as_such is not None:
            ways.append(Way(as_such))
            continue
        shared = table.shared is True or table.shared == direction
        per_byte = own or read.get("bandwidth")
        if shared and not isinstance(per_byte, Constant):
            raise UserError(f"{at}.shared needs a bandwidth that is a number")
        ways.append(Way(read.get("latency_s", Constant(0.0)), per_byte or Constant(0.0), shared))
    return ways[0], ways[1]


def _within_floats(value: Any) -> Any:
    """TOML has whole numbers of any length: those that no float can hold are as good as infinite."""
    if isinstance(value, (list, tuple)):
        return [_within_floats(each) for each in value]
    return (inf if value > 0 else -inf) if type(value) is int and abs(value) > 10**308 else value


def _per_byte(bandwidth: Any, at: str) -> Any:
    source = parse_source(bandwidth, at, of="bytes per second")
    smallest = source.values.min() if isinstance(source, Samples) else source.mean
    if smallest < SLOWEST:
        raise UserError(f"{at} must be above 0: it is in bytes per second")
    found = inverse(source)
    if not isfinite(found.mean):
        raise UserError(f"{at} comes so near to 0 that a message takes for ever on average; let it vary less")
    return found


def _lognormal(mean: float, cv: float) -> Any:
    return Lognormal(mean, cv) if cv and mean else Constant(mean)
