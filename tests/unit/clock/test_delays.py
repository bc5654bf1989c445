"""What a table, a file or a built-in profile of delays says of which node."""

from pathlib import Path

import numpy as np
import pytest

import hiermo
from hiermo import Delays, UserError
from hiermo.clock.delays import load_delays, parse_delays, profile, profiles
from hiermo.clock.network import Network
from hiermo.clock.nodes import Nodes, named_nodes
from hiermo.clock.sources import Constant, Gamma, Inverse, Lognormal, Samples, ShiftedExponential, Times, sigma_to_cv
from hiermo.clock.values import Speed, Way

TREE = hiermo.Tree.from_groups([[0, 1, 2], [3, 4]])
DEEP = hiermo.Tree.branching(2, 2, 2)  # 8 workers, 4 edges, 2 nodes, cloud
DEEPER = hiermo.Tree.branching(1, 2, 1, 2)


def compute(table, tree=TREE, work=0.0):
    """What every node takes on average to compute, tier by tier."""
    network = Network(parse_delays(table).at_means(), tree, 0, lambda tier: work)
    return [each.at(1).tolist() for each in network.compute]


def links(table, tree=TREE, size=0.0):
    """(up, down): what a message takes on average above every node, tier by tier."""
    network = Network(parse_delays(table).at_means(), tree, 0, lambda tier: 0.0)
    return tuple(
        [sum(way.seconds(1, None, size) for way in ways).tolist() for ways in direction]
        for direction in (network.up, network.down)
    )


LETTERS = {"theta_w": 1.0, "theta_e": 2.0, "theta_c": 4.0, "phi_w2e": 8.0, "phi_e2c": 16.0}


def test_the_letters_of_the_paper_are_per_tier():
    assert compute(LETTERS) == [[1] * 5, [2] * 2, [4]]
    assert links(LETTERS) == ([[4] * 5, [8] * 2],) * 2  # half of the way there and back


def test_a_whole_number_is_as_good_as_any_other():
    assert compute({"theta_w": 1}) == [[1] * 5, [0] * 2, [0]]


def test_what_is_not_said_takes_no_time():
    assert compute({}) == [[0] * 5, [0] * 2, [0]]
    assert links({}, size=100.0) == ([[0] * 5, [0] * 2],) * 2
    assert Delays("").of("worker", "compute") == Constant(0.0) and Delays("").of("edge", "up") == Way()


def test_in_deeper_trees_every_tier_between_is_an_edge_and_every_link_but_the_topmost_a_workers():
    assert compute(LETTERS, DEEPER) == [[1] * 4, [2] * 2, [2] * 2, [2], [4]]
    assert links(LETTERS, DEEPER) == ([[4] * 4, [4] * 2, [4] * 2, [8]],) * 2
    assert links(LETTERS, DEEP) == ([[4] * 8, [4] * 4, [8] * 2],) * 2


def test_without_edges_a_message_goes_by_way_of_them_unless_phi_w2c_is_said():
    assert links(LETTERS, TREE.flatten()) == ([[4 + 8] * 5],) * 2
    assert links(LETTERS | {"phi_w2c": 10.0}, TREE.flatten()) == ([[5] * 5],) * 2
    assert compute(LETTERS, TREE.flatten()) == [[1] * 5, [4]]


def test_phi_w2c_of_some_workers_leaves_the_others_to_go_by_way_of_the_edge():
    table = LETTERS | {"device": [{"nodes": ["worker 1"], "cloud_link": 2.0}, {"nodes": ["worker 3"], "link": 40.0}]}
    assert links(table, TREE.flatten()) == ([[12, 1, 12, 28, 12]],) * 2
    assert links(table)[0] == [[4, 4, 4, 20, 4], [8] * 2]


