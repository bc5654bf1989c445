"""Runs with absentees, of every algorithm: finite, repeatable, alike in both engines, and resumed to the same bits."""

from dataclasses import replace
from math import inf, prod

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
import torch
from torch import nn

from helpers import ENGINES, ROUNDING, assert_same_bits, difference, fields, models, quadratic, trees
import hiermo
from hiermo import Absence, Clock, Delays, HierFAVG, HierMo, Tree
from hiermo.algorithms import ALGORITHMS
from hiermo.data.partition.sizes import Sizes

GROUPS = [[0, 3], [1], [2, 4, 5]]
TREE = Tree.from_groups(GROUPS)
PROBLEM = quadratic(6, sizes=[3, 8, 5, 1, 13, 6])
LETTERS = ("theta_w", "phi_w2e", "phi_e2c", "phi_w2c")
DELAYS = Delays.of_table({letter: {"kind": "lognormal", "mean": 1.0, "cv": 0.7} for letter in LETTERS})

each_algorithm = pytest.mark.parametrize("name", ALGORITHMS.builtin)


def spell(nodes, *seconds):
    return {"nodes": nodes, "seconds": list(seconds)}


ABSENCES = {
    "some are asked": Absence(participation=0.4),
    "some drop out": Absence(drop_out=0.5, edge_drop_out=0.3),
    "hardly anyone answers": Absence(drop_out=0.95),
    "some are late": Absence(deadline_s=4.5, cloud_deadline_s=9.0),
    "one after the other is away": Absence(away=tuple(spell(f"worker {i}", 4 * i, 4 * i + 15) for i in range(6))),
    "nobody is there for a while": Absence(away=(spell("edge 2", 3, 25), spell("worker", 6, 30))),
    "all of it": Absence(
        participation=0.7,
        drop_out=0.2,
        edge_drop_out=0.2,
        deadline_s=6.0,
        cloud_deadline_s=12.0,
        away=(spell("edge 0", 10, 30), spell("workers 4-5", 35, 45)),
    ),
}


def go(name, absence, rounds=4, **options):
    algorithm = ALGORITHMS.get(name)(eta=0.05)
    if name == "CFL":  # it has no cloud rounds that an edge could miss
        absence = replace(absence, edge_drop_out=0.0, cloud_deadline_s=None)
    tree, periods = (TREE.flatten(), (4,)) if algorithm.tiers == 2 else (TREE, (2, 2))
    clock = Clock(DELAYS, absence)
    options = {"tree": tree, "problem": PROBLEM, "periods": periods, "iterations": 4 * rounds, "clock": clock} | options
    return hiermo.run(algorithm, **options)


def agree(some, others):
    """Two engines differ by rounding, in every number of every state."""
    moved = False
    for a, b in zip(some, others, strict=True):
        assert (a.t, a.rounds, a.position, a.elapsed) == (b.t, b.rounds, b.position, b.elapsed)
        assert np.isfinite(a.elapsed.seconds)
        size = max(abs(a.model).max(), 1)  # momenta are differences of models, or sums of some gradients
        for name, value in fields(a).items():
            assert np.isfinite(value).all(), name
            # per-coordinate steps divide by what may be as small as 1e-3, and gradients are some ten times the model
            assert abs(value - fields(b)[name]).max() <= 1e3 * ROUNDING * size, name
        moved = True
    return moved


@each_algorithm
@pytest.mark.parametrize("which", ABSENCES)
def test_all_numbers_are_finite_and_both_engines_agree(name, which):
    assert agree(*(go(name, ABSENCES[which], every="edge", engine=engine) for engine in ENGINES))


@each_algorithm
def test_training_goes_on_with_those_who_are_left(name):
    *_, last = go(name, ABSENCES["all of it"], rounds=30)
    assert last.rounds > 20
    assert PROBLEM.evaluate(last.model)["loss"] < PROBLEM.evaluate(PROBLEM.x0)["loss"]


@each_algorithm
def test_the_seed_says_who_is_absent(name):
    again, once, other = (list(go(name, ABSENCES["all of it"], seed=seed)) for seed in (3, 3, 4))
    for a, b in zip(again, once, strict=True):
        assert_same_bits(a, b)
        assert a.elapsed == b.elapsed
    assert difference(once[-1].model, other[-1].model) > 1e-6


