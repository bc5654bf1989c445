import by_hand
from by_hand import PROBLEM
import numpy as np
import pytest

from helpers import ENGINES, ROUNDING, difference, models
from hiermo import CFL, Clock, Delays, Tree, run
from hiermo.algorithms.cfl import Stamped
from hiermo.core.plan import Merge, Setting, Spread, Step
from hiermo.core.problem import ModelSize
from hiermo.engine.loop import Loop, begin
from hiermo.engine.run import ENGINES as KINDS

TREE = Tree.from_groups(by_hand.GROUPS)
SETTING = Setting(TREE, periods=(2, 2), iterations=40, seed=3)


def setting(**changes):
    return SETTING._replace(**changes)


def paced(pace):
    """Delays with which an iteration takes this long under each edge, and nothing else takes any time."""
    workers = TREE.parents[0].tolist()
    devices = [{"nodes": [f"worker {i}"], "compute": pace[ell]} for i, ell in enumerate(workers)]
    return Clock(Delays.of_table({"device": devices}))


def timed(pace=None, **changes):
    """A setting with edges of these speeds."""
    plain = setting(**changes)
    return plain if pace is None else plain._replace(clock=paced(pace).of_run(CFL().bind(plain), plain, ModelSize(1)))


def by_time(pace, iterations):
    """The edges in the order of their arrivals every 4 iterations, until the workers have made `iterations` each."""
    sizes, done, found = [len(group) for group in by_hand.GROUPS], 0, []
    for _, ell in sorted((p * pace[ell], ell) for p in range(1, 100) for ell in range(3)):
        if done < iterations * sum(sizes):
            found.append(ell)
            done += 4 * sizes[ell]
    return found


def arrivals(algorithm, setting):
    """The edges in their order at the cloud."""
    merges = [event for event in algorithm.plan(setting) if isinstance(event, Merge) and event.tier == 2]
    return [edge for merge in merges for edge in merge.children]


def weight_at(algorithm, staleness):
    """Of an edge at 1 that arrives at a cloud at 0."""
    bound = algorithm.bind(SETTING)
    cloud, edge = Stamped(np.zeros(1), n=np.array([9.0])), Stamped(np.ones(1), n=np.array([10.0 - staleness]))
    found = bound.cloud(cloud, edge)
    assert found.n.tolist() == [10]
    return float(found.x[0])


@pytest.mark.parametrize(("groups", "alpha"), [([[0, 1], [2, 3]], 0.75), (by_hand.GROUPS, 4 / 6), ([[0, 1, 2]], 1)])
def test_alpha_is_1_minus_edges_less_one_per_worker(groups, alpha):
    assert CFL().bind(setting(tree=Tree.from_groups(groups))).weight == pytest.approx(alpha, rel=1e-12)


def test_a_given_alpha_is_taken():
    assert CFL(alpha=0.3).bind(SETTING).weight == 0.3
    assert CFL(alpha=0).bind(SETTING).weight == 0


@pytest.mark.parametrize(
    ("staleness", "weight"), [(1, 0.6), (2, 0.6), (3, 0.6 / 3**0.5), (4, 0.3), (9, 0.2)]
)  # alpha s^-b beyond a
def test_staleness_beyond_a_lowers_the_weight(staleness, weight):
    assert weight_at(CFL(alpha=0.6, a=2, b=0.5), staleness) == pytest.approx(weight, rel=1e-12)


def test_b_0_forgives_all_staleness():
    assert weight_at(CFL(alpha=0.6, a=0, b=0), 9) == 0.6


def test_a_run_in_which_staleness_counts_is_another():
    """Three edges that take turns are three merges stale: a = 3 tolerates that, a = 2 does not."""
    options = {"periods": (2, 2), "iterations": 40}
    tolerant, unmoved, strict = (
        models(run(CFL(eta=0.05, order="fixed", a=a), TREE, PROBLEM, **options)) for a in (5, 3, 2)
    )
    assert np.array_equal(tolerant, unmoved)
    assert np.array_equal(tolerant[:2], strict[:2])  # the first two arrivals are 1 and 2 merges stale
    assert difference(tolerant[2:], strict[2:]) > 1e-2


@pytest.mark.parametrize("schedule", ["async", "sequential"])
def test_a_random_order_is_the_same_in_repeated_runs_and_another_with_another_seed(schedule):
    algorithm = CFL(schedule=schedule)
    first = arrivals(algorithm, SETTING)
    assert first == arrivals(algorithm, SETTING)
    assert first != arrivals(algorithm, setting(seed=4))


def test_a_random_order_changes_from_sweep_to_sweep_and_leaves_no_edge_out():
    sweeps = np.array(arrivals(CFL(), SETTING)).reshape(10, 3)
    assert np.array_equal(np.sort(sweeps), np.tile([0, 1, 2], (10, 1)))
    assert len({tuple(sweep) for sweep in sweeps.tolist()}) > 2


def test_a_random_order_is_a_function_of_seed_edge_and_arrival():
    """So neither further edges nor other periods nor the schedule change who comes before whom."""
    expected = arrivals(CFL(), SETTING)
    more_edges = setting(tree=Tree.branching(5, 1))
    assert [edge for edge in arrivals(CFL(), more_edges) if edge < 3] == expected
    assert arrivals(CFL(), setting(periods=(1, 4))) == expected
    assert arrivals(CFL(), setting(periods=(3, 2), iterations=60)) == expected
    assert arrivals(CFL(schedule="sequential"), SETTING) == expected


def test_a_fixed_order_is_that_of_the_edges_whatever_the_seed():
    assert arrivals(CFL(order="fixed"), SETTING) == arrivals(CFL(order="fixed"), setting(seed=4)) == [0, 1, 2] * 10