DISTRIBUTIONS = [
    ({"kind": "constant", "seconds": 3}, Constant(3.0)),
    ({"kind": "lognormal", "mean": 2.0, "cv": 0.5}, Lognormal(2.0, 0.5)),
    ({"kind": "lognormal", "mean": 2.0, "sigma": 0.5}, Lognormal(2.0, sigma_to_cv(0.5))),
    ({"kind": "lognormal", "mean": 2.0, "cv": 0}, Constant(2.0)),
    ({"kind": "gamma", "mean": 2.0, "cv": 0.5}, Gamma(2.0, 0.5)),
    ({"kind": "gamma", "mean": 2.0, "cv": 0}, Constant(2.0)),
    ({"kind": "shifted_exponential", "shift": 1.0, "mean": 2.0}, ShiftedExponential(1.0, 2.0)),
    ({"kind": "shifted_exponential", "mean": 2.0}, ShiftedExponential(0.0, 2.0)),
    ({"kind": "shifted_exponential", "shift": 2.0, "mean": 2.0}, Constant(2.0)),
]


@pytest.mark.parametrize(("said", "source"), DISTRIBUTIONS, ids=str)
def test_distributions(said, source):
    assert parse_delays({"theta_w": said}).of("worker", "compute") == source
    half = Constant(source.seconds / 2) if isinstance(source, Constant) else Times(source, 0.5)
    assert (
        parse_delays({"phi_e2c": said}).of("edge", "down")
        == parse_delays({"phi_e2c": said}).of("edge", "up")
        == Way(half)
    )


def test_a_median_is_the_number_in_the_middle():
    source = parse_delays({"theta_w": {"kind": "lognormal", "median": 2.0, "cv": 0.5}}).of("worker", "compute")
    assert source.drawn(np.array([2**63 - 1], np.uint64))[0] == pytest.approx(2.0, rel=1e-9)


def test_samples_in_a_table():
    source = parse_delays({"theta_w": {"kind": "samples", "seconds": [1, 2.5]}}).of("worker", "compute")
    assert isinstance(source, Samples) and source.values.tolist() == [1, 2.5]


def test_the_pace_of_a_device_depends_on_the_model():
    assert compute({"theta_w": {"kind": "speed", "flops_per_s": 50.0}}, work=100.0)[0] == [2] * 5
    assert parse_delays({"theta_w": {"kind": "speed", "flops_per_s": 50.0, "cv": 0.1}}).of(
        "worker", "compute"
    ) == Speed(flops_per_s=50.0, cv=0.1)
    assert Speed(flops_per_s=50.0, cv=0.1).source(100.0) == Lognormal(2.0, 0.1)
    assert Speed(flops_per_s=50.0, cv=0.1).source(0.0) == Constant(0.0)  # where nobody counted


def test_a_link_is_latency_and_bytes_over_bandwidth_one_way():
    assert links({"phi_w2e": {"latency_s": 0.5, "bandwidth": 4.0}}, size=8.0) == ([[2.5] * 5, [0] * 2],) * 2
    apart = {"phi_w2e": {"latency_s": 0.5, "up_bandwidth": 4.0, "down_bandwidth": 16.0}}
    assert links(apart, size=8.0) == ([[2.5] * 5, [0] * 2], [[1.0] * 5, [0] * 2])
    mixed = {"phi_w2e": {"latency_s": 0.5, "bandwidth": 4.0, "down_bandwidth": 16.0}}
    assert links(mixed, size=8.0) == links(apart, size=8.0)
    assert links({"phi_w2e": {"latency_s": 0.5}}, size=8.0)[0][0] == [0.5] * 5
    assert links({"phi_w2e": {"bandwidth": 2}}, size=8.0)[0][0] == [4] * 5


def test_a_delay_as_such_is_one_way_whatever_the_size():
    table = {"phi_e2c": {"up_s": 3.0, "latency_s": 1.0, "bandwidth": 8.0}}
    assert links(table, size=8.0) == ([[0] * 5, [3] * 2], [[0] * 5, [2] * 2])
    assert links({"phi_e2c": {"up_s": 3.0, "down_s": 1.0}}, size=8.0) == ([[0] * 5, [3] * 2], [[0] * 5, [1] * 2])
    assert links({"phi_e2c": {"up_s": 3.0, "down_bandwidth": 2.0}}, size=8.0)[1][1] == [4] * 2