@each_algorithm
@pytest.mark.parametrize("engine", ENGINES)
def test_going_on_from_any_state_gives_the_same_bits(name, engine):
    absence, options = ABSENCES["all of it"], {"rounds": 3, "every": "iteration", "engine": engine}
    whole = list(go(name, absence, **options))
    for done in range(1, len(whole), 1 if engine == "stacked" else 7):
        if whole[done - 1].t > 12:  # a fast edge is ahead of the horizon: the test below
            continue
        for after, expected in zip(go(name, absence, start=whole[done - 1], **options), whole[done:], strict=True):
            assert_same_bits(after, expected)
            assert after.elapsed == expected.elapsed


def test_going_on_from_a_state_of_an_edge_that_is_ahead_of_the_others():
    whole = list(go("CFL", ABSENCES["all of it"], rounds=4))
    done = next(k for k, state in enumerate(whole, start=1) if state.t > 16)
    for after, expected in zip(
        go("CFL", ABSENCES["all of it"], rounds=4, start=whole[done - 1]), whole[done:], strict=True
    ):
        assert_same_bits(after, expected)


@each_algorithm
@pytest.mark.parametrize("which", ["some are late", "all of it"])
def test_a_longer_run_only_appends(name, which):
    short, long = (list(go(name, ABSENCES[which], rounds=rounds, every="edge")) for rounds in (2, 4))
    assert 0 < len(short) < len(long)
    for a, b in zip(short, long, strict=False):
        assert_same_bits(a, b)
        assert a.elapsed == b.elapsed
    for after, expected in zip(
        go(name, ABSENCES[which], every="edge", start=short[-1]), long[len(short) :], strict=True
    ):
        assert_same_bits(after, expected)


HITS_NOBODY = {
    "no chance": Absence(drop_out=1e-300, edge_drop_out=1e-300),
    "no late ones": Absence(deadline_s=1e6, cloud_deadline_s=1e6),
    "before the start or after the end": Absence(away=(spell("worker", 1e6, inf), spell("edge", 1e6, 2e6))),
    "nearly all, rounded": Absence(participation=0.95),  # of at most six workers
}


@each_algorithm
def test_an_absence_that_hits_nobody_changes_no_bit(name):
    options = {"rounds": 2, "every": "iteration"}
    whole = list(go(name, Absence(), **options))
    for absence in HITS_NOBODY.values():
        for found, expected in zip(go(name, absence, **options), whole, strict=True):
            assert_same_bits(found, expected)
            assert found.elapsed == expected.elapsed


@each_algorithm
def test_an_absence_before_the_first_iteration_changes_no_bit(name):
    early = Absence(away=({"nodes": "worker", "iterations": [0, 1]},))
    if name == "CFL":
        early = Absence(away=(spell("edge 1", 1e6, 2e6),))
    for found, expected in zip(go(name, early), go(name, Absence()), strict=True):
        assert_same_bits(found, expected)


# ---- a tree without those who never come ----


@pytest.mark.parametrize("name", [name for name in ALGORITHMS.builtin if name != "SCAFFOLD"])  # it knows their share
@pytest.mark.parametrize("engine", ENGINES)
def test_without_those_who_never_come_the_tree_is_a_smaller_one(name, engine):
    """An edge with all its workers, or on two tiers those workers, away for good."""
    options = {"alpha": 0.6, "order": "fixed"} if name == "CFL" else {}  # else they depend on the number of edges
    algorithm, some = ALGORITHMS.get(name)(eta=0.05, **options), [0, 1, 3]
    small = hiermo.Quadratic(A=PROBLEM.A[some], b=PROBLEM.b[some], sizes=PROBLEM.sizes[some], x0=PROBLEM.x0)
    if algorithm.tiers == 2:
        gone, periods = (spell(["worker 2", "workers 4-5"], 0, inf),), (4,)
        tree, less = TREE.flatten(), Tree.branching(3)
    else:
        gone, periods = (spell("edge 2", 0, inf),), (2, 2)
        tree, less = TREE, Tree.from_groups([[0, 2], [1]])
    delays = Delays.of_table({"theta_w": 1.0})  # those of the others must not depend on their numbers
    options = {"periods": periods, "iterations": 16, "engine": engine}
    found = hiermo.run(algorithm, tree, PROBLEM, clock=Clock(delays, Absence(away=gone)), **options)
    expected = hiermo.run(algorithm, less, small, clock=Clock(delays), **options)
    pairs = list(zip(found, expected, strict=name != "CFL"))  # whose other edges make the iterations of the one away
    assert len(pairs) >= 4
    for state, smaller in pairs:
        assert difference(state.model, smaller.model) < ROUNDING
        assert state.elapsed.seconds == smaller.elapsed.seconds


