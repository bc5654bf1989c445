"""A problem may compute with torch: both engines keep its tensors and its precision."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from helpers import ENGINES, assert_same_bits, difference, fields, models
import hiermo
from hiermo.core.plan import Merge, Spread, Step

TREE = hiermo.Tree.from_groups([[0, 3], [1, 2, 4]])
TARGETS, SIZES = [[4.0, 1.0], [8.0, -1.0], [-4.0, 3.0], [16.0, 0.5], [1.0, 1.0]], [1, 3, 2, 5, 4]

SINGLE = 1e-5  # float32 carries 6e-8; some dozens of operations on a contracting problem


class Targets:
    """F_i(x) = |x - target_i|^2 / 2 in float32, with the mean of all models seen as a running statistic."""

    sizes = SIZES

    def __init__(self):
        self.targets = torch.tensor(TARGETS)

    def initial(self, seed):
        return torch.zeros(2)

    def initial_buffers(self, seed):
        return torch.zeros(1)

    def grad(self, seed, t, workers, x, buffers=None):
        if buffers is not None:
            buffers += x.mean(dim=1, keepdim=True)
        return x - self.targets[torch.as_tensor(np.asarray(workers))]

    def full_grad(self, workers, x, buffers=None):
        return self.grad(0, 0, workers, x)


def go(engine, algorithm=None, **options):
    some = {"periods": (2, 2), "iterations": 12, "engine": engine, "every": "iteration", **options}
    return list(hiermo.run(algorithm or hiermo.HierMo(eta=0.1), TREE, Targets(), **some))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_array_stays_a_float32_tensor(engine):
    for state in go(engine):
        assert {(type(value), value.dtype) for value in fields(state).values()} == {(torch.Tensor, torch.float32)}
    assert np.asarray(state.model).shape == (2,)


@pytest.mark.parametrize("engine", ENGINES)
def test_same_numbers_as_numpy_in_double_precision(engine):
    exact = hiermo.Quadratic(A=[np.eye(2)] * 5, b=TARGETS, sizes=SIZES)
    expected = hiermo.run(hiermo.HierMo(eta=0.1), TREE, exact, periods=(2, 2), iterations=12)
    assert difference(models(go(engine, every="cloud")), models(expected)) < SINGLE


def test_engines_agree():
    for stacked, pernode in zip(go("stacked"), go("pernode"), strict=True):
        for name, value in fields(stacked).items():
            assert (value - fields(pernode)[name]).abs().max() <= SINGLE * max(1, value.abs().max()), name


@pytest.mark.parametrize("engine", ENGINES)
def test_going_on_gives_the_same_bits(engine):
    whole = go(engine)
    for done, state in enumerate(whole, start=1):
        for after, expected in zip(go(engine, start=state), whole[done:], strict=True):
            assert_same_bits(after, expected)


@dataclass(frozen=True, kw_only=True)
class Scripted(hiermo.HierFAVG):
    eta: float = 0.5

    def plan(self, setting):
        return iter([Step(1, (0, 1)), Merge(1, 1, (0, 3)), Spread(2, 1, (3,)), Step(2, (2,))])


@pytest.mark.parametrize("engine", ENGINES)
def test_events_of_some_nodes(engine):
    first, second = go(engine, Scripted(), periods=(1, 1), iterations=2)
    # worker 0 is at (2, 0.5) and weighs 1 of 6
    assert first.tiers[0].x[:, 0].tolist() == [2.0, 4.0, 0.0, 0.0, 0.0]
    assert first.tiers[1].x[:, 0].tolist() == pytest.approx([1 / 3, 0.0], rel=SINGLE)
    assert second.tiers[0].x[:, 0].tolist() == pytest.approx([2.0, 4.0, -2.0, 1 / 3, 0.0], rel=SINGLE)


class Overflowing(Targets):
    """The gradient of worker 4 is infinite at iteration 3."""

    def grad(self, seed, t, workers, x, buffers=None):
        g = super().grad(seed, t, workers, x, buffers)
        if t == 3 and 4 in list(workers):
            g[list(workers).index(4)] = torch.inf
        return g


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_is_named(engine):
    with pytest.raises(hiermo.Diverged) as error:
        list(hiermo.run(hiermo.HierMo(), TREE, Overflowing(), periods=(5, 1), iterations=5, engine=engine))
    assert (error.value.what, error.value.tier, error.value.node, error.value.t) == ("the gradient", 0, 4, 3)