def test_a_bandwidth_may_vary_and_its_mean_is_that_of_the_seconds():
    wide = {"kind": "gamma", "mean": 4.0, "cv": 0.5}
    assert parse_delays({"phi_w2e": {"bandwidth": wide}}).of("worker", "up").per_byte == Inverse(Gamma(4.0, 0.5))
    assert links({"phi_w2e": {"bandwidth": wide}}, size=12.0)[0][0] == [12 / 4 / (1 - 0.5**2)] * 5


def test_a_message_of_no_bytes_takes_the_latency():
    assert links({"phi_w2e": {"latency_s": 0.5, "bandwidth": 4.0}}, size=0.0)[0][0] == [0.5] * 5


def test_shared_in_both_directions_or_in_one():
    def shared(said):
        delays = parse_delays({"phi_w2e": {"bandwidth": 4.0, "shared": said}})
        return delays.of("worker", "up").shared, delays.of("worker", "down").shared

    assert [shared(said) for said in (True, False, "up", "down")] == [
        (True, True), (False, False), (True, False), (False, True),
    ]  # fmt: skip


def test_devices_take_turns_among_the_workers():
    table = {"theta_w": 9.0, "theta_e": 7.0, "device": [{"name": "a", "compute": 1.0}, {"link": 4.0}, {"compute": 3.0}]}
    assert compute(table) == [[1, 9, 3, 1, 9], [7] * 2, [0]]
    assert links(table) == ([[0, 2, 0, 0, 2], [0] * 2],) * 2


def test_devices_with_nodes_have_those():
    device = {"nodes": ["workers 3-4", "worker 0", "edge 1", "cloud"], "compute": 5.0, "link": 2.0}
    assert compute({"device": [device]}) == [[5, 0, 0, 5, 5], [0, 5], [5]]
    assert links({"device": [device]}) == ([[1, 0, 0, 1, 1], [0, 1]],) * 2


def test_a_device_may_have_a_speed_of_its_own():
    table = {"theta_w": 1.0, "device": [{"nodes": ["worker 2"], "compute": {"kind": "speed", "flops_per_s": 10.0}}]}
    assert compute(table, work=30.0)[0] == [1, 1, 3, 1, 1]


def test_a_later_device_goes_before_an_earlier_one():
    devices = [{"nodes": ["workers 0-2"], "compute": 1.0}, {"nodes": ["workers 1-3"], "compute": 2.0}]
    assert compute({"device": devices})[0] == [1, 2, 2, 2, 0]


def test_one_node_goes_before_some_and_those_before_turns_and_those_before_all_in_any_order():
    devices = [
        {"nodes": ["worker 1"], "compute": 1.0},
        {"nodes": ["workers 0-2"], "compute": 2.0},
        {"compute": 3.0},
        {"link": 3.0},
        {"nodes": ["worker"], "compute": 4.0},
    ]
    for order in (devices, devices[::-1]):
        expected = [2, 1, 2, 4, 3] if order is devices else [2, 1, 2, 3, 4]
        assert compute({"theta_w": 5.0, "device": order})[0] == expected


def test_a_table_goes_before_its_profile():
    table = {"profile": "paper", "theta_w": 1.0, "device": [{"nodes": ["edge 0"], "compute": 5.0}]}
    found = compute(table, work=5e9)
    assert found[0] == [1] * 5 and found[1] == [5, 1] and found[2] == [0.5]
    assert parse_delays({"profile": "paper", "phi_e2c": 4.0}).of("edge", "up") == Way(Constant(2.0))


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("worker", Nodes("worker")), ("workers", Nodes("worker")), ("Edge", Nodes("edge")), ("cloud", Nodes("cloud")),
        ("cloud 0", Nodes("cloud")), ("worker 3", Nodes("worker", 3, 3)), (" worker3 ", Nodes("worker", 3, 3)),
        ("worker-3", Nodes("worker", 3, 3)), ("worker_3", Nodes("worker", 3, 3)), ("edge/1", Nodes("edge", 1, 1)),
        ("workers 0-9", Nodes("worker", 0, 9)), ("edges 1 to 2", Nodes("edge", 1, 2)), ("tier 2", Nodes(2)),
        ("workers 0 - 9", Nodes("worker", 0, 9)), ("node 1 of tier 2", Nodes(2, 1, 1)),
    ],
)  # fmt: skip
def test_names_of_nodes(name, nodes):
    assert named_nodes(name) == nodes