# ---- an edge that goes and comes back ----


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["velocity", "position"])
def test_an_edge_that_is_away_keeps_all_it_has_and_gets_the_model_of_the_cloud_when_it_is_back(form, engine):
    """Away for iterations 7 to 9, of cloud rounds of 4: it misses the second and the third."""
    algorithm = HierMo(eta=0.05, gamma=0.4, gamma_a=0.3, form=form)
    absence = Absence(away=({"nodes": "edge 2", "iterations": [7, 10]},))
    options = {"periods": (2, 2), "iterations": 16, "every": "iteration", "engine": engine}
    states = list(hiermo.run(algorithm, TREE, PROBLEM, clock=Clock(DELAYS, absence), **options))
    at = {state.t: state for state in states}
    assert list(at) == list(range(1, 17))
    left = at[6]  # with the edge merge of iteration 6
    for t in range(7, 13):
        for field in ("x", "m", "y"):
            kept, now = (getattr(state.tiers[1], field)[2] for state in (left, at[t]))
            assert np.array_equal(kept, now), (t, field)
        for i in GROUPS[2]:
            # the message of iteration 7 did not reach them
            assert np.array_equal(left.tiers[0].x[i], at[t].tiers[0].x[i])
        assert not np.array_equal(left.tiers[1].x[0], at[t].tiers[1].x[0]) or t == 7
    # iteration 13 begins with the model and the momentum of the cloud: one step of its workers, by hand
    alone = hiermo.Quadratic(A=PROBLEM.A, b=PROBLEM.b, sizes=PROBLEM.sizes, x0=at[12].model)
    for i in GROUPS[2]:
        w = algorithm.step(at[12].tiers[2]._replace(), None, lambda x, i=i: alone.full_grad([i], x))
        assert difference(at[13].tiers[0].x[i], w.x[0]) < ROUNDING
    # and its own momentum is the one that it left with: y + gamma_a (y - y_old) of the merge at 14
    workers, edge = at[14].tiers[0], at[14].tiers[1]
    total = sum(PROBLEM.sizes[i] for i in GROUPS[2])
    y = sum(PROBLEM.sizes[i] / total * workers.x[i] for i in GROUPS[2])
    assert difference(edge.y[2], y) < ROUNDING
    assert difference(edge.x[2], y + 0.3 * (y - left.tiers[1].y[2])) < ROUNDING


@pytest.mark.parametrize("engine", ENGINES)
def test_an_absentee_keeps_what_the_message_of_its_round_left_it_with(engine):
    """Worker 4 is asked in iteration 3 and missing at 4; worker 5 is not even asked."""
    tables = ({"nodes": "worker 4", "iterations": [4, 5]}, {"nodes": "worker 5", "iterations": [3, 4]})
    options = {"periods": (2, 2), "iterations": 8, "every": "iteration", "engine": engine}
    clock = Clock(DELAYS, Absence(away=tables))
    at = {state.t: state for state in hiermo.run(HierFAVG(eta=0.05), TREE, PROBLEM, clock=clock, **options)}
    assert np.array_equal(at[4].tiers[0].x[4], at[2].tiers[1].x[2])  # its edge's model
    assert np.array_equal(at[4].tiers[0].x[5], at[2].tiers[0].x[5])  # its own
    assert np.array_equal(at[4].tiers[1].x[2], at[4].tiers[0].x[2])  # the mean of the one who is there
    assert not np.array_equal(at[5].tiers[0].x[4], at[5].tiers[0].x[5])  # both go on, from the cloud's model


# ---- any tree ----

absences = st.builds(
    Absence,
    participation=st.sampled_from([0.1, 0.5, 1.0]),
    drop_out=st.floats(0.0, 0.95),
    edge_drop_out=st.floats(0.0, 0.6),
    deadline_s=st.none() | st.floats(0.5, 9),
    cloud_deadline_s=st.none() | st.floats(0.5, 20),
    away=st.lists(
        st.builds(
            lambda nodes, begin, length: spell(nodes, begin, begin + length),
            st.sampled_from(["worker 0", "edge 0", "tier 1", "worker"]),
            st.floats(0, 20),
            st.floats(1, 20),
        ),
        max_size=2,
    ).map(tuple),
)
of_any_depth = st.sampled_from([HierMo(eta=0.1, gamma=0.6, gamma_a=0.4), HierFAVG(eta=0.1), hiermo.HierAdMo(eta=0.1)])


