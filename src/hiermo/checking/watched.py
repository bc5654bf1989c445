"""An algorithm whose hooks are looked at while an engine runs it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from hiermo.checking.fault import Fault, naming, shown
from hiermo.core.algorithm import Algorithm, Gradient, Rule
from hiermo.core.plan import Event, Setting

AXES = "a rule gets [d] or [n, d], and reduces along the last axis alone, keeping it"


class Watched(Algorithm):
    """Hands every call on; an error names its hook, and what a hook returns must fit the tier.

    `locked` hands out arrays that cannot be written to; `keeps_dtype` looks at the type of numbers too.
    """

    def __init__(self, inner: Algorithm, *, locked: bool = False, keeps_dtype: bool = False, bound: bool = False):
        self.inner, self.locked, self.keeps_dtype, self.bound = inner, locked, keeps_dtype, bound

    @property
    def up(self) -> Any:
        with naming("up"):
            return self.inner.up

    @property
    def down(self) -> Any:
        with naming("down"):
            return self.inner.down

    @property
    def asks(self) -> Any:
        with naming("asks"):
            return self.inner.asks

    def bind(self, setting: Setting) -> "Watched":
        if self.bound:
            return self
        with naming("bind"):
            bound: Any = self.inner.bind(setting)
        if type(bound) is not type(self.inner):
            raise Fault(f"`bind` returns {shown(bound)}: it must return self or replace(self, ...)")
        return Watched(bound, locked=self.locked, keeps_dtype=self.keeps_dtype, bound=True)

    def present(self, share: Any) -> "Watched":
        with naming("present"):
            inner: Any = self.inner.present(share)
        return Watched(inner, locked=self.locked, keeps_dtype=self.keeps_dtype, bound=self.bound)

    def plan(self, setting: Setting) -> Iterator[Event]:
        with naming("plan"):
            yield from self.inner.plan(setting)

    def init(self, x: Any) -> tuple[Any, ...]:
        with naming("init"):
            return self.inner.init(_locked(x) if self.locked else x)

    def step(self, w: Any, down: Any, grad: Gradient) -> Any:
        return self.fits("step", self.call("step", self.inner.step, w, down, grad=grad), w)

    def send(self, w: Any, down: Any, full_grad: Gradient) -> Any:
        return self.fits("send", self.call("send", self.inner.send, w, down, grad=full_grad), w)

    def receive(self, w: Any, down: Any) -> Any:
        return self.fits("receive", self.call("receive", self.inner.receive, w, down), w)

    def aggregators(self) -> tuple[Rule, ...]:
        with naming("aggregators"):
            rules: Any = self.inner.aggregators()
        if type(rules) is not tuple or not rules or not all(map(callable, rules)):
            raise Fault(
                f"`aggregators` returns {shown(rules)}: it must return a tuple of rules, as in `return (self.merge,)`"
            )
        return tuple(partial(self.merge, rule) for rule in rules)

    def merge(self, rule: Rule, node: Any, mean: Any) -> Any:
        hook = getattr(rule, "__name__", "aggregators")
        return self.fits(hook, self.call(hook, rule, node, mean), node)

    def survey(self, w: Any, down: Any, full_grad: Gradient) -> Any:
        answer = self.call("survey", self.inner.survey, w, down, grad=full_grad)
        if type(answer) is not self.asks:
            raise Fault(f"`survey` returns {shown(answer)} where `asks` promises a {self.asks.__name__}")
        for name, value in answer._asdict().items():
            self.array("survey", name, value, w[0].shape[:-1], w[0].dtype)
        return answer

    def call(self, hook: str, rule: Any, *records: Any, grad: Gradient | None = None) -> Any:
        if self.locked:
            records = tuple(type(record)(*map(_locked, record)) for record in records)
            grad = grad and partial(_locked_gradient, grad)
        with naming(hook):
            return rule(*records) if grad is None else rule(*records, grad)

    def fits(self, hook: str, new: Any, old: Any) -> Any:
        """`new`, where it is a record like `old`, its shapes included."""
        if type(new) is not type(old):
            raise Fault(f"`{hook}` returns {shown(new)} where that tier keeps a {type(old).__name__}, as `init` says")
        for name, value, before in zip(old._fields, new, old, strict=True):
            self.array(hook, name, value, before.shape[:-1], before.dtype)
            if value.shape != before.shape:
                shapes = f"{list(value.shape)} where that tier keeps {list(before.shape)}"
                raise Fault(f"`{hook}` returns {name} of shape {shapes}; {AXES}")
        return new

    def array(self, hook: str, name: str, value: Any, nodes: tuple[int, ...], dtype: Any) -> None:
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            raise Fault(f"`{hook}` returns {name} as {shown(value)}, not as an array; start from 0 * x or 0 * x[:1]")
        if value.ndim != len(nodes) + 1 or value.shape[:-1] != nodes:
            raise Fault(f"`{hook}` returns {name} of shape {list(value.shape)}, which is not one row per node; {AXES}")
        if self.keeps_dtype and value.dtype != dtype:
            raise Fault(
                f"`{hook}` returns {name} in {value.dtype} for a model in {dtype}; a constant array or a numpy number "
                "widens it: use Python numbers, and 0 * x for zeros"
            )


def _locked(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _locked_gradient(grad: Gradient, x: Any) -> Any:
    return _locked(grad(x))
