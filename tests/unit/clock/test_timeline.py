"""When things happen: the paper's formula, and plain loops over nodes for all that it leaves out."""

from math import prod
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from timeline_by_hand import Message, World

from helpers import trees
import hiermo
from hiermo import Clock, Delays, Tree
from hiermo.clock.network import Network
from hiermo.core.plan import Merge, Setting, Spread, Step
from hiermo.core.problem import ModelSize

SMALL = ModelSize(1)
LETTERS = ("theta_w", "theta_e", "theta_c", "phi_w2e", "phi_e2c", "phi_w2c")


def followed(algorithm, tree, periods, rounds, delays, model=SMALL, seed=0):
    """The events of a run, and the seconds after each."""
    setting = Setting(tree, periods, rounds * prod(periods), seed)
    bound = algorithm.bind(setting)
    clock = Clock(delays if isinstance(delays, Delays) else Delays.of_table(delays)).of_run(bound, setting, model)
    found = clock.follow(bound.plan(setting))
    events = list(found)
    return events, [found.at(k).seconds for k in range(1, len(events) + 1)]


def total(*of_run, **options):
    return followed(*of_run, **options)[1][-1]


def psi(d, periods, rounds):
    """P (tau pi Theta_w + pi Theta_e + Theta_c + pi Phi_w2e + Phi_e2c), for any number of tiers."""
    per_round = prod(periods) * d["theta_w"]
    for k in range(1, len(periods)):
        per_round += prod(periods[k:]) * (d["theta_e"] + d["phi_w2e"])
    return rounds * (per_round + d["theta_c"] + d["phi_w2c" if len(periods) == 1 else "phi_e2c"])


def shape(periods):
    return Tree.branching(*[2] * len(periods))


periods_of_any_depth = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
rounds_of_a_run = st.integers(1, 3)
wholes = st.fixed_dictionaries(dict.fromkeys(LETTERS, st.integers(0, 10**6)))
eighths = st.fixed_dictionaries(dict.fromkeys(LETTERS, st.integers(0, 10**4).map(lambda n: n / 8)))
floats = st.fixed_dictionaries(dict.fromkeys(LETTERS, st.floats(1e-3, 1e3)))


@given(st.one_of(wholes, eighths), periods_of_any_depth, rounds_of_a_run)
def test_with_constants_a_run_takes_psi_seconds_to_the_bit(delays, periods, rounds):
    assert total(hiermo.HierFAVG(), shape(periods), periods, rounds, delays) == psi(delays, periods, rounds)


@given(floats, periods_of_any_depth, rounds_of_a_run)
def test_with_any_constants_a_run_takes_psi_seconds(delays, periods, rounds):
    """Some thousand sums, of 1e-16 each."""
    found = total(hiermo.HierFAVG(), shape(periods), periods, rounds, delays)
    assert found == pytest.approx(psi(delays, periods, rounds), rel=1e-12)


def test_the_papers_formulas_by_name():
    """tau = 20, pi = 2, P = 25, as in the paper's set-up: nothing of the above is used."""
    d = {"theta_w": 0.5, "theta_e": 0.25, "theta_c": 0.125, "phi_w2e": 2.0, "phi_e2c": 8.0, "phi_w2c": 9.0}
    tree = Tree.regular(edges=2, workers_per_edge=2)
    assert total(hiermo.HierMo(), tree, (20, 2), 25, d) == 25 * (40 * 0.5 + 2 * 0.25 + 0.125 + 2 * 2.0 + 8.0)
    assert total(hiermo.FedAvg(), tree.flatten(), (40,), 25, d) == 25 * (40 * 0.5 + 0.125 + 9.0)
    del d["phi_w2c"]  # by way of the edge
    assert total(hiermo.FedAvg(), tree.flatten(), (40,), 25, d) == 25 * (40 * 0.5 + 0.125 + 2.0 + 8.0)


def test_every_iteration_and_merge_of_a_round_has_its_moment():
    d = {"theta_w": 1.0, "theta_e": 10.0, "theta_c": 100.0, "phi_w2e": 2000.0, "phi_e2c": 40000.0}
    events, seconds = followed(hiermo.HierFAVG(), Tree.branching(2, 2), (2, 2), 1, d)
    moments = [(type(e).__name__, s) for e, s in zip(events, seconds, strict=True) if isinstance(e, (Step, Merge))]
    assert moments == [
        ("Step", 21001), ("Step", 21002), ("Merge", 22012),
        ("Step", 23013), ("Step", 23014), ("Merge", 24024), ("Merge", 44124),
    ]  # fmt: skip