@given(of_any_depth, trees(), absences, st.integers(0, 99), st.data())
@settings(max_examples=50)
def test_on_any_tree_both_engines_agree_and_go_on(algorithm, tree, absence, seed, data):
    periods = tuple(data.draw(st.lists(st.integers(1, 3), min_size=tree.tiers - 1, max_size=tree.tiers - 1), "periods"))
    sizes = data.draw(st.lists(st.integers(1, 1000), min_size=tree.n_workers, max_size=tree.n_workers), "sizes")
    problem = quadratic(tree.n_workers, seed=seed, sizes=sizes)
    options = {"periods": periods, "iterations": 3 * prod(periods), "clock": Clock(DELAYS, absence), "seed": seed}
    both = [list(hiermo.run(algorithm, tree, problem, every="edge", engine=each, **options)) for each in ENGINES]
    agree(*both)
    if whole := both[0]:
        done = data.draw(st.integers(1, len(whole)), "done")
        rest = hiermo.run(algorithm, tree, problem, every="edge", start=whole[done - 1], **options)
        for after, expected in zip(rest, whole[done:], strict=True):
            assert_same_bits(after, expected)


# ---- models of torch ----

SIZES = (20, 60, 140)
DIGITS = hiermo.load_data("mnist-5k", workers=3, by=Sizes(sizes=SIZES))
SMALL = Tree.from_groups([[0, 1], [2]])


def net():
    return nn.Sequential(nn.Conv2d(1, 2, 7, stride=7), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(32, 10))


def mean(rows, nodes):
    weights = np.array([SIZES[i] for i in nodes]) / sum(SIZES[i] for i in nodes)
    return (weights[:, None] * rows[list(nodes)].numpy()).sum(0)


@pytest.mark.parametrize("name", ["HierMo", "FedAvg", "SCAFFOLD"])
def test_running_statistics_are_averaged_over_those_present(name):
    """Worker 0 is missing from the second edge round on, worker 2 in the second cloud round."""
    absence = Absence(away=({"nodes": "worker 0", "iterations": [4, 13]}, {"nodes": "worker 2", "iterations": [7, 8]}))
    problem = hiermo.Supervised(net, DIGITS, batch=16, dtype="float64")
    algorithm = ALGORITHMS.get(name)()
    tree, periods = (SMALL.flatten(), (3,)) if algorithm.tiers == 2 else (SMALL, (3, 2))
    options = {"periods": periods, "iterations": 12, "every": "iteration", "clock": Clock(DELAYS, absence)}
    at = {state.t: state for state in hiermo.run(algorithm, tree, problem, **options)}

    def merged(t, tier, node, nodes):
        # averages of up to three numbers of order 1 to 10 in float64
        np.testing.assert_allclose(at[t].buffers[tier][node], mean(at[t].buffers[0], nodes), rtol=1e-14, atol=1e-14)

    if algorithm.tiers == 2:
        for t, nodes in ((3, [0, 1, 2]), (6, [1, 2]), (9, [1]), (12, [1, 2])):
            merged(t, 1, 0, nodes)
    else:
        merged(3, 1, 0, [0, 1])
        merged(6, 1, 0, [1])
        weights = np.array([80, 140]) / 220  # an edge stands for all its data
        np.testing.assert_allclose(at[6].buffers[2][0], weights @ at[6].buffers[1].numpy(), rtol=1e-14, atol=1e-14)
        assert torch.equal(at[12].buffers[2][0], at[12].buffers[1][0])  # edge 1 has nobody to send to
        assert torch.equal(at[12].buffers[1][1], at[6].buffers[1][1])


@pytest.mark.parametrize("name", ["HierMo", "SCAFFOLD", "CFL"])
def test_runs_side_by_side_have_the_absentees_that_each_has_alone(name):
    data = hiermo.load_data("mnist-5k", workers=6)
    problem = hiermo.Supervised(hiermo.make_model("logistic", data), data, batch=16)
    algorithm = ALGORITHMS.get(name)(eta=0.05)
    tree, periods = (TREE.flatten(), (4,)) if algorithm.tiers == 2 else (TREE, (2, 2))
    common = {"algorithm": algorithm, "tree": tree, "problem": problem, "periods": periods, "iterations": 12}
    clock = Clock(DELAYS, Absence(participation=0.6, drop_out=0.2, deadline_s=5.0))
    runs = [{**common, "seed": seed, "clock": clock} for seed in (1, 2)] + [common]
    found = [[], [], []]
    for which, state in hiermo.run_many(runs):
        found[which].append(state)
    for run, states in zip(runs, found, strict=True):
        for a, b in zip(states, hiermo.run(**run), strict=True):
            assert_same_bits(a, b)
            assert a.elapsed == b.elapsed and a.model.dtype == torch.float32
    assert difference(models(found[0])[-1], models(found[2])[-1]) > 1e-6
