"""Small algorithms, each wrong in one way, with the checks that must refuse it and words of the sentence."""

from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np

import hiermo
from hiermo.core.parameter import Rate
from hiermo.core.plan import Merge, Spread, Step, Survey
from hiermo.core.record import bound

WRONG: list[tuple[Any, list[str], tuple[str, ...]]] = []  # algorithm, failed checks, words of the first message


def wrong(checks, *words, made=None):
    def remember(kind):
        WRONG.append((kind() if made is None else made(kind), checks.split(", "), words))
        return kind

    return remember


frozen = dataclass(frozen=True, kw_only=True)


@frozen
class Average(hiermo.Algorithm):
    """The one that is right."""

    eta: Rate = 0.1

    up: ClassVar[Any] = hiermo.Model
    down: ClassVar[Any] = hiermo.Model

    def init(self, x):
        return (hiermo.Model(x),)

    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.eta * grad(w.x))

    def merge(self, node, mean):
        return hiermo.Model(mean.x)

    def aggregators(self):
        return (self.merge,)


class Pair(NamedTuple):
    x: Any
    m: Any


class Momentum(NamedTuple):
    m: Any


# the object


@wrong("dataclass", "not a dataclass")
class NotADataclass(hiermo.Algorithm):
    init, step = Average.init, Average.step


@wrong("dataclass", "not frozen")
@dataclass(kw_only=True)
class NotFrozen(hiermo.Algorithm):
    eta: float = 0.1

    init, step = Average.init, Average.step


@wrong("dataclass", "beta", "no @dataclass(frozen=True, kw_only=True) of its own")
class ForgotTheDecorator(Average):
    note: ClassVar[str] = "not a parameter"
    beta: float = 0.5


@wrong("dataclass", "hiermo.Algorithm")
@frozen
class NotAnAlgorithm:
    eta: float = 0.1


@wrong("parameters", "eta", "without its name")
@dataclass(frozen=True)
class Positional(Average):
    eta: float = 0.1


@wrong("parameters", "beta has no default", made=lambda kind: kind(beta=0.5))
@wrong("parameters", "cannot be constructed", "beta", made=lambda kind: kind)
@frozen
class NoDefault(Average):
    beta: float


@wrong("parameters", "cannot be constructed", "step", made=lambda kind: kind)
@frozen
class Abstract(hiermo.Algorithm):
    eta: float = 0.1

    init = Average.init


@wrong("values", "eta must be above 0, not -1.0", made=lambda kind: kind(eta=-1.0))
@wrong("values", "eta must be a number", made=lambda kind: kind(eta="large"))
@frozen
class OutOfRange(Average):
    pass


@wrong("values", "types", "Unknown")
@frozen
class UnknownType(Average):
    beta: "Unknown" = 0.5  # noqa: F821 - that is the mistake


@wrong("eta", "no parameter `eta`")
@frozen
class NoEta(hiermo.Algorithm):
    lr: float = 0.1

    up = down = hiermo.Model
    init = Average.init

    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.lr * grad(w.x))


@wrong("constructor", "changes names", "`bind`")
@frozen
class ConstructorConverts(Average):
    names: Any = ()

    def __post_init__(self):
        object.__setattr__(self, "names", tuple(self.names) if isinstance(self.names, list) else str(self.names))


@wrong("constructor", "looks at eta", "ValueError: too large")
@frozen
class ConstructorChecks(Average):
    def __post_init__(self):
        if not isinstance(self.eta, float) or self.eta > 1:
            raise ValueError("too large")


@wrong("constructor", "also sets twice")
@frozen
class ConstructorComputes(Average):
    def __post_init__(self):
        object.__setattr__(self, "twice", 2)


@wrong("round trip", "pickle", "not equal")
@dataclass(frozen=True, kw_only=True, eq=False)
class NeverEqual(Average):
    __eq__, __hash__ = object.__eq__, object.__hash__


def local():
    @frozen
    class Local(Average):
        pass

    return Local()


wrong("round trip", "pickle", "top of a module", made=lambda kind: local())(None)


