"""A delay is a function of (seed, what is drawn, node, t), whoever asks, when, with whom, and on which thread."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy import stats

import hiermo
from hiermo.clock import draws
from hiermo.clock.delays import parse_delays
from hiermo.clock.draws import Draws, bits_at, keys_of, mixed, uniform_at
from hiermo.clock.network import Network
from hiermo.clock.sources import Constant, Gamma, Inverse, Lognormal, Samples, ShiftedExponential, Times

SOURCES = [
    Constant(0.0),
    Lognormal(1.0, 0.5),
    Gamma(2.0, 0.3),
    ShiftedExponential(0.1, 1.0),
    Samples(np.array([1.0, 2.0, 3.0])),
    Times(Lognormal(1.0, 0.5), 0.5),
    Inverse(Gamma(3.0, 0.2)),
    Times(Inverse(Samples(np.array([4.0, 7.0]))), 3.0),
]


def made(n, seed=0, what="compute 0", sources=SOURCES):
    """Nodes that take turns among some sources."""
    return Draws(sources, np.arange(n) % len(sources), seed, what)


nodes_and_times = st.lists(st.tuples(st.integers(0, 2**40), st.lists(st.integers(0, 39), min_size=1)), min_size=1)


@settings(max_examples=40)
@given(nodes_and_times, st.booleans())
def test_neither_the_order_nor_the_subset_nor_a_cache_changes_a_number(asked, in_turn):
    many = made(40)
    for t, nodes in asked:
        found = (many.in_turn if in_turn else many.at)(t, np.array(nodes))
        assert np.array_equal(found, made(40).at(t)[nodes])


@settings(max_examples=30)
@given(st.lists(st.integers(0, 5000), min_size=1, max_size=20), st.integers(1, 60))
def test_numbers_that_are_drawn_ahead_are_those_of_their_time(times, n):
    ahead = made(n)
    for t in times:
        assert np.array_equal(ahead.in_turn(t), made(n).at(t))


def test_numbers_that_are_drawn_ahead_are_those_of_their_time_without_a_gap():
    ahead, plain = made(1000), made(1000)
    for t in range(1, 3 * draws.AHEAD // 1000):  # a block holds 16 times
        assert np.array_equal(ahead.in_turn(t), plain.at(t))


@pytest.mark.parametrize("n", [5, 4000, 5000, draws.MANY + 5000])
def test_a_node_of_a_larger_tree_draws_the_same(n):
    """Whatever draws it: ahead, numpy at once, compiled code on all threads."""
    assert np.array_equal(made(n).in_turn(9)[:4], made(4).at(9))


def test_compiled_code_draws_the_bits_of_numpy():
    n = 2 * draws.MANY + 77  # several tasks, the last one not full
    many = made(n)
    for t in (0, 1, 10**6, 2**31 + 1):
        found = many.at(t)
        for part in np.array_split(np.arange(n), 3):  # few enough for numpy
            assert len(part) < draws.MANY
            assert np.array_equal(found[part], many.at(t, part))


def test_compiled_code_draws_a_subset_too():
    n = draws.MANY + 9
    some = np.random.default_rng(0).permutation(n)
    assert np.array_equal(made(n).at(3, some), made(n).at(3)[some])


def test_a_task_that_is_just_full_and_one_that_is_not_quite():
    for n in (draws.MANY - 1, draws.MANY, draws.MANY + 1):
        assert np.array_equal(made(n).at(5)[-1:], made(n).at(5, np.array([n - 1])))


def test_threads_draw_the_same():
    many = made(draws.MANY + 3)
    alone = [made(draws.MANY + 3).at(t) for t in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for found, expected in zip(pool.map(many.at, [0, 1, 2, 3]), alone, strict=True):
            assert np.array_equal(found, expected)


def test_numbers_differ_between_seeds_kinds_nodes_and_times():
    n = 2000
    one = [Lognormal(1.0, 0.5)]
    base = made(n, sources=one).at(5)
    others = [
        made(n, seed=1, sources=one).at(5),
        made(n, what="compute 1", sources=one).at(5),
        made(n, sources=one).at(6),
        made(n + 1, sources=one).at(5)[1:],
    ]
    assert len(np.unique(base)) == n
    for other in others:
        assert not (base == other).any()
        assert abs(stats.spearmanr(base, other).statistic) < 0.1  # one deviation is 0.022


def test_bits_are_even_and_independent_of_their_neighbours():
    """Every bit is set half of the time, whatever node and t count up; one deviation is 0.001."""
    bits = bits_at(keys_of(0, "x", np.arange(500))[:, None], np.arange(500)[None, :])
    for neighbour in (bits[1:] ^ bits[:-1], bits[:, 1:] ^ bits[:, :-1], bits):
        share = [float((neighbour >> np.uint64(k) & np.uint64(1)).mean()) for k in range(64)]
        assert np.abs(np.array(share) - 0.5).max() < 0.006
    assert len(np.unique(bits)) == bits.size


def test_the_mixing_is_that_of_splitmix64():
    """Its first numbers from the seed 1234567, as in the reference implementation of Vigna."""
    states = np.arange(1, 6, dtype=np.uint64) * draws.STRIDE + np.uint64(1234567)
    expected = [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip
    assert mixed(states).tolist() == expected


def test_keys_and_bits_stay_as_they_are():
    """A run that goes on, and one that is repeated elsewhere, must find the delays that it had: these never change."""
    keys = keys_of(3, "compute 0", [0, 1, 10**6])
    assert keys.tolist() == [189333542888985632, 14240199357611329654, 4583350810477478672]
    assert bits_at(keys, 12).tolist() == [3541306393627656221, 11032122202061850236, 15536610764166876814]


def test_uniform_numbers_are_uniform():
    found = uniform_at(keys_of(0, "drop-out 0", np.arange(100_000)), 4)
    assert found.min() >= 0 and found.max() < 1
    assert stats.kstest(found, "uniform").pvalue > 1e-3


def test_constants_are_not_drawn():
    some = Draws([Constant(0.0), Constant(2), Lognormal(1.0, 0.5)], [1, 0, 1], seed=0, what="x")
    assert some.constant and some.at(7).tolist() == some.in_turn(8).tolist() == [2.0, 0.0, 2.0]
    assert some.at(7, np.array([1, 2])).tolist() == [0.0, 2.0]
    assert not Draws([Constant(0.0), Lognormal(1.0, 0.5)], [1, 0], seed=0, what="x").constant


def test_means_are_those_of_each_nodes_source():
    assert made(9).means.tolist() == [each.mean for each in (*SOURCES, SOURCES[0])]


def test_each_node_draws_from_its_own_source():
    one = Draws([Lognormal(1.0, 0.5)], np.zeros(8, int), 0, "compute 0")
    mixture = made(8).at(4)
    for k, source in enumerate(SOURCES):
        assert mixture[k] == source.drawn(bits_at(keys_of(0, "compute 0", np.arange(8)), 4))[k]
    assert one.at(4)[1] == mixture[1]


NOISY = {
    "theta_w": {"kind": "gamma", "mean": 1.0, "cv": 0.4},
    "phi_w2e": {"kind": "lognormal", "mean": 0.5, "cv": 0.3},
    "phi_e2c": {"kind": "shifted_exponential", "shift": 1.0, "mean": 3.0},
}


def network(tree, seed=3, table=NOISY):
    return Network(parse_delays(table), tree, seed, lambda tier: 0.0)


def test_workers_compute_as_fast_in_the_flattened_tree():
    tree = hiermo.Tree.from_groups([[0, 3], [1], [2, 4, 5]])
    three, two = network(tree), network(tree.flatten())
    for t in (1, 2, 50):
        assert np.array_equal(three.compute[0].at(t), two.compute[0].at(t))
        assert np.array_equal(three.up[0][0].seconds(t, None, 8.0), two.up[0][1].seconds(t, None, 8.0))


def test_more_edges_and_workers_change_nothing_for_those_who_were_there():
    small, large = network(hiermo.Tree.branching(2, 3)), network(hiermo.Tree.branching(7, 3))
    for k, n in ((0, 6), (1, 2)):
        assert np.array_equal(small.compute[k].at(8), large.compute[k].at(8)[:n])
        assert np.array_equal(small.up[k][0].seconds(8, None, 1.0), large.up[k][0].seconds(8, None, 1.0)[:n])


def test_a_link_is_as_fast_up_as_down_at_a_time_and_unlike_computing_and_other_tiers():
    """Half of a round trip that was measured as one, twice, is that round trip."""
    same = {"kind": "lognormal", "mean": 1.0, "cv": 0.5}
    net = network(hiermo.Tree.branching(2, 1), table=dict.fromkeys(("theta_w", "theta_e", "phi_w2e", "phi_e2c"), same))
    up, down = net.up[0][0].seconds(4, None, 1.0), net.down[0][0].seconds(4, None, 1.0)
    assert np.array_equal(up, down)
    ways = [up, net.up[1][0].seconds(4, None, 1.0), net.compute[0].at(4) / 2, net.compute[1].at(4) / 2]
    assert len(np.unique(np.concatenate(ways))) == 8


def test_latency_and_bandwidth_of_a_link_are_drawn_apart():
    table = {"phi_w2e": {"latency_s": {"kind": "gamma", "mean": 1.0, "cv": 0.5}}}
    wide = {"phi_w2e": {"bandwidth": {"kind": "gamma", "mean": 1.0, "cv": 0.5}}}
    tree = hiermo.Tree.branching(1, 2000)
    latency = network(tree, table=table).up[0][0].seconds(1, None, 1.0)
    bandwidth = 1 / network(tree, table=wide).up[0][0].seconds(1, None, 1.0)
    assert abs(stats.spearmanr(latency, bandwidth).statistic) < 0.1  # one deviation is 0.022
