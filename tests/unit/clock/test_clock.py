"""A run with a clock: what has elapsed at every state, however the run came there; and that it trains the same."""

from itertools import accumulate, pairwise, product
from math import prod
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from torch import nn

from helpers import ENGINES, assert_same_bits, quadratic, trees
import hiermo
from hiermo import Absence, Clock, Delays, Tree, UserError, run, run_many
from hiermo.clock.clock import Elapsed
from hiermo.clock.ledger import Ledger, Link, Load, count
from hiermo.core.plan import Merge, Setting, Step
from hiermo.core.problem import ModelSize, model_size
from hiermo.data.partition.sizes import Sizes
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic
from hiermo.engine.state import from_arrays, to_arrays

TREE = Tree.from_groups([[0, 2], [1]])
PROBLEM = quadratic(n=3)
D = {"theta_w": 1.0, "theta_e": 10.0, "theta_c": 100.0, "phi_w2e": 2000.0, "phi_e2c": 40000.0, "phi_w2c": 7e5}
NOISY = {
    "theta_w": {"kind": "gamma", "mean": 1.0, "cv": 0.4},
    "phi_w2e": {"latency_s": 0.5, "bandwidth": {"kind": "lognormal", "mean": 9.0, "cv": 0.3}},
    "phi_e2c": {"kind": "shifted_exponential", "shift": 1.0, "mean": 3.0},
}
ALGORITHMS = [hiermo.HierMo(), hiermo.CFL(), hiermo.Mime(), hiermo.SCAFFOLD()]


def clock(table=D, **options):
    return Clock(Delays.of_table(table), **options)


def arguments(algorithm=None, **changes):
    """Of a run on two or three tiers."""
    algorithm = algorithm or hiermo.HierMo()
    two = algorithm.tiers == 2
    usual = {"tree": TREE.flatten() if two else TREE, "periods": (4,) if two else (2, 2), "iterations": 16}
    return {"algorithm": algorithm, "problem": PROBLEM, "clock": clock(NOISY), **usual, **changes}


def states(algorithm=None, **changes):
    return list(run(**arguments(algorithm, **changes)))


def told(found):
    return [(state.t, state.position, state.elapsed) for state in found]


def psi(tau, pi=None):
    if pi is None:
        return tau * D["theta_w"] + D["theta_c"] + D["phi_w2c"]
    return tau * pi * D["theta_w"] + pi * (D["theta_e"] + D["phi_w2e"]) + D["theta_c"] + D["phi_e2c"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_cloud_round_takes_the_seconds_of_the_paper(engine):
    found = states(clock=clock(), engine=engine)
    assert [state.elapsed.seconds for state in found] == [n * psi(2, 2) for n in (1, 2, 3, 4)]
    found = states(hiermo.FedAvg(), clock=clock(), engine=engine)
    assert [state.elapsed.seconds for state in found] == [n * psi(4) for n in (1, 2, 3, 4)]


def test_iterations_and_edge_rounds_have_their_seconds_too():
    found = states(clock=clock(), every="iteration", iterations=4)
    assert [(state.t, state.elapsed.seconds) for state in found] == [(1, 21001), (2, 22012), (3, 23013), (4, 44124)]
    found = states(clock=clock(), every="edge", iterations=4)
    assert [(state.t, state.elapsed.seconds) for state in found] == [(2, 22012), (4, 44124)]


def test_steps_are_those_of_all_workers():
    assert [state.elapsed.steps for state in states()] == [12, 24, 36, 48]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: type(a).__name__)
def test_bytes_are_those_of_the_ledger(algorithm):
    """Of the events that the run really had, CFL's in the order of time."""
    said = arguments(algorithm)
    setting = Setting(said["tree"], said["periods"], 16)
    bound, model = algorithm.bind(setting), model_size(PROBLEM, 0)
    of_run = said["clock"].of_run(bound, setting, model)
    events = list(bound.plan(setting._replace(clock=of_run)))
    for state in run(**said):
        ledger = Ledger(bound, said["tree"])
        for event in events[: state.position]:
            ledger.add(event)
        assert state.elapsed.links == ledger.links
        per_link = [sum(load.bytes(model) for load in link) for link in ledger.links]
        assert list(state.elapsed.bytes_per_link) == per_link and state.elapsed.bytes == sum(per_link) > 0
        steps = [e for e in events[: state.position] if isinstance(e, Step)]
        assert state.elapsed.steps == sum(3 if e.workers is None else len(e.workers) for e in steps)
    if algorithm.tiers != 3:  # CFL's last pull comes after its last arrival
        assert state.elapsed.links == count(bound, setting)