@wrong("tiers", "at least 2")
@frozen
class OneTier(Average):
    tiers = 1


# records and messages


@wrong("init", "one record", "(Model(x),)")
@frozen
class OneRecord(Average):
    def init(self, x):
        return hiermo.Model(x)


@wrong("init", "a list")
@frozen
class ListOfRecords(Average):
    def init(self, x):
        return [hiermo.Model(x)]


@wrong("init", "a dict", "NamedTuples")
@frozen
class DictRecord(Average):
    def init(self, x):
        return hiermo.Model(x), {"x": x}


@wrong("init", "n of Counted", "0 * x[:1]")
@frozen
class Counted(Average):
    class Counted(NamedTuple):
        x: Any
        n: Any

    def init(self, x):
        return (self.Counted(x, 0),)


@wrong("init", "highest record", "`x`")
@frozen
class NoModelAtTheTop(Average):
    def init(self, x):
        return hiermo.Model(x), Momentum(x)


@wrong("init", "TypeError", "before `bind`")
@frozen
class InitNeedsBind(Average):
    tau: Any = bound()

    def bind(self, setting):
        return replace(self, tau=setting.periods[0])

    def init(self, x):
        return (hiermo.Model(x / self.tau),)


@wrong("init", "`init` raised ZeroDivisionError")
@frozen
class InitRaises(Average):
    def init(self, x):
        return (hiermo.Model(x * (1 / 0)),)


@wrong("messages", "`up` of link 0", "sends m", "Model")
@frozen
class SendsWhatItLacks(Average):
    up = Pair


@wrong("messages", "`down` of link 0", "sends m")
@frozen
class ReceivesWhatIsNotSent(Average):
    down = Pair


@wrong("messages", "`up` of link 1", "no field for")
@frozen
class SendsForNothing(Average):
    tiers = 3
    up = Pair

    def init(self, x):
        return Pair(x, 0 * x), Pair(x, 0 * x), hiermo.Model(x)

    step = lambda self, w, down, grad: w  # noqa: E731
    aggregators = hiermo.Algorithm.aggregators


@wrong("messages", "`down` of link 1", "shape [10]", "[1]")
@frozen
class OtherShapes(Average):
    tiers = 3
    down = (hiermo.Model, Pair)

    def init(self, x):
        return hiermo.Model(x), Pair(x, 0 * x[:1]), Pair(x, 0 * x)


@wrong("messages", "`asks`", "m", "no aggregator")
@frozen
class AsksForNothing(Average):
    asks = Momentum

    def survey(self, w, down, full_grad):
        return Momentum(full_grad(w.x))


@wrong("messages", "`up`", "AttributeError")
@frozen
class NoUp(hiermo.Algorithm):
    eta: float = 0.1

    down = hiermo.Model
    init, step = Average.init, Average.step


@wrong("messages", "`down` is a list")
@frozen
class ListOfMessages(Average):
    down = [hiermo.Model]  # noqa: RUF012 - that is the mistake


# plans


@frozen
class Planned(Average):
    tiers = 2

    def plan(self, setting):
        yield from self.before(setting)
        for t in range(setting.start + 1, setting.iterations + 1):
            yield Spread(t, 1)
            yield Step(t)
            yield Merge(t, 1)

    def before(self, setting):
        return ()


@wrong("plan", "no end")
@frozen
class Endless(Planned):
    def plan(self, setting):
        return (Step(t) for t in count(1))


@wrong("plan", "tier must be from 1 to 1")
@frozen
class WrongTier(Planned):
    def before(self, setting):
        yield Spread(setting.start + 1, 2)


@wrong("plan", "indices from 0 to 3")
@frozen
class WrongChildren(Planned):
    def before(self, setting):
        yield Spread(setting.start + 1, 1, (3, 4))


@wrong("plan", "named twice")
@frozen
class ChildTwice(Planned):
    def before(self, setting):
        yield Spread(setting.start + 1, 1, [1, 1])


@wrong("plan", "list of indices")
@frozen
class ChildAsANumber(Planned):
    def before(self, setting):
        yield Spread(setting.start + 1, 1, 2)