sources = st.one_of(
    st.floats(0.01, 10).map(lambda mean: ({"kind": "gamma", "mean": mean, "cv": 0.7}, mean)),
    st.floats(0.01, 10).map(lambda mean: ({"kind": "lognormal", "mean": mean, "sigma": 1.1}, mean)),
    st.floats(0.01, 10).map(lambda mean: ({"kind": "shifted_exponential", "shift": mean / 2, "mean": mean}, mean)),
    st.lists(st.floats(0.01, 10), min_size=1).map(lambda some: ({"kind": "samples", "seconds": some}, np.mean(some))),
)


@settings(max_examples=50)
@given(st.fixed_dictionaries(dict.fromkeys(LETTERS, sources)), periods_of_any_depth, rounds_of_a_run)
def test_at_the_means_of_any_distributions_a_run_takes_psi_seconds(said, periods, rounds):
    delays = Delays.of_table({letter: table for letter, (table, _) in said.items()}).at_means()
    found = total(hiermo.HierFAVG(), shape(periods), periods, rounds, delays)
    assert found == pytest.approx(psi({letter: mean for letter, (_, mean) in said.items()}, periods, rounds), rel=1e-12)


def test_at_the_means_of_bandwidths_a_message_takes_the_mean_of_its_seconds():
    """A gamma's inverse has the mean 1 / mean (1 - cv**2), a log-normal's (1 + cv**2) / mean."""
    table = {
        "phi_w2e": {
            "latency_s": 0.5,
            "up_bandwidth": {"kind": "gamma", "mean": 10.0, "cv": 0.5},
            "down_bandwidth": 20.0,
        },
        "phi_e2c": {"bandwidth": {"kind": "lognormal", "mean": 10.0, "cv": 0.5}},
    }
    size = 2 * 4 * 100  # HierMo's two vectors
    w2e, e2c = 2 * 0.5 + size * (1 / (10 * 0.75) + 1 / 20), 2 * size * 1.25 / 10
    found = total(hiermo.HierMo(), Tree.branching(2, 2), (3, 4), 2, Delays.of_table(table).at_means(), ModelSize(100))
    assert found == pytest.approx(2 * (4 * w2e + e2c), rel=1e-12)


def test_the_mean_of_a_chain_that_waits_for_nobody_is_psi():
    """One worker under one edge, 400 rounds: the deviation of the mean is sqrt(sum of variances), 2 % of it here."""
    cv, means = 0.5, {"theta_w": 1.0, "theta_e": 2.0, "theta_c": 3.0, "phi_w2e": 4.0, "phi_e2c": 5.0}
    table = {letter: {"kind": "gamma", "mean": mean, "cv": cv} for letter, mean in means.items()}
    found = total(hiermo.HierFAVG(), Tree.branching(1, 1), (2, 2), 400, table)
    expected = psi(means, (2, 2), 400)
    deviation = cv * np.sqrt(400 * (4 * 1 + 2 * 4 + 9 + 2 * 16 + 25))
    assert abs(found - expected) < 4 * deviation < 0.05 * expected
    assert found != total(hiermo.HierFAVG(), Tree.branching(1, 1), (2, 2), 400, table, seed=1)


def test_who_waits_for_the_slowest_of_many_takes_longer_than_psi():
    table = {"theta_w": {"kind": "gamma", "mean": 1.0, "cv": 0.5}}
    one, many = (total(hiermo.HierFAVG(), Tree.branching(1, n), (2, 2), 20, table) for n in (1, 50))
    assert many > 1.5 * one


# --- against plain loops ---

X, XM = Message(1), Message(2)
ANSWER = Message(1, model=False)


class DeepMime(hiermo.Mime):
    tiers = None


class DeepLite(hiermo.MimeLite):
    tiers = None


class DeepScaffold(hiermo.SCAFFOLD):
    tiers = None


# algorithm: (up, down of the lowest link, of those above, survey up and down, gradients, full gradient on sending)
CASES = {
    hiermo.HierFAVG(): (X, X, X, None, None, 1, False),
    hiermo.HierMo(): (XM, XM, XM, None, None, 1, False),
    DeepMime(): (X, XM, XM, ANSWER, ANSWER, 2, False),
    DeepLite(): (X, XM, XM, ANSWER, None, 1, False),
    DeepScaffold(option=1): (XM, XM, XM, None, None, 1, True),
    DeepScaffold(option=2): (XM, XM, XM, None, None, 1, False),
}