@pytest.mark.parametrize("pace", [None, (1, 2, 3), (1.5, 1, 0.7)])
@pytest.mark.parametrize("order", ["random", "fixed"])
@pytest.mark.parametrize("schedule", ["async", "sequential"])
def test_the_plan_of_a_longer_run_begins_with_that_of_a_shorter(schedule, order, pace):
    algorithm = CFL(schedule=schedule, order=order)
    long = list(algorithm.plan(timed(pace)))
    for iterations in range(4, 40, 4):
        short = list(algorithm.plan(timed(pace, iterations=iterations)))
        assert long[: len(short)] == short
    assert len(short) < len(long)


@pytest.mark.parametrize("pace", [None, (1, 2, 3)])
@pytest.mark.parametrize("schedule", ["async", "sequential"])
def test_every_worker_counts_its_own_iterations_without_a_gap(schedule, pace):
    seen = {i: [] for i in range(6)}
    for event in CFL(schedule=schedule).plan(timed(pace)):
        if isinstance(event, Step):
            for i in event.workers:
                seen[i].append(event.t)
    times = [40] * 6
    if pace and schedule == "async":  # edges that take turns do so at any speed
        order = by_time(pace, 40)
        times = [4 * order.count(ell) for ell in TREE.parents[0]]
        assert sum(times) >= 40 * 6 > sum(times) - 4 * len(by_hand.GROUPS[order[-1]])
    assert [seen[i] for i in range(6)] == [list(range(1, n + 1)) for n in times]


def test_async_pulls_after_merging_and_sequential_before_training():
    together, one_by_one = (
        [event for event in CFL(order="fixed", schedule=schedule).plan(setting(iterations=4)) if event[1] == 2]
        for schedule in ("async", "sequential")
    )
    assert together[0] == Spread(1, 2)  # everyone at the start
    assert together[1:3] == [Merge(4, 2, (0,)), Spread(5, 2, (0,))]
    assert one_by_one[:3] == [Spread(1, 2, (0,)), Merge(4, 2, (0,)), Spread(1, 2, (1,))]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", ["async", "sequential"])
def test_a_run_follows_the_random_order(schedule, engine):
    algorithm = CFL(eta=0.07, schedule=schedule, a=2)
    orders = np.array(arrivals(algorithm, SETTING)).reshape(10, 3).tolist()
    found = run(algorithm, TREE, PROBLEM, periods=(2, 2), iterations=40, seed=3, engine=engine)
    expected = list(by_hand.cfl(2, 2, 10, eta=0.07, schedule=schedule, a=2, orders=orders))
    assert difference(models(found), expected) < ROUNDING


SLOWER = by_time((1, 2, 3), 24)


def test_a_slow_edge_arrives_less_often():
    assert SLOWER[:11] == [0, 0, 1, 0, 2, 0, 1, 0, 0, 1, 2]  # every 4, 8 and 12 iterations, until 24
    assert arrivals(CFL(order="fixed"), timed((1, 2, 3), iterations=24)) == SLOWER


def test_messages_take_their_time_too():
    """Edge 0 computes for 4 s and needs 7 s there and back to the cloud, edge 1 computes for 8 s and is next to it."""
    table = {"theta_w": 2.0, "device": [{"nodes": ["workers 0-5"], "compute": 1.0}]}
    table["device"].append({"nodes": ["edge 0"], "link": 7.0})
    plain = setting(iterations=8)
    clock = Clock(Delays.of_table(table)).of_run(CFL().bind(plain), plain, ModelSize(1))
    found = arrivals(CFL(order="fixed"), plain._replace(clock=clock))
    # edges 1 and 2 arrive at 4, 8, 12, ...; edge 0 pulls at 3.5 and arrives at 3.5 + 4 + 3.5 = 11
    assert found[:7] == [1, 2, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_slow_edge_is_stale(engine):
    where = timed((1, 2, 3), iterations=24)
    algorithm = CFL(eta=0.07, order="fixed", a=2).bind(where)
    loop = Loop(algorithm, TREE, PROBLEM, KINDS[engine](), seed=3)
    start = begin(algorithm, TREE, PROBLEM, loop.engine, where)
    states = [state for state, _ in loop.states(start, algorithm.plan(where), fine=False)]
    found = [state.model for state in states if isinstance(state.event, Merge) and state.event.tier == 2]
    assert difference(found, list(by_hand.cfl(2, 2, 1, eta=0.07, a=2, orders=[SLOWER]))) < ROUNDING
    assert difference(found, list(by_hand.cfl(2, 2, 1, eta=0.07, a=5, orders=[SLOWER]))) > 1e-2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_with_a_clock_goes_by_its_time(engine):
    options = {"periods": (2, 2), "iterations": 24, "seed": 3, "engine": engine, "clock": paced((1, 2, 3))}
    states = list(run(CFL(eta=0.07, order="fixed", a=2), TREE, PROBLEM, **options))
    assert difference(models(states), list(by_hand.cfl(2, 2, 1, eta=0.07, a=2, orders=[SLOWER]))) < ROUNDING
    arrived = [state.elapsed.seconds for state in states]
    assert arrived == sorted(arrived) and arrived[:5] == [4, 8, 8, 12, 12]
    assert states[-1].elapsed.steps >= 24 * 6 > states[-2].elapsed.steps


def test_one_state_per_arrival():
    states = list(run(CFL(order="fixed"), TREE, PROBLEM, periods=(2, 2), iterations=8))
    assert [(state.rounds, state.event.children) for state in states] == [
        (rounds, (ell,)) for rounds, ell in zip(range(1, 7), [0, 1, 2, 0, 1, 2], strict=True)
    ]