@wrong("plan", "t must be a whole number")
@frozen
class Beyond(Planned):
    def before(self, setting):
        yield Merge(setting.iterations + 1, 1)


@wrong("plan", "an event is a Spread")
@frozen
class NotAnEvent(Planned):
    def before(self, setting):
        yield "spread"


@wrong("plan", "twice", "batch")
@frozen
class SameIterationTwice(Planned):
    def before(self, setting):
        yield Step(setting.start + 1, (0,))


@wrong("plan", "never merges at the cloud")
@frozen
class NeverMerges(Planned):
    tiers = 3


@wrong("plan", "no `asks`")
@frozen
class SurveyOfNothing(Planned):
    def before(self, setting):
        yield Survey(setting.start + 1)


@wrong("plan", "has no Survey")
@frozen
class NeverAsks(Planned):
    asks = hiermo.Model

    def survey(self, w, down, full_grad):
        return w


@wrong("plan", "`plan` raised KeyError")
@frozen
class PlanRaises(Planned):
    def before(self, setting):
        return {}["before"]


@wrong("horizon", "plan of 1 cloud rounds", "not the beginning of a longer one", "`setting.iterations`")
@frozen
class PlanLooksAhead(Planned):
    def before(self, setting):
        if setting.iterations - setting.start > 3:
            yield Spread(setting.start + 1, 1, (0,))


@wrong("horizon", "begins otherwise", "`bind`")
@frozen
class RateFromTheHorizon(Average):
    rate: Any = bound()

    def bind(self, setting):
        return replace(self, rate=self.eta / setting.iterations)

    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.rate * grad(w.x))


# hooks


@wrong("hooks", "`step` raised RuntimeError: no luck today", "stacked", "2 tiers")
@frozen
class StepRaises(Average):
    def step(self, w, down, grad):
        raise RuntimeError("no luck\n   today")


@wrong("hooks", "`merge` raised", "pernode")
@frozen
class NeedsRows(Average):
    def merge(self, node, mean):
        return hiermo.Model(mean.x[:, :])


@wrong("hooks", "`step` returns a Pair", "Model")
@frozen
class WrongRecord(Average):
    def step(self, w, down, grad):
        return Pair(w.x, grad(w.x))


@wrong("hooks", "`receive` returns nothing", "`return`")
@frozen
class ReturnsNothing(Average):
    def receive(self, w, down):
        w._replace(x=down.x)


@wrong("hooks", "`merge` returns x as a float")
@frozen
class ReturnsANumber(Average):
    def merge(self, node, mean):
        return hiermo.Model(0.0)


@wrong("hooks", "`send` returns x of shape [4]", "one row per node")
@frozen
class LosesAnAxis(Average):
    def send(self, w, down, full_grad):
        return hiermo.Model(w.x.sum(-1))


@wrong("hooks", "`send` returns x of shape [4, 1]", "last axis")
@frozen
class LosesCoordinates(Average):
    def send(self, w, down, full_grad):
        return hiermo.Model(w.x[..., :1])


@wrong("messages", "`aggregators` returns a list", "tuple of rules")
@frozen
class ListOfRules(Average):
    def aggregators(self):
        return [self.merge]


@wrong("init", "`bind` returns nothing")
@frozen
class BindReturnsNothing(Average):
    def bind(self, setting):
        replace(self, eta=0.5)


@wrong("hooks", "`step` raised FrozenInstanceError", "record")
@frozen
class SetsAnAttribute(Average):
    def step(self, w, down, grad):
        self.last = grad(w.x)
        return w


@wrong("hooks", "`survey` returns a Model", "Momentum")
@frozen
class WrongAnswer(Average):
    asks = Momentum

    def init(self, x):
        return hiermo.Model(x), Pair(x, 0 * x)

    def merge(self, node, mean):
        return Pair(mean.x, node.m)

    def survey(self, w, down, full_grad):
        return hiermo.Model(full_grad(w.x))