def sizes_of(case, links, parameters, statistics):
    up, lowest, above, asked, told, gradients, full = case
    weigh = lambda message: 0 if message is None else message.bytes(parameters, statistics)  # noqa: E731
    sizes = {
        "up": [weigh(up)] * links,
        "down": [weigh(lowest), *[weigh(above)] * (links - 1)],
        "asked": [weigh(asked)] * links,
        "told": [weigh(told)] * links,
    }
    return sizes, gradients, full


def name_of(tier, node):
    return f"worker {node}" if tier == 0 else f"node {node} of tier {tier}"


class Random:
    """Delays of every node of a tree: eighths of a second, and powers of two, so that sums are exact."""

    def __init__(self, tree, rng, shared_up=(), shared_down=()):
        links = tree.tiers - 1
        self.compute = [rng.integers(0, 99, n) / 8 for n in tree.counts]
        self.latency = [rng.integers(0, 99, n) / 8 for n in tree.counts[:-1]]
        self.bandwidth = {way: [2.0 ** rng.integers(-3, 6, n) for n in tree.counts[:-1]] for way in ("up", "down")}
        key = "cloud_link" if links == 1 else "link"
        self.table = {"device": []}
        for tier, n in enumerate(tree.counts):
            for i in range(n):
                device = {"nodes": [name_of(tier, i)], "compute": float(self.compute[tier][i])}
                if tier < links:
                    shared = {(True, True): True, (True, False): "up", (False, True): "down"}.get(
                        (tier in shared_up, tier in shared_down), False
                    )
                    device[key] = {
                        "latency_s": float(self.latency[tier][i]),
                        "up_bandwidth": float(self.bandwidth["up"][tier][i]),
                        "down_bandwidth": float(self.bandwidth["down"][tier][i]),
                        "shared": shared,
                    }
                self.table["device"].append(device)

    def world(self, tree, sizes, gradients, batches, full, shared_up=(), shared_down=()):
        def way(direction):
            return lambda link, i, t: (self.latency[link][i], 1 / self.bandwidth[direction][link][i])

        return World(
            [tier.tolist() for tier in tree.parents], lambda tier, i, t: self.compute[tier][i], way("up"), way("down"),
            sizes, gradients, batches, full, frozenset(shared_up), frozenset(shared_down),
        )  # fmt: skip


def assert_by_hand(algorithm, case, tree, periods, rng, shared_up=(), shared_down=()):
    parameters, statistics = int(rng.integers(1, 20)), int(rng.integers(0, 3))
    batches = (rng.integers(1, 9, tree.n_workers) / 2).tolist()
    model = ModelSize(parameters, statistics=statistics, batches=batches)
    delays = Random(tree, rng, shared_up, shared_down)
    events, found = followed(algorithm, tree, periods, 2, delays.table, model)
    sizes, gradients, full = sizes_of(case, tree.tiers - 1, parameters, statistics)
    expected = delays.world(tree, sizes, gradients, batches, full, shared_up, shared_down).seconds(events)
    assert found == expected


@pytest.mark.parametrize("algorithm", CASES, ids=lambda a: f"{type(a).__name__} {getattr(a, 'option', '')}".strip())
@settings(max_examples=25)
@given(tree=trees(), periods=st.lists(st.integers(1, 3), min_size=3, max_size=3), seed=st.integers(0, 2**32))
def test_a_merge_waits_for_its_slowest_child_as_plain_loops_have_it(algorithm, tree, periods, seed):
    assert_by_hand(algorithm, CASES[algorithm], tree, tuple(periods[: tree.tiers - 1]), np.random.default_rng(seed))


@settings(max_examples=60)
@given(
    trees(), st.integers(0, 2**32), st.sets(st.integers(0, 2)), st.sets(st.integers(0, 2)), st.sampled_from(list(CASES))
)
def test_on_a_shared_line_messages_of_siblings_go_one_after_the_other(tree, seed, up, down, algorithm):
    """First come, first served, those who come together by index; other parents' lines are their own."""
    periods = (2, 1, 2)[: tree.tiers - 1]
    assert_by_hand(algorithm, CASES[algorithm], tree, periods, np.random.default_rng(seed), up, down)