def test_bytes_by_hand():
    """HierMo: 2 vectors of 3 numbers of 8 bytes; per cloud round 2 exchanges of 3 workers, 1 of 2 edges."""
    (first, *_) = states()
    assert first.elapsed.bytes_per_link == (2 * 2 * 3 * 48, 2 * 2 * 48)
    assert first.elapsed.bytes == 2 * 2 * 3 * 48 + 2 * 2 * 48


def test_a_model_of_torch_has_the_bytes_and_batches_of_its_problem():
    """94 parameters and 13 running statistics of 4 bytes; batches of 8 of 10, 30 and 20 samples."""
    data = partition(
        Synthetic(samples=60, test_samples=9, features=8, classes=4).load(Path()),
        Sizes(sizes=(10, 30, 20)),
        n_workers=3,
    )
    net = nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6), nn.Linear(6, 4))
    problem = hiermo.Supervised(lambda: net, data, 8)
    (state,) = states(hiermo.Mime(), problem=problem, iterations=4, clock=clock({"theta_w": 1.0}))
    assert state.elapsed.seconds == 30 / 8 + 4 * 2  # the full gradient of the largest, and two per iteration
    assert state.elapsed.bytes == 4 * 3 * ((94 + 13) + (2 * 94 + 13) + 94 + 94)
    timed = clock({"theta_w": {"kind": "speed", "flops_per_s": float(problem.flops)}})
    (state,) = states(problem=problem, iterations=4, clock=timed)
    assert problem.flops > 0 and state.elapsed.seconds == 4


def test_without_a_clock_nothing_has_elapsed():
    assert {state.elapsed for state in states(clock=None)} == {None}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a.tiers != 3], ids=lambda a: type(a).__name__)
def test_a_clock_changes_nothing_for_those_who_wait_for_everyone(algorithm, engine):
    for a, b in zip(states(algorithm, engine=engine), states(algorithm, engine=engine, clock=None), strict=True):
        assert_same_bits(a, b)


def test_a_clock_that_orders_nothing_tells_the_time_of_the_plan_without_it():
    slow = {"device": [{"nodes": ["workers 0-1"], "compute": 1.0}, {"nodes": ["worker 2"], "compute": 9.0}]}
    plain, timed, ordered = (
        states(hiermo.CFL(order="fixed"), clock=each)
        for each in (None, clock(slow, orders=False), clock(slow, orders=True))
    )
    for a, b in zip(plain, timed, strict=True):
        assert_same_bits(a, b)
    assert timed[0].elapsed.seconds == 4 * 9
    assert [state.event.children for state in timed] == [(0,), (1,)] * 4
    assert [state.event.children for state in ordered][:4] == [(1,), (1,), (1,), (1,)]


def test_seconds_are_a_function_of_the_seed():
    one, again, other = (states(seed=seed)[-1].elapsed for seed in (1, 1, 2))
    assert one == again and one.seconds != other.seconds and one.links == other.links


# --- until ---


def test_a_run_ends_at_the_first_cloud_round_with_so_many_seconds():
    for rounds, target in ((1, 1.0), (2, 2 * psi(2, 2)), (3, 2 * psi(2, 2) + 0.5), (4, 1e9)):
        found = states(clock=clock(), until={"simulated_seconds": target})
        assert found[-1].rounds == rounds


def test_seconds_and_a_metric_must_both_be_reached():
    losses = [PROBLEM.evaluate(state.model)["loss"] for state in states()]
    assert losses == sorted(losses, reverse=True)
    cases = [(1.0, losses[2], 3), (3 * psi(2, 2), losses[0], 3), (1.0, losses[0], 1)]
    for seconds, loss, rounds in cases:
        found = states(clock=clock(), until={"simulated_seconds": seconds, "loss": loss})
        assert found[-1].rounds == rounds


def test_a_function_of_the_state_may_look_at_the_clock():
    found = states(clock=clock(), until=lambda state: state.elapsed.bytes > 800)
    assert found[-1].rounds == 2  # 768 bytes each


