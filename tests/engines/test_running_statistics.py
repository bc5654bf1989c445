"""Running statistics of a model (BatchNorm's) are averaged plainly, whatever the algorithm does to the model."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers import ENGINES, assert_same_bits, quadratic
import hiermo
from hiermo.core.plan import Merge, Spread, Step
from hiermo.engine.state import from_arrays, to_arrays

TREE = hiermo.Tree.from_groups([[0, 1], [2]])
SOME = quadratic(n=3, sizes=[1, 3, 4])


class Counting(hiermo.Quadratic):
    """Statistics `[2]`: each batch adds the worker's number, counted from one, and the iteration."""

    def __init__(self):
        super().__init__(SOME.A, SOME.b, SOME.sizes, SOME.x0)
        self.start = np.array([10.0, 0.0])

    def initial_buffers(self, seed):
        return self.start

    def grad(self, seed, t, workers, x, buffers=None):
        if buffers is not None:
            buffers += np.array([[worker + 1.0, t] for worker in workers])
        return super().grad(seed, t, workers, x)


@dataclass(frozen=True, kw_only=True)
class TwoGradients(hiermo.HierFAVG):
    """Asks for a second gradient in the same iteration, of the same batch."""

    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.eta * (grad(w.x) + grad(down.x)) / 2)


def go(algorithm, engine, **options):
    options |= {"periods": (2, 2), "iterations": 8, "engine": engine}
    return list(hiermo.run(algorithm, TREE, Counting(), **options))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("algorithm", [TwoGradients(), hiermo.HierMo()])
def test_by_hand(algorithm, engine):
    found = {state.t: [tier.tolist() for tier in state.buffers] for state in go(algorithm, engine, every="iteration")}
    start = [10.0, 0.0]
    assert found[1] == [[[11.0, 1.0], [12.0, 1.0], [13.0, 1.0]], [start, start], [start]]
    # edge 0 weighs 1 : 3, (12 + 3 * 14) / 4
    assert found[2] == [[[12.0, 3.0], [14.0, 3.0], [16.0, 3.0]], [[13.5, 3.0], [16.0, 3.0]], [start]]
    # workers went on from their edge's
    assert found[3][0] == [[14.5, 6.0], [15.5, 6.0], [19.0, 6.0]]
    # edges (15.5 + 3 * 17.5) / 4 and 22; the cloud weighs 4 : 4
    assert found[4][1:] == [[[17.0, 10.0], [22.0, 10.0]], [[19.5, 10.0]]]
    # all went on from the cloud's
    assert found[5] == [[[20.5, 15.0], [21.5, 15.0], [22.5, 15.0]], [[19.5, 10.0], [19.5, 10.0]], [[19.5, 10.0]]]


def test_those_of_the_cloud_are_the_models():
    assert go(TwoGradients(), "stacked")[0].model_buffers.tolist() == [19.5, 10.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_start_of_the_problem_is_left_alone(engine):
    problem = Counting()
    list(hiermo.run(hiermo.HierMo(), TREE, problem, periods=(2, 2), iterations=8, engine=engine))
    assert problem.start.tolist() == [10.0, 0.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_going_on_from_saved_arrays_gives_the_same_bits(engine):
    algorithm = hiermo.HierMo()
    whole = go(algorithm, engine, every="iteration")
    for done, state in enumerate(whole, start=1):
        again = from_arrays(algorithm, SOME.x0, TREE.tiers, *to_arrays(state))
        for after, expected in zip(go(algorithm, engine, every="iteration", start=again), whole[done:], strict=True):
            assert_same_bits(after, expected)


class BreaksAfterSix(Counting):
    """Worker 1 has no gradient once its statistics are above 10 + 6 * 2: they decide when, not the iteration."""

    def grad(self, seed, t, workers, x, buffers=None):
        g = super().grad(seed, t, workers, x, buffers)
        for row, worker in enumerate(workers):
            if worker == 1 and buffers[row, 0] > 22:
                g[row] = np.nan
        return g


@pytest.mark.parametrize("engine", ENGINES)
def test_the_search_for_the_broken_iteration_starts_from_the_old_statistics(engine):
    with pytest.raises(hiermo.Diverged) as error:
        list(hiermo.run(hiermo.HierMo(), TREE, BreaksAfterSix(), periods=(10, 1), iterations=10, engine=engine))
    assert (error.value.node, error.value.t) == (1, 7)


@dataclass(frozen=True, kw_only=True)
class OneEdge(hiermo.HierFAVG):
    """Only worker 1, then edge 0, then worker 2 do anything."""

    def plan(self, setting):
        return iter([Step(1, (1,)), Merge(1, 1, (0, 1)), Spread(2, 1, (0,)), Step(2, (2,)), Step(3, (0,))])


@pytest.mark.parametrize("engine", ENGINES)
def test_those_of_nodes_without_an_event_stay(engine):
    options = {"periods": (1, 1), "iterations": 3, "engine": engine, "every": "iteration"}
    found = [[tier[:, 0].tolist() for tier in s.buffers] for s in hiermo.run(OneEdge(), TREE, Counting(), **options)]
    assert found == [
        [[10.0, 12.0, 10.0], [11.5, 10.0], [10.0]],  # (10 + 3 * 12) / 4
        [[11.5, 12.0, 13.0], [11.5, 10.0], [10.0]],
        [[12.5, 12.0, 13.0], [11.5, 10.0], [10.0]],
    ]