@wrong("hooks", "`survey` raised TypeError", "no `survey`")
@frozen
class NoAnswer(WrongAnswer):
    survey = hiermo.Algorithm.survey


@wrong("finite", "not finite", "worker 0")
@frozen
class Explodes(Average):
    def step(self, w, down, grad):
        return hiermo.Model(w.x * 1e200)


@wrong("finite", "tier1.m is not finite", "division by zero")
@frozen
class AnswersNaN(WrongAnswer):
    def survey(self, w, down, full_grad):
        return Momentum(0 * w.x / 0)


@wrong("attributes, repeatable", "steps", "record")
@frozen
class KeepsState(Average):
    steps: int = 0

    def step(self, w, down, grad):
        object.__setattr__(self, "steps", self.steps + 1)
        return hiermo.Model(w.x - self.eta / self.steps * grad(w.x))


@wrong("attributes", "seen")
@frozen
class KeepsStateOnItsClass(Average):
    seen: ClassVar[list[Any]] = []

    def step(self, w, down, grad):
        self.seen.append(float(w.x.sum()))
        return super().step(w, down, grad)


@wrong("in place", "`step`", "read-only", "not `x = w.x; x -= d`")
@frozen
class ChangesItsRecord(Average):
    def step(self, w, down, grad):
        x, g = w.x, grad(w.x)
        x -= self.eta * g
        return hiermo.Model(x)


@wrong("in place", "`step`", "read-only")
@frozen
class ChangesTheGradient(Average):
    def step(self, w, down, grad):
        g = grad(w.x)
        g *= self.eta
        return hiermo.Model(w.x - g)


@wrong("in place", "`merge`", "read-only")
@frozen
class ChangesTheMean(Average):
    def merge(self, node, mean):
        np.add(mean.x, node.x, out=mean.x)
        return hiermo.Model(mean.x / 2)


@wrong("dtype", "`step` returns x in float64 for a model in float32", "Python numbers")
@frozen
class Widens(Average):
    def step(self, w, down, grad):
        return hiermo.Model(w.x - np.float64(self.eta) * np.ones(1) * grad(w.x))


@wrong("dtype", "tier0.m is in float64", "`init`")
@frozen
class StartsWide(Average):
    down = Pair

    def init(self, x):
        return Pair(x, np.zeros(len(x))), Pair(x, np.zeros(len(x)))

    def step(self, w, down, grad):
        return w._replace(x=w.x - self.eta * grad(w.x))

    def merge(self, node, mean):
        return node._replace(x=mean.x)


@wrong("repeatable", "second run", "random numbers")
@frozen
class Noisy(Average):
    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.eta * grad(w.x) + float(np.random.normal()))


@wrong("repeatable", "plan", "asked for again")
@frozen
class RandomPlan(Planned):
    def before(self, setting):
        yield Spread(setting.start + 1, 1, np.random.permutation(4))


# relations


@wrong("engines", "engines disagree", "first axis")
@frozen
class MixesNodes(Average):
    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.eta * grad(w.x) / (1 + abs(w.x).max()))


@wrong("engines, siblings, copies", "engines disagree", "first axis")
@frozen
class DependsOnTheOrder(Average):
    def step(self, w, down, grad):
        rank = np.arange(len(w.x), dtype=w.x.dtype).reshape(-1, *[1] * (w.x.ndim - 1))
        return hiermo.Model(w.x - self.eta * grad(w.x) / (1 + rank))


MEMORY = {}  # outside of records, and begun anew by every `bind`


@wrong("resume", "goes on from iteration 3", "must be in records")
@frozen
class HiddenMemory(Average):
    def bind(self, setting):
        MEMORY.clear()
        return self

    def send(self, w, down, full_grad):
        MEMORY["sent"] = True
        return w

    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.eta / (2 if MEMORY else 1) * grad(w.x))


@wrong("copies", "4 copies", "how many nodes")
@frozen
class SumsItsChildren(Average):
    n: Any = bound()

    def bind(self, setting):
        return replace(self, n=setting.tree.counts[0])

    def merge(self, node, mean):
        return hiermo.Model(self.n * mean.x)