@pytest.mark.parametrize(
    "name", ["", "phone", "worker three", "tier", "node 1", "cloud 1", "workers 1-", "worker -", "9" * 5000]
)
def test_other_names_are_none_of_a_node(name):
    assert named_nodes(name) is None
    assert named_nodes(f"worker {'9' * 5000}") is None


def test_nodes_of_deeper_trees():
    device = {"nodes": ["edge 1"], "compute": 1.0}
    assert compute({"device": [device]}, DEEP) == [[0] * 8, [0, 1, 0, 0], [0] * 2, [0]]
    table = {"theta_e": 9.0, "device": [{"nodes": ["tier 2"], "compute": 2.0}, {"nodes": ["tier 3"], "compute": 3.0}]}
    assert compute(table, DEEP) == [[0] * 8, [9] * 4, [2] * 2, [3]]
    assert compute({"device": [{"nodes": ["node 1 of tier 2"], "compute": 2.0}]}, DEEP)[2] == [0, 2]
    assert compute({"device": [{"nodes": ["tier 0"], "compute": 2.0}]}, DEEP)[0] == [2] * 8
    device = {"nodes": ["node 1 of tier 2", "edge 0"], "link": 6.0}
    assert links(LETTERS | {"device": [device]}, DEEP)[0] == [[4] * 8, [3, 4, 4, 4], [8, 3]]


@pytest.mark.parametrize(
    "name",
    [
        "worker 5", "workers 3-7", "workers 3-1", "edge 2", "tier 3", "node 2 of tier 1", "node 0 of tier 9",
        "node 1 of tier 2",
    ],
)  # fmt: skip
def test_nodes_that_the_tree_does_not_have_are_refused(name):
    delays = parse_delays({"device": [{"nodes": [name], "compute": 1.0}]})
    with pytest.raises(UserError, match=rf"\Adelays: there is no {name}: the tree has 5 workers, 2 edges, cloud\Z"):
        delays.check(TREE)
    with pytest.raises(UserError, match="there is no"):
        Network(delays, TREE, 0, lambda tier: 0.0)


@pytest.mark.parametrize(
    "name", ["worker 4", "workers 0-4", "edge 1", "edges 0-1", "tier 2", "node 0 of tier 2", "cloud"]
)
def test_nodes_that_the_tree_has_are_not_refused(name):
    parse_delays({"device": [{"nodes": [name], "compute": 1.0}]}).check(TREE)


def test_a_flattened_tree_has_lost_its_edges_and_nobody_minds():
    names = ["edge 1", "edge", "node 1 of tier 1", "tier 2"]
    delays = parse_delays({"device": [{"nodes": names, "compute": 1.0, "link": 1.0}]})
    delays.check(TREE.flatten())
    with pytest.raises(UserError, match="there is no worker 5"):
        parse_delays({"device": [{"nodes": ["worker 5"], "compute": 1.0}]}).check(TREE.flatten())


def test_a_table_is_kept_as_it_was_said():
    table = {"name": "mine", "theta_w": {"kind": "gamma", "mean": 1.0, "cv": 0.1}, "device": [{"compute": 1.0}]}
    assert parse_delays(table).table == table and str(parse_delays(table)) == "mine"
    assert Delays.of_table({}).name == "a table"


