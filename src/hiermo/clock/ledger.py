"""Messages and vectors on every kind of link, counted off the plan of a run.

A link is numbered by its lower end: link 0 joins workers to the tier above them. A vector has one number per parameter
of the model; a scalar, such as a stamp, is one number.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hiermo.core.algorithm import Algorithm
from hiermo.core.plan import Merge, Setting, Spread, Survey
from hiermo.core.record import of


class Load(NamedTuple):
    """What crosses one kind of link."""

    messages: int = 0
    vectors: int = 0
    scalars: int = 0

    def plus(self, messages: int, kind: "Load") -> "Load":
        return Load(
            self.messages + messages, self.vectors + messages * kind.vectors, self.scalars + messages * kind.scalars
        )


class Link(NamedTuple):
    up: Load = Load()
    down: Load = Load()


def per_exchange(algorithm: Algorithm, tiers: int) -> tuple[Link, ...]:
    """Vectors and scalars of one exchange on each link, a survey's included.

    >>> from hiermo.algorithms.mime import Mime
    >>> (link,) = per_exchange(Mime(), tiers=2)
    >>> link.up.vectors, link.down.vectors
    (2, 3)
    """
    scalars = _scalars(algorithm)
    asked = () if algorithm.asks is None else algorithm.asks._fields
    links = []
    for k in range(tiers - 1):
        up, down = of(algorithm.up, k)._fields, of(algorithm.down, k)._fields
        links.append(Link(_load((*up, *asked), scalars), _load(down, scalars)))
    return tuple(links)


def count(algorithm: Algorithm, setting: Setting) -> tuple[Link, ...]:
    """Messages, vectors and scalars over all links of a kind, for a whole run; `algorithm` is bound."""
    tree: Any = setting.tree
    scalars = _scalars(algorithm)
    asked = () if algorithm.asks is None else algorithm.asks._fields
    ups, downs = [Load()] * (len(tree.counts) - 1), [Load()] * (len(tree.counts) - 1)
    for event in algorithm.plan(setting):
        match event:
            case Merge(_, tier, children):
                link = tier - 1
                sent = _load(of(algorithm.up, link)._fields, scalars)
                ups[link] = ups[link].plus(_number(children, tree.counts[link]), sent)
            case Spread(_, tier, children):
                nodes = children
                for link in range(tier - 1, -1, -1):
                    # what a survey answers is not known yet: it is counted there
                    fields = [name for name in of(algorithm.down, link)._fields if name not in asked]
                    downs[link] = downs[link].plus(_number(nodes, tree.counts[link]), _load(fields, scalars))
                    nodes = None if nodes is None or link == 0 else tree.children(link, nodes)
            case Survey():
                for link, n in enumerate(tree.counts[:-1]):
                    ups[link] = ups[link].plus(n, _load(asked, scalars))
                    told = [name for name in of(algorithm.down, link)._fields if name in asked]
                    downs[link] = downs[link].plus(n if told else 0, _load(told, scalars))
    return tuple(Link(up, down) for up, down in zip(ups, downs, strict=True))


def _load(fields: Sequence[str], scalars: set[str]) -> Load:
    single = sum(name in scalars for name in fields)
    return Load(1, len(fields) - single, single)


def _scalars(algorithm: Algorithm) -> set[str]:
    """Names of the fields that hold one number, whatever the size of the model."""
    records = algorithm.init(np.zeros(2))
    return {name for record in records for name, field in record._asdict().items() if len(field) == 1}


def _number(nodes: Any, everyone: int) -> int:
    return everyone if nodes is None else len(nodes)