def test_seconds_without_a_clock_are_refused():
    with pytest.raises(UserError, match="until: there is no metric 'simulated_seconds'; this problem has loss"):
        states(clock=None, until={"simulated_seconds": 1.0})


def test_a_problem_is_not_evaluated_for_seconds_alone():
    class Never(hiermo.Quadratic):
        def evaluate(self, x, buffers=None):
            raise AssertionError

    problem = Never(A=PROBLEM.A, b=PROBLEM.b, sizes=PROBLEM.sizes)
    assert states(problem=problem, until={"simulated_seconds": 1.0})[-1].rounds == 1


# --- going on from a state ---


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: type(a).__name__)
def test_a_run_that_goes_on_has_the_time_of_one_that_ran_through(algorithm, engine):
    through = states(algorithm, every="iteration", engine=engine, iterations=8)
    for k, start in enumerate(through):
        after = states(algorithm, every="iteration", engine=engine, iterations=8, start=start)
        assert told(after) == told(through[k + 1 :])


def test_it_may_go_on_from_a_state_without_time_and_from_one_of_a_file():
    through = states()
    timeless = states(clock=None)[1]
    assert told(states(start=timeless)) == told(through[2:])
    stored = from_arrays(hiermo.HierMo(), PROBLEM.x0, 3, *to_arrays(through[1]))
    assert stored.elapsed is None and told(states(start=stored)) == told(through[2:])


def test_it_may_go_on_to_a_longer_horizon():
    short = states(iterations=8)
    assert told(short + states(start=short[-1])) == told(states())


def changed(first, second, table=D):
    """Two cloud rounds with some periods, and two with others."""
    before = states(clock=clock(table), periods=first, iterations=2 * prod(first))
    end = 2 * (prod(first) + prod(second))
    return before, states(clock=clock(table), periods=second, iterations=end, start=before[-1])


@given(st.tuples(st.integers(1, 3), st.integers(1, 3)), st.tuples(st.integers(1, 3), st.integers(1, 3)))
@settings(max_examples=20)
def test_where_periods_change_at_a_cloud_merge_time_goes_on(first, second):
    before, after = changed(first, second)
    seconds = [state.elapsed.seconds for state in before + after]
    takes = [psi(*first)] * 2 + [psi(*second)] * 2
    assert seconds == list(accumulate(takes))
    assert after[-1].elapsed.steps == 3 * 2 * (prod(first) + prod(second))


def test_where_periods_change_bytes_add_up():
    before, after = changed((2, 2), (3, 1))
    alone = states(clock=clock(), periods=(3, 1), iterations=6)
    for new, own in zip(after, alone, strict=True):
        assert new.elapsed.bytes == before[-1].elapsed.bytes + own.elapsed.bytes
        assert new.elapsed == before[-1].elapsed.plus(own.elapsed)


def test_where_periods_change_delays_are_those_of_the_iterations_that_follow():
    """Not the same draws again: one worker, whose iterations alone take time."""
    tree, problem = Tree.branching(1, 1), quadratic(n=1)
    timed = clock({"theta_w": NOISY["theta_w"]})
    usual = {"clock": timed, "tree": tree, "problem": problem}
    through = states(periods=(1, 1), iterations=8, **usual)
    before = states(periods=(1, 1), iterations=4, **usual)
    after = states(periods=(2, 1), iterations=8, start=before[-1], **usual)
    assert [state.elapsed.seconds for state in after] == pytest.approx(
        [through[5].elapsed.seconds, through[7].elapsed.seconds], rel=1e-14
    )


def test_who_was_away_for_some_seconds_is_not_away_again_when_periods_change():
    absent = Clock(Delays.of_table({"theta_w": 1.0}), Absence(away=({"nodes": "worker 0", "seconds": [0, 3]},)))
    before = states(clock=absent, periods=(2, 1), iterations=4)
    after = states(clock=absent, periods=(1, 1), iterations=6, start=before[-1])
    assert [state.elapsed.seconds for state in before + after] == [2, 4, 5, 6]
    steps = [state.elapsed.steps for state in before + after]
    assert steps == [2 * 2, 2 * 4, 2 * 4 + 3, 2 * 4 + 6]  # two of three workers for four iterations, then all


def test_periods_may_change_more_than_once():
    (_, after), end = changed((1, 2), (2, 1)), 8 + 3
    last = states(clock=clock(), periods=(3, 1), iterations=end, start=after[-1])
    assert last[-1].elapsed.seconds == 2 * psi(1, 2) + 2 * psi(2, 1) + psi(3, 1)