def test_at_its_means_every_delay_is_a_constant():
    table = {
        "theta_w": {"kind": "speed", "flops_per_s": 2.0, "cv": 0.5},
        "theta_e": {"kind": "gamma", "mean": 3.0, "cv": 0.5},
        "theta_c": {"kind": "samples", "seconds": [1, 2, 6]},
        "phi_w2e": {"kind": "shifted_exponential", "shift": 1.0, "mean": 4.0},
        "phi_e2c": {"latency_s": {"kind": "gamma", "mean": 3.0, "cv": 0.5}, "bandwidth": 4.0, "shared": True},
    }
    means = parse_delays(table).at_means()
    assert means.of("worker", "compute").source(6.0) == Constant(3.0)
    assert means.of("edge", "compute") == means.of("cloud", "compute") == Constant(3.0)
    assert means.of("worker", "up") == means.of("worker", "down") == Way(Constant(2.0))
    assert means.of("edge", "up") == Way(Constant(3.0), Constant(0.25), shared=True)
    assert str(means) == "the recipe's [delays], at its means"


def test_a_file_of_delays(tmp_path):
    path = tmp_path / "slow.toml"
    path.write_text("theta_w = 2.0\n[[device]]\nnodes = ['edge 0']\ncompute = 1.0\n")
    delays = load_delays(str(path))
    assert str(delays) == "slow.toml" and delays.of("worker", "compute") == Constant(2.0)
    path.write_text("name = 'a recipe'\n[delays]\nname = 'mine'\ntheta_w = 3.0\n")
    assert str(Delays.load(str(path))) == "mine" and load_delays(str(path)).of("worker", "compute") == Constant(3.0)


def test_a_file_of_delays_names_its_trace_from_its_own_folder(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "trace.csv").write_text("node,kind,seconds\nworker,compute,3\n")
    (tmp_path / "there" / "delays.toml").write_text("trace = 'trace.csv'\n")
    assert load_delays(str(tmp_path / "there" / "delays.toml")).of("worker", "compute").mean == 3


def test_the_papers_profile_is_named_as_estimates():
    assert "estimates" in profiles()["paper"] and "estimates" in str(profile("paper"))
    loaded = load_delays("paper")
    assert loaded.rules and "estimates" in str(loaded)
    assert "estimates" in str(parse_delays(loaded.table))  # what a run writes down
    assert "estimates" in str(parse_delays({"profile": "paper", "theta_w": 1.0}))


def test_the_devices_of_the_papers_profile_take_turns():
    """A laptop and three phones, whose paces are in the file; the laptop has an older WiFi."""
    tree = hiermo.Tree.regular(edges=2, workers_per_edge=4)
    flops = [10e9, 9.4e9, 21e9, 20e9]
    found = compute({"profile": "paper"}, tree, work=1e9)
    assert found[0] == [1e9 / each for each in flops * 2]
    assert found[1] == [1e9 / 5e9] * 2 and found[2] == [1e9 / 10e9]
    up, down = links({"profile": "paper"}, tree, size=1e6)
    seconds_per_byte = (1 + 0.3**2) / np.array([9e6, 13e6, 13e6, 13e6] * 2)
    assert up[0] == down[0] == pytest.approx((0.003 + 1e6 * seconds_per_byte).tolist(), rel=1e-12)
    assert up[1] == pytest.approx([0.02 + 1.09e6 / 3.1e6] * 2, rel=1e-12)
    assert down[1] == pytest.approx([0.02 + 1.09e6 / 6.2e6] * 2, rel=1e-12)
    up, down = links({"profile": "paper"}, tree.flatten(), size=1e6)
    assert up == [pytest.approx([0.023 + 1.09e6 / 1.6e6] * 8, rel=1e-12)]
    assert down == [pytest.approx([0.023 + 1.09e6 / 3.1e6] * 8, rel=1e-12)]


def test_a_profile_can_be_copied_and_changed(tmp_path):
    text = (Path(hiermo.__file__).parent / "clock" / "profiles" / "paper.toml").read_text(encoding="utf-8")
    assert "description = " in text  # which says what it is, and is no delay
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    mine = load_delays(str(tmp_path / "mine.toml"))
    assert mine.rules == profile("paper").rules and str(mine) == "mine.toml"
