"""A plan may step, merge and spread some nodes only: the others stay as they were."""

from dataclasses import dataclass

import pytest

from helpers import ENGINES, assert_same_bits
import hiermo
from hiermo.core.plan import Merge, Spread, Step
from hiermo.core.record import adopt

TREE = hiermo.Tree.from_groups([[0, 1], [2, 3]])

# with eta = 1/2 a step goes half of the way to the worker's target; all numbers below are exact in binary
PROBLEM = hiermo.Quadratic(A=[[[1.0]]] * 4, b=[[4.0], [8.0], [-4.0], [16.0]], sizes=[1, 3, 1, 1])


@dataclass(frozen=True, kw_only=True)
class Scripted(hiermo.HierFAVG):
    """Averages at the edges; the cloud goes half of the way to the mean of those that came."""

    eta: float = 0.5
    events: tuple = ()

    def halfway(self, node, mean):
        return hiermo.Model((node.x + mean.x) / 2)

    def aggregators(self):
        return adopt, self.halfway

    def plan(self, setting):
        return iter(self.events)


def go(events, engine, tree=TREE, every="cloud", **options):
    options |= {"periods": (1,) * (tree.tiers - 1), "iterations": 3, "engine": engine, "every": every}
    return list(hiermo.run(Scripted(events=events), tree, PROBLEM, **options))


def numbers(state):
    """The models of workers, edges and cloud, then what the teams received last."""
    return *(tier.x[:, 0].tolist() for tier in state.tiers), state.down.x[:, 0].tolist()


ONE_EDGE_AFTER_THE_OTHER = (
    *(Spread(1, 2, (0,)), Step(1, (0, 1)), Merge(1, 1, (0, 1)), Merge(1, 2, (0,))),
    *(Spread(1, 2, (1,)), Step(1, (2, 3)), Merge(1, 1, (2, 3)), Merge(1, 2, (1,))),
    *(Spread(2, 2, (0,)), Step(2, (0, 1)), Merge(2, 1, (0, 1)), Merge(2, 2, (0,))),
)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_edge_after_the_other(engine):
    first, second, third = go(ONE_EDGE_AFTER_THE_OTHER, engine)
    # edge 0: (1 * 2 + 3 * 4) / 4 = 3.5, of which the cloud goes half
    assert numbers(first) == ([2.0, 4.0, 0.0, 0.0], [3.5, 0.0], [1.75], [0.0, 0.0])
    # edge 1 starts from 1.75: (-1.125 + 8.875) / 2 = 3.875; edge 0 and its workers are as they were
    assert numbers(second) == ([2.0, 4.0, -1.125, 8.875], [3.5, 3.875], [2.8125], [0.0, 1.75])
    # edge 0 starts from 2.8125; edge 1 and its workers are as they were
    assert numbers(third) == ([3.40625, 5.40625, -1.125, 8.875], [4.90625, 3.875], [3.859375], [2.8125, 1.75])
    assert [(state.t, state.rounds, state.position) for state in (first, second, third)] == [
        *((1, 1, 4), (1, 2, 8), (2, 3, 12)),
    ]


SOME_WORKERS = (
    *(Step(1, (0, 2)), Merge(1, 1, (0, 2, 3)), Merge(1, 2, (1,))),
    *(Spread(2, 1, (1, 3)), Step(2), Merge(2, 1, (1,))),
    *(Spread(3, 2), Step(3, (3,))),
)


@pytest.mark.parametrize("engine", ENGINES)
def test_some_workers_of_each_edge(engine):
    first, second, third = go(SOME_WORKERS, engine, every="iteration")
    # workers 0 and 2 move; edge 0 hears of worker 0 alone and gives it all the weight, the cloud of edge 1 alone
    assert numbers(first)[:3] == ([2.0, 0.0, -2.0, 0.0], [2.0, -1.0], [-0.5])
    # workers 1 and 3 receive 2 and -1, then all move; worker 1 alone climbs and edge 1 is as it was
    assert numbers(second)[:3] == ([3.0, 5.0, -3.0, 7.5], [5.0, -1.0], [-0.5])
    # all receive the cloud's model, and worker 3 alone moves
    assert numbers(third) == ([-0.5, -0.5, -0.5, 7.75], [-0.5, -0.5], [-0.5], [-0.5, -0.5])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_spread_reaches_all_below_and_nobody_else(engine):
    tree = hiermo.Tree.from_parents((1, 0, 1, 2), (1, 0, 1), (0, 0))  # node 1 has the edges 0 and 2, of workers 1, 3
    events = (Step(1), Merge(1, 1), Merge(1, 2), Merge(1, 3), Spread(2, 3, (1,)), Step(2, (0,)))
    before, after = go(events, engine, tree=tree, every="iteration")
    workers, edges, nodes, (cloud,) = (tier.x[:, 0].tolist() for tier in before.tiers)
    assert cloud not in {*workers, *edges, *nodes}
    w, e, n, c = (tier.x[:, 0].tolist() for tier in after.tiers)
    assert w == [(workers[0] + 4.0) / 2, cloud, workers[2], cloud]
    assert e == [cloud, edges[1], cloud]
    assert n == [nodes[0], cloud]
    assert c == [cloud]
    assert after.down.x[:, 0].tolist() == [cloud, 0.0, cloud]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("events", [ONE_EDGE_AFTER_THE_OTHER, SOME_WORKERS])
def test_going_on_gives_the_same_bits(events, engine):
    whole = go(events, engine, every="iteration")
    for done, state in enumerate(whole, start=1):
        for after, expected in zip(go(events, engine, every="iteration", start=state), whole[done:], strict=True):
            assert_same_bits(after, expected)