def test_a_run_that_goes_on_after_its_periods_changed_still_knows_what_was_before():
    _, after = changed((1, 2), (2, 1))
    again = states(clock=clock(), periods=(2, 1), iterations=8, start=after[0])
    assert told(again) == told(after[1:])


def test_from_a_state_without_time_other_periods_begin_at_zero():
    before = states(clock=None, iterations=4)
    after = states(clock=clock(), periods=(3, 1), iterations=10, start=before[-1])
    assert [state.elapsed.seconds for state in after] == [psi(3, 1), 2 * psi(3, 1)]


# --- several runs, and what is refused ---


def test_many_runs_have_the_times_that_they_have_alone():
    runs = [arguments(a, seed=seed) for a, seed in product(ALGORITHMS, (0, 1))]
    runs += [arguments(clock=None), arguments(clock=clock()), arguments(until={"simulated_seconds": 20.0})]
    found = [[] for _ in runs]
    for which, state in run_many(runs):
        found[which].append(state)
    for own, alone in zip(found, [list(run(**each)) for each in runs], strict=True):
        assert told(own) == told(alone)


def test_nodes_that_the_tree_does_not_have_are_refused():
    wrong = clock({"device": [{"nodes": ["worker 9"], "compute": 1.0}]})
    with pytest.raises(UserError, match="delays: there is no worker 9: the tree has 3 workers, 2 edges, cloud"):
        states(clock=wrong)


def test_delays_of_edges_do_for_algorithms_without_them():
    named = clock(D | {"device": [{"nodes": ["edge 1"], "compute": 1.0}]})
    assert states(hiermo.FedAvg(), clock=named)[0].elapsed.seconds == psi(4)


# --- what has elapsed ---

loads = st.builds(Load, *[st.integers(0, 10**6)] * 4)
some_links = st.lists(st.builds(Link, loads, loads), min_size=2, max_size=2).map(tuple)
elapsed = st.builds(
    Elapsed, st.integers(0, 2**40).map(float), st.integers(0, 10**9), some_links, st.just(ModelSize(7, 8, 3))
)


@given(elapsed, elapsed, elapsed)
def test_what_elapsed_adds_up(a, b, c):
    total = a.plus(b)
    assert total.seconds == a.seconds + b.seconds and total.steps == a.steps + b.steps
    assert total.bytes == a.bytes + b.bytes and total.model == a.model
    assert total.bytes_per_link == tuple(np.add(a.bytes_per_link, b.bytes_per_link))
    assert a.plus(b).plus(c) == a.plus(b.plus(c)) and a.plus(b) == b.plus(a)


def test_bytes_of_vectors_scalars_and_statistics():
    link = Link(up=Load(messages=5, vectors=2, scalars=3, models=1), down=Load(vectors=1))
    found = Elapsed(0.0, 0, (link, Link()), ModelSize(parameters=10, item_bytes=4, statistics=6))
    assert found.bytes_per_link == (4 * (20 + 3 + 6) + 4 * 10, 0) and found.bytes == 156


@given(trees(), st.integers(0, 2**16))
@settings(max_examples=25)
def test_time_and_bytes_never_go_back(tree, seed):
    periods = (2, 1, 2)[: tree.tiers - 1]
    setting = Setting(tree, periods, 2 * prod(periods), seed)
    followed = clock(NOISY).of_run(hiermo.HierMo(), setting, ModelSize(5)).follow(hiermo.HierMo().plan(setting))
    events = list(followed)
    found = [followed.at(k) for k in range(len(events) + 1)]
    assert found[0].seconds == found[0].steps == found[0].bytes == 0
    for a, b in pairwise(found):
        assert a.seconds <= b.seconds and a.steps <= b.steps and a.bytes <= b.bytes


def test_an_arrival_is_when_a_merge_could_begin():
    setting = Setting(TREE, (2, 2), 4)
    player = clock().of_run(hiermo.HierFAVG(), setting, ModelSize(1)).player()
    for event in hiermo.HierFAVG().plan(setting):
        if isinstance(event, Merge):
            begins = player.arrival(event)
            player.play(event)
            assert player.timeline.now == begins + D["theta_e" if event.tier == 1 else "theta_c"]
        else:
            player.play(event)
