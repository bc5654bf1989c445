"""Every rule of every algorithm in every variant, with numbers away from 0, 1 and one another."""

from itertools import product
from types import NoneType
from typing import Literal, NamedTuple, get_args, get_origin

import torch

from hiermo import Tree
from hiermo.algorithms import ALGORITHMS
from hiermo.core.algorithm import Algorithm
from hiermo.core.parameter import options
from hiermo.core.plan import Setting
from hiermo.core.record import of, pick

NAMES = list(ALGORITHMS.builtin)
TREES = {2: Tree.branching(6), 3: Tree.regular(edges=3, workers_per_edge=2)}


class Rule(NamedTuple):
    """A hook of an algorithm; `records` are what it is given, for one node, with vectors of the right sizes."""

    name: str
    call: object
    records: tuple
    asks: bool  # for gradients

    def on(self, records, gradient):
        return self.call(*records, gradient) if self.asks else self.call(*records)


def variants(name):
    """Bound to a setting."""
    kind = ALGORITHMS.get(name)
    hints = options(kind)
    for values in product(*(_choices(hint, 0.11 + 0.07 * k) for k, hint in enumerate(hints.values()))):
        algorithm = kind(**dict(zip(hints, values, strict=True)))
        tree = TREES[algorithm.tiers or 3]
        yield algorithm.bind(Setting(tree, (3, 2)[: tree.tiers - 1], 12))


def _choices(hint, number):
    if get_origin(hint) is Literal:
        return get_args(hint)
    if hint is bool:
        return False, True
    return (None, number) if NoneType in get_args(hint) else (number,)


def rules_of(algorithm, d=3):
    """On models of d numbers."""
    records = algorithm.init(torch.zeros(d))
    worker, above = of(records, 0), of(records, 1)
    down = pick(of(algorithm.down, 0), above)
    found = [(algorithm.step, (worker, down), True), (algorithm.receive, (worker, down), False)]
    if type(algorithm).send is not Algorithm.send:
        found.append((algorithm.send, (worker, down), True))
    if algorithm.asks is not None:
        found.append((algorithm.survey, (worker, down), True))
    for k, rule in enumerate(algorithm.aggregators()):
        found.append((rule, (of(records, k + 1), pick(of(algorithm.up, k), of(records, k))), False))
    return [Rule(f"{type(algorithm).__name__}.{rule.__name__}", rule, *rest) for rule, *rest in found]


def filled(record, dtype, rows=()):
    """Like a record, for so many nodes, with random numbers."""
    return type(record)(*(torch.randn(*rows, *field.shape, dtype=dtype) for field in record))