CFL_CASE = {"up": [4 * 5, 4 * 6], "down": [4 * 5, 4 * 6], "asked": [0, 0], "told": [0, 0]}  # a stamp to the cloud


@pytest.mark.parametrize("schedule", ["async", "sequential"])
@given(tree=trees(st.just(3)), seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_cfl_as_plain_loops_have_it(schedule, tree, seed):
    delays = Random(tree, np.random.default_rng(seed))
    events, found = followed(hiermo.CFL(schedule=schedule), tree, (2, 2), 3, delays.table, ModelSize(5))
    assert found == delays.world(tree, CFL_CASE, 1, [], False).seconds(events)


NOISY = {
    "theta_w": {"kind": "gamma", "mean": 1.0, "cv": 0.4},
    "theta_e": {"kind": "lognormal", "mean": 0.5, "cv": 0.3},
    "theta_c": {"kind": "samples", "seconds": [0.5, 1.5, 4.0]},
    "phi_w2e": {
        "latency_s": {"kind": "gamma", "mean": 0.2, "cv": 1},
        "bandwidth": {"kind": "gamma", "mean": 9, "cv": 0.3},
    },
    "phi_e2c": {"kind": "shifted_exponential", "shift": 1.0, "mean": 3.0},
    "device": [{"compute": 2.0}, {}],
}


@pytest.mark.parametrize("tiers", [2, 3, 4])
@pytest.mark.parametrize("algorithm", [hiermo.HierMo(), DeepMime()], ids=["HierMo", "Mime"])
def test_random_delays_are_drawn_at_the_t_of_their_event(algorithm, tiers):
    """Up at the t of the merge, down at that of the merge before, each node its own."""
    tree = {2: Tree.branching(5), 3: Tree.from_groups([[0, 2], [1, 3, 4]]), 4: Tree.branching(2, 1, 2)}[tiers]
    network = Network(Delays.of_table(NOISY), tree, 3, lambda tier: 0.0)
    batches = [2.0] * tree.n_workers

    def way(direction):
        def seconds(link, i, t):
            ways = getattr(network, direction)[link]
            latency = sum(each.latency.at(t)[i] for each in ways)
            return latency, sum(each.per_byte.at(t)[i] for each in ways)

        return seconds

    sizes, gradients, full = sizes_of(CASES[algorithm], tiers - 1, 6, 0)
    world = World(
        [each.tolist() for each in tree.parents], lambda tier, i, t: network.compute[tier].at(t)[i], way("up"),
        way("down"), sizes, gradients, batches, full,
    )  # fmt: skip
    periods = (3, 2, 2)[: tiers - 1]
    events, found = followed(algorithm, tree, periods, 3, NOISY, ModelSize(6, batches=batches), seed=3)
    assert found == pytest.approx(world.seconds(events), rel=1e-12)  # the same sums in another order


def test_a_line_that_is_shared_by_one_is_as_if_it_were_not():
    tree, link = Tree.from_groups([[0], [1]]), {"latency_s": 1.0, "bandwidth": 4.0}
    alone, shared = (
        total(hiermo.HierFAVG(), tree, (1, 1), 2, {"phi_w2e": link | {"shared": said}}) for said in (False, True)
    )
    assert alone == shared == 2 * 2 * (1.0 + 1.0)


def test_siblings_that_share_a_line_take_their_turns():
    """Four messages of 8 s each up and down: the last is through after 32 s."""
    tree, link = Tree.branching(2, 4), {"latency_s": 1.0, "bandwidth": 0.5, "shared": True}
    assert total(hiermo.HierFAVG(), tree, (1, 1), 1, {"phi_w2e": link}) == 33 + 33 - 24
    assert total(hiermo.HierFAVG(), tree, (1, 1), 1, {"phi_w2e": link, "theta_w": 100.0}) == 33 + 100 + 9
    up_only = {"phi_w2e": link | {"shared": "up"}}
    assert total(hiermo.HierFAVG(), tree, (1, 1), 1, up_only) == 9 + 33


def test_who_does_not_share_passes_those_who_do():
    """Worker 0 has a line of its own; 1 and 2 take turns."""
    tree = Tree.branching(1, 3)
    table = {
        "phi_w2e": {"up_bandwidth": 1.0, "shared": "up"},
        "device": [{"nodes": ["worker 0"], "link": {"up_s": 5.0, "down_s": 0.0}}],
    }
    setting = Setting(tree, (1, 1), 1)
    player = Clock(Delays.of_table(table)).of_run(hiermo.HierFAVG(), setting, SMALL).player()
    assert player.timeline.arrivals(Merge(1, 1)).tolist() == [5, 4, 8]


def test_where_all_share_the_way_by_the_edge_both_stretches_count():
    tree = Tree.branching(3)
    table = {"phi_w2e": {"latency_s": 1.0, "bandwidth": 1.0, "shared": "up"}, "phi_e2c": {"up_s": 10.0, "down_s": 7.0}}
    assert total(hiermo.FedAvg(), tree, (1,), 1, table) == (7 + 1 + 4) + (1 + 3 * 4 + 10)


def test_by_way_of_the_edge_a_message_down_passes_the_clouds_line_first_and_one_up_last():
    """Of 4 s each; then worker 1 is 10 s away."""
    table = {
        "phi_e2c": {"bandwidth": 1.0, "shared": True},
        "device": [{"nodes": ["worker 1"], "link": {"latency_s": 10.0}}],
    }
    setting = Setting(Tree.branching(2), (1,), 1)
    player = Clock(Delays.of_table(table)).of_run(hiermo.FedAvg(), setting, SMALL).player()
    assert player.timeline.arrivals(Merge(1, 1)).tolist() == [4, 14]
    player.play(Spread(1, 1))
    assert player.timeline.free[0].tolist() == [4, 18]


def test_a_fast_edge_does_not_wait_for_a_slow_one_before_the_cloud():
    """Edge 0 does its two rounds in 4 s, edge 1 in 40 s; only the cloud waits."""
    tree = Tree.from_groups([[0], [1]])
    table = {"device": [{"nodes": ["worker 0"], "compute": 1.0}, {"nodes": ["worker 1"], "compute": 10.0}]}
    setting = Setting(tree, (2, 2), 4)
    bound = hiermo.HierFAVG().bind(setting)
    player = Clock(Delays.of_table(table)).of_run(bound, setting, ModelSize(1)).player()
    for event in bound.plan(setting):
        player.play(event)
        if event == Merge(4, 1):
            assert player.timeline.free[1].tolist() == [4, 40]
    assert player.timeline.free[2].tolist() == [40]


def test_running_statistics_travel_with_models_and_not_with_answers():
    table = {"phi_w2c": {"bandwidth": 4.0}}
    model = ModelSize(3, statistics=5)
    assert total(hiermo.FedAvg(), Tree.branching(1), (1,), 1, table, model) == 2 * (3 + 5)
    # Mime: x up, x and m down with statistics; the gradient up and its mean down without
    assert total(hiermo.Mime(), Tree.branching(1), (1,), 1, table, model) == (3 + 5) + (6 + 5) + 3 + 3


@pytest.mark.parametrize(
    ("algorithm", "up", "down"),
    [(hiermo.HierFAVG(), 1, 1), (hiermo.HierMo(), 2, 2)],
    ids=repr,
)
def test_the_bytes_of_an_algorithms_messages_are_its_time(algorithm, up, down):
    tree, model = Tree.branching(2, 2), ModelSize(10)
    table = {"phi_w2e": {"up_bandwidth": 40.0}, "phi_e2c": {"down_bandwidth": 40.0}}
    assert total(algorithm, tree, (2, 3), 2, table, model) == 2 * (3 * up + down)


def test_numbers_of_eight_bytes_take_twice_the_time_of_four():
    table = {"phi_w2e": {"bandwidth": 4.0}}
    four, eight = (
        total(hiermo.HierFAVG(), Tree.branching(1, 1), (1, 1), 1, table, ModelSize(7, size)) for size in (4, 8)
    )
    assert eight == 2 * four == 4 * 7


def test_a_full_gradient_takes_as_long_as_its_batches():
    """Mime: worker 0 has 3 batches, worker 1 half of one and is ten times slower."""
    tree, model = Tree.branching(2), ModelSize(1, batches=[3.0, 0.5])
    table = {"device": [{"nodes": ["worker 0"], "compute": 1.0}, {"nodes": ["worker 1"], "compute": 10.0}]}
    assert total(hiermo.Mime(), tree, (2,), 1, table, model) == 5 + 2 * 2 * 10  # two gradients per iteration
    assert total(hiermo.MimeLite(), tree, (2,), 1, table, model) == 5 + 2 * 10
    assert total(hiermo.SCAFFOLD(option=1), tree, (2,), 1, table, model) == 2 * 10 + 5
    assert total(hiermo.SCAFFOLD(option=2), tree, (2,), 1, table, model) == 2 * 10


def test_answers_that_nobody_is_told_are_not_waited_for():
    """MimeLite's workers go on while their gradients climb; the cloud has them long before the models come."""
    tree, table = Tree.branching(2), {"theta_w": 1.0, "phi_w2c": {"up_s": 4.0, "down_s": 100.0}}
    assert total(hiermo.MimeLite(), tree, (9,), 1, table) == 100 + 1 + 9 + 4
    assert total(hiermo.Mime(), tree, (9,), 1, table) == 100 + 1 + 4 + 100 + 2 * 9 + 4


def test_an_arrival_at_the_cloud_is_not_later_for_a_pull_that_is_still_on_its_way():
    """CFL: edge 1 comes every 21 s, while messages down to edge 0 take 100 s."""
    table = {
        "theta_w": 1.0,
        "device": [
            {"nodes": ["edge 0"], "link": {"up_s": 0.0, "down_s": 100.0}},
            {"nodes": ["edge 1"], "link": {"up_s": 20.0, "down_s": 0.0}},
        ],
    }
    setting = Setting(Tree.branching(2, 2), (1, 1), 4)
    bound = hiermo.CFL(order="fixed").bind(setting)
    clock = Clock(Delays.of_table(table)).of_run(bound, setting, ModelSize(1))
    found = clock.follow(bound.plan(setting._replace(clock=clock)))
    arrivals = [
        (e.children, found.at(k).seconds) for k, e in enumerate(found, 1) if isinstance(e, Merge) and e.tier == 2
    ]
    assert arrivals == [
        ((1,), 21),
        ((1,), 42),
        ((1,), 63),
        ((1,), 84),
        ((0,), 101),
        ((1,), 105),
        ((1,), 126),
        ((1,), 147),
    ]


def test_events_of_some_nodes_leave_the_others_alone():
    tree = Tree.from_groups([[0, 2], [1, 3]])
    setting = Setting(tree, (1, 1), 1)
    delays = Delays.of_table({"theta_w": 1.0, "phi_w2e": 4.0, "phi_e2c": 20.0, "theta_e": 100.0})
    player = Clock(delays).of_run(hiermo.HierFAVG(), setting, ModelSize(1)).player()
    free = player.timeline.free

    def after(event):
        player.play(event)
        return [each.tolist() for each in free]

    assert after(Step(1, (0, 3))) == [[1, 0, 0, 1], [0, 0], [0]]
    assert after(Merge(1, 1, (3,))) == [[1, 0, 0, 1], [0, 103], [0]]
    assert after(Merge(1, 2, (1,))) == [[1, 0, 0, 1], [0, 103], [113]]
    assert after(Spread(2, 2, (0,))) == [[125, 0, 125, 1], [123, 103], [113]]
    assert after(Spread(2, 2, workers=np.array([1]))) == [[125, 125, 125, 1], [123, 123], [113]]
    assert after(Spread(2, 1, (3,))) == [[125, 125, 125, 125], [123, 123], [113]]


def test_a_million_workers():
    """Two cloud rounds of 1000 edges with random delays; the memory is that of some ten numbers per worker."""
    tree = Tree.regular(edges=1000, workers_per_edge=1000)
    table = {
        "theta_w": {"kind": "lognormal", "mean": 1.0, "cv": 0.5},
        "phi_w2e": {"latency_s": 0.1, "bandwidth": {"kind": "gamma", "mean": 4.0, "cv": 0.5}},
        "phi_e2c": 1.0,
    }
    tracemalloc.start()
    events, seconds = followed(hiermo.HierFAVG(), tree, (1, 1), 2, table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    network, size = Network(Delays.of_table(table), tree, 0, lambda tier: 0.0), 4.0
    rounds = [
        network.down[0][0].seconds(t - 1, None, size)
        + network.compute[0].at(t)
        + network.up[0][0].seconds(t, None, size)
        for t in (1, 2)
    ]
    assert len(events) == 8
    assert seconds[-1] == pytest.approx(sum(1.0 + each.max() for each in rounds), rel=1e-12)  # sums in another order
    assert peak < 300e6
