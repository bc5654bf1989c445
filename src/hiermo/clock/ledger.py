"""Messages, vectors and bytes on every kind of link, counted off the plan of a run.

A link is numbered by its lower end: link 0 joins workers to the tier above them. A vector has one number per parameter
of the model; a scalar, such as a stamp, is one number. Bytes are those of the numbers; running statistics of a model
travel with every message of it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hiermo.core.algorithm import Algorithm
from hiermo.core.plan import Event, Merge, Setting, Spread, Survey, reached
from hiermo.core.problem import ModelSize
from hiermo.core.record import of


class Load(NamedTuple):
    """What crosses one kind of link."""

    messages: int = 0
    vectors: int = 0
    scalars: int = 0
    models: int = 0  # messages that carry a model, and its running statistics with it

    def plus(self, messages: int, kind: "Load") -> "Load":
        """With so many of a kind."""
        return Load(
            self.messages + messages * kind.messages,
            self.vectors + messages * kind.vectors,
            self.scalars + messages * kind.scalars,
            self.models + messages * kind.models,
        )

    def bytes(self, model: ModelSize) -> int:
        numbers = self.vectors * model.parameters + self.scalars + self.models * model.statistics
        return numbers * model.item_bytes


class Link(NamedTuple):
    up: Load = Load()
    down: Load = Load()


class Messages(NamedTuple):
    """What one message on a link holds."""

    up: Load
    down: Load  # what a survey answers is not known yet when it is sent: it is counted there
    asked: Load  # an answer to a survey, on its way up
    told: Load  # the mean of the answers, on its way down


def messages_of(algorithm: Algorithm, tiers: int) -> tuple[Messages, ...]:
    """Of every link, lowest first."""
    scalars = _scalars(algorithm)
    asked = () if algorithm.asks is None else algorithm.asks._fields
    found = []
    for k in range(tiers - 1):
        up, down = of(algorithm.up, k)._fields, of(algorithm.down, k)._fields
        told = [name for name in down if name in asked]
        fresh = [name for name in down if name not in asked]
        survey = _load(asked, scalars)
        found.append(
            Messages(
                _load(up, scalars, models=1),
                _load(fresh, scalars, models=1),
                survey if asked else Load(),
                _load(told, scalars) if told else Load(),
            )
        )
    return tuple(found)


def per_exchange(algorithm: Algorithm, tiers: int) -> tuple[Link, ...]:
    """Vectors and scalars of one exchange on each link, a survey's included.

    >>> from hiermo.algorithms.mime import Mime
    >>> (link,) = per_exchange(Mime(), tiers=2)
    >>> link.up.vectors, link.down.vectors
    (2, 3)
    """
    return tuple(
        Link(
            Load(1, up.vectors + asked.vectors, up.scalars + asked.scalars, 1),
            Load(1, down.vectors + told.vectors, down.scalars + told.scalars, 1),
        )
        for up, down, asked, told in messages_of(algorithm, tiers)
    )


class Ledger:
    """Adds events up as they come."""

    def __init__(self, algorithm: Algorithm, tree: Any) -> None:
        self._tree, self._messages = tree, messages_of(algorithm, len(tree.counts))
        self._ups = [Load()] * len(self._messages)
        self._downs = [Load()] * len(self._messages)

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(Link(up, down) for up, down in zip(self._ups, self._downs, strict=True))

    def add(self, event: Event) -> None:
        match event:
            case Merge(_, tier, children):
                self._up(tier - 1, children, self._messages[tier - 1].up)
            case Spread():
                for link, nodes in enumerate(reached(self._tree, event)):
                    self._down(link, nodes, self._messages[link].down)
            case Survey(t, workers):
                whole = Spread(t, len(self._messages), workers=workers)
                for link, nodes in enumerate(reached(self._tree, whole)):
                    self._up(link, nodes, self._messages[link].asked)
                    self._down(link, nodes, self._messages[link].told)

    def _up(self, link: int, nodes: Any, kind: Load) -> None:
        self._ups[link] = self._ups[link].plus(self._number(link, nodes), kind)

    def _down(self, link: int, nodes: Any, kind: Load) -> None:
        self._downs[link] = self._downs[link].plus(self._number(link, nodes), kind)

    def _number(self, link: int, nodes: Any) -> int:
        return int(self._tree.counts[link]) if nodes is None else len(nodes)


def count(algorithm: Algorithm, setting: Setting) -> tuple[Link, ...]:
    """Messages, vectors and scalars over all links of a kind, for a whole run; `algorithm` is bound."""
    ledger = Ledger(algorithm, setting.tree)
    for event in algorithm.plan(setting):
        ledger.add(event)
    return ledger.links


def link_names(tiers: int) -> tuple[str, ...]:
    """What people call the links, lowest first.

    >>> link_names(3), link_names(2)
    (('worker-edge', 'edge-cloud'), ('worker-cloud',))
    """
    below = ["worker", "edge", *(f"tier {k}" for k in range(2, tiers - 1))][: tiers - 1]
    return tuple(f"{lower}-{upper}" for lower, upper in pairwise([*below, "cloud"]))


def _load(fields: Sequence[str], scalars: set[str], models: int = 0) -> Load:
    single = sum(name in scalars for name in fields)
    return Load(1, len(fields) - single, single, models)


def _scalars(algorithm: Algorithm) -> set[str]:
    """Names of the fields that hold one number, whatever the size of the model."""
    records = algorithm.init(np.zeros(2))
    return {name for record in records for name, field in record._asdict().items() if len(field) == 1}
