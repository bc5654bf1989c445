"""`survey`, `send` and `receive` against plain loops of a two-tier algorithm that uses each."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from helpers import ENGINES, ROUNDING, difference, models, quadratic
import hiermo

PROBLEM = quadratic(n=5)
A, B, SHARES = PROBLEM.A, PROBLEM.b, PROBLEM.sizes / PROBLEM.sizes.sum()
FLAT, TWO_EDGES = hiermo.Tree.branching(5), hiermo.Tree.from_groups([[0, 3], [1, 2, 4]])
ETA, TAU, ROUNDS = 0.05, 3, 4


def gradient(i, x):
    return A[i] @ x - B[i]


def mean(vectors):
    return sum(share * vector for share, vector in zip(SHARES, vectors, strict=True))


def go(algorithm, engine, tree=FLAT):
    periods = (TAU, *(1,) * (tree.tiers - 2))
    return list(hiermo.run(algorithm, tree, PROBLEM, periods=periods, iterations=TAU * ROUNDS, engine=engine))


class Server(NamedTuple):
    x: Any
    c: Any  # full gradient at the model of this round
    m: Any


class Answer(NamedTuple):
    c: Any


@dataclass(frozen=True, kw_only=True)
class AsksForGradient(hiermo.Algorithm):
    """Like Mime: steps are corrected by the full gradient at the round's model, and carry the server's momentum."""

    up, down, asks = hiermo.Model, Server, Answer

    def init(self, x):
        return hiermo.Model(x), Server(x, 0 * x, 0 * x)

    def survey(self, w, down, full_grad):
        return Answer(full_grad(w.x))

    def step(self, w, down, grad):
        return hiermo.Model(w.x - ETA * (grad(w.x) - grad(down.x) + down.c + down.m))

    def server(self, node, mean):
        return Server(mean.x, node.c, 0.5 * node.m + node.c)

    def aggregators(self):
        return (self.server,)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tree", [FLAT, TWO_EDGES])  # one more tier with pi = 1 averages the same
def test_survey(engine, tree):
    x, m, expected = PROBLEM.x0, 0 * PROBLEM.x0, []
    for _ in range(ROUNDS):
        c = mean([gradient(i, x) for i in range(5)])
        workers = [x] * 5
        for _ in range(TAU):
            workers = [w - ETA * (gradient(i, w) - gradient(i, x) + c + m) for i, w in enumerate(workers)]
        x, m = mean(workers), 0.5 * m + c
        expected.append((x, c, m))
    found = [tuple(field[0] for field in state.tiers[-1]) for state in go(AsksForGradient(), engine, tree)]
    assert difference(found, expected) < ROUNDING


class Sender(NamedTuple):
    x: Any
    gain: Any


class Gain(NamedTuple):
    gain: Any


@dataclass(frozen=True, kw_only=True)
class SendsGain(hiermo.Algorithm):
    """Workers send how far they went, less a full gradient at where they are; the server goes half as far again."""

    up, down = Gain, hiermo.Model

    def init(self, x):
        return Sender(x, 0 * x), hiermo.Model(x)

    def step(self, w, down, grad):
        return w._replace(x=w.x - ETA * grad(w.x))

    def send(self, w, down, full_grad):
        return w._replace(gain=w.x - down.x - ETA * full_grad(w.x))

    def server(self, node, mean):
        return hiermo.Model(node.x + 1.5 * mean.gain)

    def aggregators(self):
        return (self.server,)


@pytest.mark.parametrize("engine", ENGINES)
def test_send(engine):
    x, expected, sent = PROBLEM.x0, [], []
    for _ in range(ROUNDS):
        workers = [x] * 5
        for _ in range(TAU):
            workers = [w - ETA * gradient(i, w) for i, w in enumerate(workers)]
        sent.append([w - x - ETA * gradient(i, w) for i, w in enumerate(workers)])
        x = x + 1.5 * mean(sent[-1])
        expected.append(x)
    states = go(SendsGain(), engine)
    assert difference(models(states), expected) < ROUNDING
    assert difference([state.tiers[0].gain for state in states], sent) < ROUNDING  # what was sent is stored


class Rolling(NamedTuple):
    x: Any
    m: Any


@dataclass(frozen=True, kw_only=True)
class Forgets(hiermo.Algorithm):
    """Heavy ball at the workers, whose momentum ends with the round."""

    up = down = hiermo.Model

    def init(self, x):
        return Rolling(x, 0 * x), hiermo.Model(x)

    def step(self, w, down, grad):
        m = 0.5 * w.m + grad(w.x)
        return Rolling(w.x - ETA * m, m)

    def receive(self, w, down):
        return Rolling(down.x, 0 * w.m)


def heavy_ball(keep):
    x, m, found = PROBLEM.x0, np.zeros((5, 3)), []
    for _ in range(ROUNDS):
        workers, m = [x] * 5, keep * m
        for _ in range(TAU):
            m = 0.5 * m + np.array([gradient(i, w) for i, w in enumerate(workers)])
            workers = [w - ETA * m[i] for i, w in enumerate(workers)]
        x = mean(workers)
        found.append(x)
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_receive(engine):
    found = models(go(Forgets(), engine))
    assert difference(found, heavy_ball(keep=0)) < ROUNDING
    assert difference(found, heavy_ball(keep=1)) > 1e-3  # the reset matters here
