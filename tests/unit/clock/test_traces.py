"""Measured delays: what a trace means, and that whatever else is in a file is refused with its name and row."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import numpy as np
import pyarrow as pa
from pyarrow import parquet
import pytest

import hiermo
from hiermo import UserError
from hiermo.clock.delays import load_delays, parse_delays
from hiermo.clock.network import Network
from hiermo.clock.sources import Constant, Samples
from hiermo.clock.traces import KINDS, read_trace

TREE = hiermo.Tree.from_groups([[0, 1, 2], [3, 4]])


def written(folder, text, name="trace.csv"):
    path = folder / name
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text, encoding="utf-8")
    return path


def rows(*lines, header="node,kind,seconds"):
    return "\n".join([header, *lines, ""])


SIZED = "node,kind,seconds,bytes"


def samples(measured):
    """(latency, seconds per byte) as lists of samples."""
    return [each.values.tolist() if isinstance(each, Samples) else [each.seconds] for each in measured]


def means(folder, text, tree=TREE, size=0.0, **table):
    """What every worker, edge and cloud takes on average to compute, and a message of some size on each link."""
    delays = parse_delays({"trace": str(written(folder, text)), **table}).at_means()
    network = Network(delays, tree, 0, lambda tier: 0.0)
    ways = [
        [sum(way.seconds(1, None, size) for way in link).tolist() for link in ways]
        for ways in (network.up, network.down)
    ]
    return [each.at(1).tolist() for each in network.compute], *ways


FULL = rows(
    "worker,compute,0.5,",
    "worker,compute,1.5,",
    "worker 3,compute,4,",
    "edge,compute,0.25,",
    "cloud,compute,0.125,",
    "worker,up,1,",
    "worker,down,2,",
    "edge,both,10,",
    header=SIZED,
)


def test_a_trace_gives_every_node_its_samples(tmp_path):
    compute, up, down = means(tmp_path, FULL)
    assert compute == [[1, 1, 1, 4, 1], [0.25, 0.25], [0.125]]
    assert up == [[1] * 5, [5] * 2]
    assert down == [[2] * 5, [5] * 2]


def test_draws_of_a_trace_are_its_samples(tmp_path):
    delays = parse_delays({"trace": str(written(tmp_path, FULL))})
    network = Network(delays, TREE, 0, lambda tier: 0.0)
    found = {value for t in range(50) for value in network.compute[0].at(t)[:3].tolist()}
    assert found == {0.5, 1.5}


def test_parquet_gives_the_same_as_csv(tmp_path):
    text = rows(
        "worker,up,1.5,100", "worker,up,3.5,300", "0,theta_e,0.5,", "worker 2,compute,0.25,", "*,phi_e2c,1,",
        ",theta_c,2,",
        header=SIZED,
    )  # fmt: skip
    table = pa.table(
        {
            "node": ["worker", "worker", "0", "worker 2", "*", None],
            "kind": ["up", "up", "theta_e", "compute", "phi_e2c", "theta_c"],
            "seconds": [1.5, 3.5, 0.5, 0.25, 1.0, 2.0],
            "bytes": pa.array([100, 300, None, None, None, None], pa.int64()),
        }
    )
    parquet.write_table(table, tmp_path / "trace.parquet")
    csv, columns = read_trace(written(tmp_path, text)), read_trace(tmp_path / "trace.parquet")
    assert list(csv) == list(columns)
    assert {key: samples(value) for key, value in csv.items()} == {
        key: samples(value) for key, value in columns.items()
    }


def test_numbers_of_nodes_may_be_numbers_in_parquet_and_the_first_is_not_everyone(tmp_path):
    table = pa.table({"node": [0, 1], "kind": ["theta_w", "theta_e"], "seconds": [3, 4]})
    parquet.write_table(table, tmp_path / "trace.pq")
    assert list(read_trace(tmp_path / "trace.pq")) == [("worker 0", "compute"), ("edge 1", "compute")]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("theta_w", ("worker", "compute")), ("theta_e", ("edge", "compute")), ("theta_c", ("cloud", "compute")),
        ("phi_w2e", ("worker", "both")), ("phi_e2c", ("edge", "both")), ("phi_w2c", ("worker", "cloud-both")),
        ("Theta-W", ("worker", "compute")), (" PHI_E2C ", ("edge", "both")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("node", ["", "*"])
def test_a_letter_of_the_paper_names_node_and_kind(tmp_path, kind, expected, node):
    assert list(read_trace(written(tmp_path, rows(f"{node},{kind},1")))) == [expected]


@pytest.mark.parametrize(
    ("node", "kind", "expected"),
    [
        ("3", "theta_w", ("worker 3", "compute")),
        ("worker 3", "phi_w2e", ("worker 3", "both")),
        ("edge 0", "phi_e2c", ("edge 0", "both")),
        ("0", "theta_c", ("cloud 0", "compute")),
        ("phone", "theta_w", ("phone", "compute")),
        ("tier 2", "theta_e", ("tier 2", "compute")),
    ],
)
def test_a_letter_of_one_node(tmp_path, node, kind, expected):
    assert list(read_trace(written(tmp_path, rows(f"{node},{kind},1")))) == [expected]


@pytest.mark.parametrize(
    ("node", "kind", "whose"),
    [
        ("edge 0", "theta_w", "a worker"), ("worker", "phi_e2c", "an edge"), ("worker 1", "theta_c", "the cloud"),
        ("laptop", "theta_e", "an edge"), ("3", "theta_c", "the cloud"),
    ],
)  # fmt: skip
def test_a_letter_of_another_tiers_node_is_refused(tmp_path, node, kind, whose):
    """A class of devices takes turns among the workers: of an edge it must be said by `compute`, and be placed."""
    with pytest.raises(UserError, match=f"trace.csv: row 2: {kind} is a delay of {whose}, not of"):
        read_trace(written(tmp_path, rows(f"{node},{kind},1")))


@pytest.mark.parametrize(
    ("word", "kind"), [("Upload", "up"), ("round trip", "both"), ("STEP", "compute"), ("cloud up", "cloud-up")]
)
def test_other_words_for_a_kind(tmp_path, word, kind):
    assert list(read_trace(written(tmp_path, rows(f"worker,{word},1")))) == [("worker", kind)]


def test_both_is_halved_and_cloud_kinds_are_for_trees_without_edges(tmp_path):
    text = rows("worker,both,4", "worker 1,cloud-up,8", "worker 1,cloud-down,2", "worker 2,cloud-both,6", "edge,both,1")
    assert means(tmp_path, text)[1:] == ([[2] * 5, [0.5] * 2],) * 2
    _, up, down = means(tmp_path, text, TREE.flatten())
    assert up == [[2.5, 8, 3, 2.5, 2.5]]  # by way of the edge where nothing was measured
    assert down == [[2.5, 2, 3, 2.5, 2.5]]


def test_two_sizes_are_a_latency_and_a_rate(tmp_path):
    """0.25 s and 0.125 s per byte; medians, and the spread of the largest messages is that of the rate."""
    lines = [f"worker,up,{0.25 + 0.125 * size},{size}" for size in (2, 2, 10)] + [
        "worker,up,3.25,10",
        "worker,up,0.75,10",
    ]
    measured = read_trace(written(tmp_path, rows(*lines, header=SIZED)))["worker", "up"]
    assert samples(measured) == [[0.25], [0.125, 0.3, 0.05]]


def test_messages_of_a_size_between_say_nothing_more(tmp_path):
    lines = ["worker,up,1,0", "worker,up,77,5", "worker,up,3,10"]
    measured = read_trace(written(tmp_path, rows(*lines, header=SIZED)))["worker", "up"]
    assert samples(measured) == [[1], [0.2]]


def test_one_size_is_proportional(tmp_path):
    lines = ["worker,up,1,4", "worker,up,2,4"]
    _, up, down = means(tmp_path, rows(*lines, header=SIZED), size=8.0)
    assert up == [[3] * 5, [0] * 2] and down == [[0] * 5, [0] * 2]


def test_with_bytes_both_is_halved_too(tmp_path):
    lines = ["worker,both,1,0", "worker,both,3,4"]
    _, up, down = means(tmp_path, rows(*lines, header=SIZED), size=8.0)
    assert up[0] == down[0] == [2.5] * 5


def test_large_messages_that_are_quicker_than_small_ones_have_a_latency_and_no_negative_rate(tmp_path):
    lines = ["worker,up,5,1", "worker,up,2,100", "worker,up,3,100"]
    measured = read_trace(written(tmp_path, rows(*lines, header=SIZED)))["worker", "up"]
    assert samples(measured) == [[2], [0, 0.01]]


def test_messages_of_no_bytes_are_a_latency(tmp_path):
    lines = ["worker,up,5,0", "worker,up,7,0"]
    measured = read_trace(written(tmp_path, rows(*lines, header=SIZED)))["worker", "up"]
    assert samples(measured) == [[5, 7], [0]]


sizes = st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**9)), min_size=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes)
def test_what_is_measured_with_sizes_is_never_negative_and_finite(tmp_path, found):
    lines = [f"worker,up,{seconds!r},{size}" for seconds, size in found]
    latency, rate = samples(read_trace(written(tmp_path, rows(*lines, header=SIZED)))["worker", "up"])
    assert np.isfinite([*latency, *rate]).all() and min(*latency, *rate) >= 0


def test_classes_of_devices_take_turns_among_the_workers(tmp_path):
    text = rows("phone,compute,1", "laptop,compute,2", "laptop,compute,4", "phone,both,8", "worker,both,2")
    compute, up, _ = means(tmp_path, text)
    assert compute[0] == [1, 3, 1, 3, 1]
    assert up[0] == [4, 1, 4, 1, 4]  # of the laptop no link was measured: it has that of all workers


def test_classes_that_a_device_places_are_there(tmp_path):
    text = rows("phone,compute,1", "laptop,compute,2", "tower,compute,3", "tablet,compute,4")
    devices = [{"name": "tower", "nodes": ["edge 1", "worker 4"]}, {"name": "tablet", "nodes": ["workers 2-3"]}]
    compute, _, _ = means(tmp_path, text, device=devices)
    assert compute[:2] == [[1, 2, 4, 4, 3], [0, 3]]


def test_one_node_goes_before_a_range_and_that_before_a_class_and_that_before_all_in_any_order(tmp_path):
    lines = ["worker 1,compute,1", "workers 0-2,compute,2", "a,compute,3", "b,compute,3", "worker,compute,4"]
    for order in (lines, lines[::-1], [*lines[2:], *lines[:2]]):
        assert means(tmp_path, rows(*order))[0][0] == [2, 1, 2, 3, 3]


def test_the_table_beside_a_trace_goes_before_it(tmp_path):
    compute, _, _ = means(tmp_path, FULL, theta_e=7.0, device=[{"nodes": ["worker 3"], "compute": 9.0}])
    assert compute[:2] == [[1, 1, 1, 9, 1], [7, 7]]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffnode,kind,seconds\nworker,compute,2\n",
        "node , kind ,  seconds \n  worker ,  Compute , 2 \n",
        "node,kind,seconds\n\n   \n,,\nworker,compute,2\n\n",
        "node,kind,seconds\r\nworker,compute,2\r\n",
        'node,kind,seconds\n"worker","compute","2"',
        "seconds,extra,kind,node\n2,never mind,compute,worker\n",
        "node,kind,seconds,bytes\nworker,compute,2,\n",
        "node,kind,seconds,bytes\nworker,compute,2\n",
        "node,kind,seconds,bytes\nworker,compute,2,1000\n",  # computing has no size
        "node,kind,seconds\nworker,compute,2e0\n",
    ],
)
def test_ways_to_write_the_same(tmp_path, text):
    trace = read_trace(written(tmp_path, text))
    assert {key: samples(value) for key, value in trace.items()} == {("worker", "compute"): [[2], [0]]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a trace has the columns node, kind, seconds and maybe bytes, once; it has none"),
        ("node,kind\nworker,compute\n", "it has node, kind"),
        ("node;kind;seconds\n", "it has node;kind;seconds"),
        ("node,kind,seconds,seconds\nworker,compute,1,2\n", "once; it has node, kind, seconds, seconds"),
        ("node,kind,seconds\n", "there is no sample in it"),
        ("node,kind,seconds\n\n,,\n", "there is no sample in it"),
        (rows("worker,up,1", "worker,computing,2"), "row 3: there is no kind 'computing'; did you mean 'compute'?"),
        (rows("worker,thetaw,2"), "row 2: there is no kind 'thetaw'; did you mean 'theta_w'?"),
        (rows("worker,,2"), "row 2: there is no kind ''"),
        (rows("", "", ",compute,2"), "row 4: the node is missing"),
        (rows("worker,compute,fast"), "row 2: seconds must be a number, not 'fast'"),
        (rows("worker,compute,"), "row 2: seconds must be a number, not ''"),
        (rows("worker,compute"), "row 2: seconds must be a number, not None"),
        (rows("worker,compute,-1"), "row 2: seconds must be a number of at least 0, not -1"),
        (rows("worker,compute,nan"), "row 2: seconds must be a number of at least 0, not nan"),
        (rows("worker,compute,inf"), "row 2: seconds must be a number of at least 0, not inf"),
        (rows("worker,compute,1", "worker,compute,0,5"), "row 3: there are more values than columns: node, kind"),
        (rows("worker,up,1,-5", header=SIZED), "row 2: bytes must be a number of at least 0, not -5"),
        (rows("worker,up,1,many", header=SIZED), "row 2: bytes must be a number, not 'many'"),
        (rows("worker,up,1,", "worker,up,1,5", header=SIZED), "worker, up: some samples have bytes"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused_with_file_and_row(tmp_path, text, message):
    path = written(tmp_path, text)
    for read in (read_trace, lambda path: load_delays(str(path)), lambda path: parse_delays({"trace": str(path)})):
        with pytest.raises(UserError) as error:
            read(path)
        assert message in str(error.value) and str(path) in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["trace.csv", "trace.parquet", "trace.pq", "trace", "trace.csv.gz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(rubbish=st.one_of(st.binary(), st.text().map(str.encode), st.just(b"PAR1" * 9), st.just(b"a" * 200_000)))
def test_rubbish_is_refused_in_one_short_line(tmp_path, name, rubbish):
    path = written(tmp_path, rubbish, name)
    with pytest.raises(UserError) as error:
        read_trace(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < len(str(path)) + 1000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.lists(
        st.lists(st.one_of(st.text(), st.sampled_from(["worker", "edge 1", "up", "theta_w", "1", "-1"])), max_size=5)
    )
)
def test_any_table_is_a_trace_or_refused(tmp_path, table):
    path = written(
        tmp_path,
        "node,kind,seconds,bytes\n" + "\n".join(",".join(row) for row in table).encode("utf-8", "replace").decode(),
    )
    try:
        trace = read_trace(path)
    except UserError as error:
        assert str(path) in str(error)
    else:
        assert trace and all(kind in KINDS for _, kind in trace)


def test_a_binary_header_does_not_reach_the_terminal(tmp_path):
    path = written(tmp_path, b"\x1b[2J\x00node," * 50)
    with pytest.raises(UserError) as error:
        read_trace(path)
    assert str(error.value).isprintable() and len(str(error.value)) < len(str(path)) + 200


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"kind": None}, "it has node, seconds"),
        ({"seconds": ["fast"]}, "row 1: seconds must be a number, not 'fast'"),
        ({"seconds": pa.array([None], pa.float64())}, "row 1: seconds must be a number, not None"),
        ({"seconds": [True]}, "row 1: seconds must be a number of at least 0, not True"),
        ({"seconds": [[1.0]]}, "row 1: seconds must be a number, not [1.0]"),
        ({"seconds": [float("nan")]}, "row 1: seconds must be a number of at least 0, not nan"),
        ({"seconds": [-2]}, "row 1: seconds must be a number of at least 0, not -2"),
        ({"kind": [7]}, "row 1: there is no kind '7'"),
        ({"node": pa.array([None], pa.string())}, "row 1: the node is missing"),
        ({"node": ["a", "b"], "kind": ["up", "up"], "seconds": [1, -1]}, "row 2: seconds must be"),
        ({name: pa.array([], pa.string()) for name in ("node", "kind", "seconds")}, "there is no sample"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",  # an array shows its address
)
def test_parquet_with_wrong_columns_or_types_is_refused(tmp_path, columns, message):
    path = tmp_path / "trace.parquet"
    whole = {"node": ["worker"], "kind": ["compute"], "seconds": [1.0]} | columns
    parquet.write_table(pa.table({name: column for name, column in whole.items() if column is not None}), path)
    with pytest.raises(UserError) as error:
        read_trace(path)
    assert message in str(error.value) and str(path) in str(error.value)


def test_a_column_that_is_there_twice_in_parquet_is_refused(tmp_path):
    path = tmp_path / "trace.parquet"
    columns = [pa.array(["worker"]), pa.array(["compute"]), pa.array([1.0]), pa.array([2.0])]
    parquet.write_table(pa.Table.from_arrays(columns, names=["node", "kind", "seconds", "seconds"]), path)
    with pytest.raises(UserError, match=r"trace\.parquet: cannot be read: [^\n]*seconds[^\n]*\Z"):
        read_trace(path)


def test_a_file_that_is_not_there_and_a_folder(tmp_path):
    for name in ("nothing.csv", "nothing.parquet", "."):
        with pytest.raises(UserError, match="there is no file"):
            parse_delays({"trace": str(tmp_path / name)})
        with pytest.raises(UserError):
            read_trace(tmp_path / name)
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(UserError, match=r"folder\.parquet"):
        read_trace(tmp_path / "folder.parquet")


@pytest.mark.parametrize("name", ["~nobody-of-that-name/trace.csv", "x" * 5000, "a\0b", ""])
def test_a_name_that_no_file_can_have(name):
    with pytest.raises(UserError, match="there is no"):
        parse_delays({"trace": name})
    with pytest.raises(UserError, match="there is no"):
        load_delays(name)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"pip install 'hiermo\[parquet\]'"):
        read_trace(written(tmp_path, b"", "trace.parquet"))


def test_a_trace_is_looked_for_beside_the_recipe_and_then_here(tmp_path, monkeypatch):
    (tmp_path / "beside").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    here = written(tmp_path / "here", rows("worker,compute,1"))
    assert parse_delays({"trace": "trace.csv"}, [tmp_path / "beside"]).file == here
    beside = written(tmp_path / "beside", rows("worker,compute,2"))
    assert parse_delays({"trace": "trace.csv"}, [tmp_path / "beside"]).file == beside


def test_a_home_directory_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = written(tmp_path, rows("worker,compute,1"))
    assert parse_delays({"trace": "~/trace.csv"}, [tmp_path / "elsewhere"]).file == path


def test_a_trace_that_changed_is_refused(tmp_path):
    path = written(tmp_path, rows("worker,compute,1"))
    table = parse_delays({"trace": str(path)}).table
    assert parse_delays(table).table == table  # what a run writes down is what it goes on with
    written(tmp_path, rows("worker,compute,2"))
    with pytest.raises(UserError, match=r"delays\.trace: .*trace\.csv has changed since delays\.sha256 was written"):
        parse_delays(table)


def test_a_trace_is_written_down_as_it_was_said_and_may_be_moved(tmp_path):
    (tmp_path / "run").mkdir()
    path = written(tmp_path, rows("worker,compute,1"))
    delays = parse_delays({"trace": "trace.csv"}, [tmp_path])
    assert delays.table["trace"] == "trace.csv" and delays.file == path
    path.rename(tmp_path / "run" / "mine.csv")
    moved = parse_delays(delays.with_file("mine.csv").table, [tmp_path / "run"])
    assert moved.file == tmp_path / "run" / "mine.csv" and moved.table["sha256"] == delays.table["sha256"]
    assert parse_delays({}).file is None


def test_what_was_not_measured_is_told(tmp_path):
    def missing(text, **table):
        return parse_delays({"trace": str(written(tmp_path, text)), **table}).missing

    assert missing(FULL) == ()
    assert missing(rows("worker,compute,1")) == ("theta_e", "theta_c", "phi_w2e", "phi_e2c")
    assert missing(rows("worker,compute,1"), theta_e=1.0, phi_w2e=2.0) == ("theta_c", "phi_e2c")
    assert missing(rows("worker,compute,1"), device=[{"nodes": ["edge"], "compute": 1.0}])[0] == "theta_c"
    assert "phi_w2e" in missing(rows("worker,cloud-both,1"))
    assert missing(rows("worker,up,1"))[3] == "phi_w2e (down)"
    assert missing(rows("worker,compute,1"), profile="paper") == ()
    told = str(parse_delays({"name": "mine", "trace": str(written(tmp_path, rows("phone,phi_w2e,1")))}))
    assert told == "mine (no samples of theta_w, theta_e, theta_c, phi_e2c: taken for 0 s)"


def test_a_trace_by_itself_is_a_file_of_delays(tmp_path):
    path = written(tmp_path, rows("worker,compute,3"))
    delays = load_delays(str(path))
    assert delays.name == "trace.csv" and delays.of("worker", "compute").mean == 3
    assert Path(delays.table["trace"]) == path
    assert delays.of("edge", "compute") == Constant(0.0)


@pytest.mark.parametrize(("label", "meant"), [("workr 3", "worker"), ("Egde 1", "edge"), ("clowd", "cloud")])
def test_a_misspelt_node_is_not_taken_for_a_class_of_devices(tmp_path, label, meant):
    path = written(tmp_path, rows(f"{label},compute,1"))
    with pytest.raises(UserError, match=f"'{label}' is no node; did you mean '{meant}'"):
        parse_delays({"trace": str(path)})
