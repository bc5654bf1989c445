"""What is timed is what a run does, and a trace holds it; never how fast it was."""

import csv
from statistics import median
import sys

import pytest

from hiermo.core.errors import Diverged, UserError
from hiermo.experiment import measure
from hiermo.experiment.measure import (
    COLUMNS,
    Bench,
    Sample,
    check_target,
    figures,
    link_samples,
    roles_of,
    sampled,
    write_trace,
)
from hiermo.experiment.recipe import parse

RAW = {
    "data": {"source": "synthetic", "samples": 210, "features": 7},
    "model": {"name": "logistic"},
    "tree": {"groups": [[0, 1, 2], [3, 4, 5, 6]], "flatten": True},
    "periods": {"tau": 2, "pi": 3},
    "train": {"iterations": 12, "batch": 8},
    "engine": {"threads": 1},
    "algorithm": "HierMo",
}
D = 80  # parameters: 7 features and a bias, for 10 classes


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(measure, "WARM_UP_S", 0.0)


def bench(**tables):
    return Bench(parse({**RAW, **tables}))


@pytest.fixture
def averaged(monkeypatch):
    """The shapes of what a bench averages from now on."""

    def watch(measured):
        shapes, engine = [], measured.loop.engine
        real = engine.average
        monkeypatch.setattr(
            engine, "average", lambda rows, families: shapes.append((*rows.shape,)) or real(rows, families)
        )
        return shapes

    return watch


# sampling


def test_the_first_samples_are_thrown_away():
    seconds, shown = iter(range(1, 100)), []
    assert sampled(lambda: float(next(seconds)), 6, lambda done, wanted: shown.append((done, wanted))) == [
        4.0, 5.0, 6.0, 7.0, 8.0, 9.0,
    ]  # fmt: skip
    assert shown == [(done, 6) for done in range(7)]


def test_warming_up_takes_some_time(monkeypatch):
    monkeypatch.setattr(measure, "WARM_UP_S", 0.05)
    calls = []
    sampled(lambda: calls.append(1) or 1.0, 1)
    assert len(calls) > measure.WARM_UP + 1


def test_it_is_cut_when_the_time_is_over_but_not_below_five(monkeypatch):
    monkeypatch.setattr(measure, "BUDGET_S", 0.0)
    assert len(sampled(lambda: 1.0, 30)) == 5
    assert len(sampled(lambda: 1.0, 2)) == 2


def test_no_delay_is_nothing():
    assert sampled(lambda: 0.0, 2) == [measure.TINY_S] * 2


# computing


@pytest.mark.parametrize("engine", ["stacked", "pernode"])
@pytest.mark.parametrize(
    ("algorithm", "roles"),
    [
        ("HierMo", ("worker", "edge", "cloud")),
        ("CFL", ("worker", "edge", "cloud")),
        ("FedAvg", ("worker", "cloud")),
        ("Mime", ("worker", "cloud")),
        ("SCAFFOLD", ("worker", "cloud")),
    ],
)
def test_every_role_of_algorithms_of_all_kinds(algorithm, roles, engine):
    recipe = parse({**RAW, "algorithm": algorithm, "engine": {"threads": 1, "name": engine}})
    assert roles_of(recipe, None) == roles
    measured = Bench(recipe)
    for role in roles:
        assert roles_of(recipe, role) == (role,)
        once = measured.compute(role)
        assert all(once() > 0 for _ in range(5))
    assert not measured.notes


def test_a_role_that_there_is_not():
    recipe = parse({**RAW, "algorithm": [{"name": "FedAvg", "label": "plain"}, "HierMo"]})
    with pytest.raises(UserError, match=r"^--as edge: plain, the recipe's first algorithm, runs without edges here$"):
        roles_of(recipe, "edge")


def test_a_worker_alone_with_its_share_of_the_data():
    measured = bench()
    assert measured.problem.sizes.tolist() == [30]  # of 210 samples, 7 workers
    assert measured.loop.tree.counts == (1, 1, 1)
    assert bench(algorithm="FedAvg").loop.tree.counts == (1, 1)
    deep = bench(tree={"branching": [2, 1, 3]}, periods=[2, 1, 3])
    assert deep.loop.tree.counts == (1, 1, 1, 1)
    assert deep.problem.sizes.tolist() == [35]
    assert [deep.children(tier) for tier in (1, 2, 3)] == [3, 1, 2]


def test_a_share_of_one_sample():
    measured = bench(tree={"edges": 40, "workers_per_edge": 5}, data={"source": "synthetic", "samples": 200})
    assert measured.problem.sizes.tolist() == [1]
    assert measured.compute("worker")() > 0


def test_an_iteration_is_one_gradient_and_nothing_else(monkeypatch):
    measured = bench()
    asked, problem = [], measured.problem
    real = problem.grad
    monkeypatch.setattr(
        problem, "grad", lambda seed, t, workers, *a: asked.append((t, *workers)) or real(seed, t, workers, *a)
    )
    monkeypatch.setattr(problem, "evaluate", None)
    monkeypatch.setattr(problem, "full_grad", None)
    once = measured.compute("worker")
    for _ in range(14):
        once()
    assert asked == [(t, 0) for t in (*range(1, 13), 1, 2)]  # the recipe's iterations, again and again


def test_each_round_begins_anew():
    """For a worker that goes on without a merge may diverge, as this one does at the latest in its 12th iteration."""
    wild = {"algorithm": {"name": "HierFAVG", "eta": 1e6}, "model": {"name": "linear"}}
    once = bench(**wild).compute("worker")
    assert all(once() > 0 for _ in range(30))
    once = bench(**wild, periods={"tau": 12, "pi": 1}).compute("worker")
    with pytest.raises(Diverged):
        for _ in range(12):
            once()


@pytest.mark.parametrize(
    ("algorithm", "role", "merged"),
    [("HierMo", "edge", 4), ("HierMo", "cloud", 2), ("FedAvg", "cloud", 7), ("CFL", "edge", 4), ("CFL", "cloud", 1)],
)
def test_a_merge_is_of_as_many_messages_as_in_a_run(averaged, algorithm, role, merged):
    """3.5 workers per edge on average; CFL's cloud takes one edge at a time."""
    measured = bench(algorithm=algorithm)
    rows = averaged(measured)
    measured.compute(role)()
    assert rows and {n for n, _ in rows} == {merged}
    assert max(d for _, d in rows) == D


def test_what_workers_compute_before_they_send_is_not_the_parents(monkeypatch):
    measured = bench(algorithm={"name": "SCAFFOLD", "option": 1})
    monkeypatch.setattr(measured.problem, "full_grad", None)
    monkeypatch.setattr(measured.problem, "grad", None)
    assert measured.compute("cloud")() > 0


def test_fewer_messages_where_memory_is_short(monkeypatch, averaged):
    measured = bench(tree={"workers": 100}, periods={"tau": 2}, algorithm="FedAvg")
    monkeypatch.setattr(measure, "available_bytes", lambda: 4 * 30 * D * 4)
    rows = averaged(measured)
    assert measured.compute("cloud")() > 0
    assert rows == [(30, D)]
    assert measured.notes == [
        "cloud compute: a merge of 30 messages, not of 100, which with 320 B each are more than a quarter of the "
        "37.5 KiB of free memory"
    ]
    monkeypatch.setattr(measure, "available_bytes", lambda: 1)
    assert measured.compute("cloud")() > 0
    assert rows == [(30, D), (1, D)]


# messages


@pytest.mark.parametrize(
    ("algorithm", "sizes"),
    [
        ("HierMo", [(8 * D, 8 * D)] * 2),
        ("FedADC", [(4 * D, 8 * D)]),
        ("CFL", [(4 * D, 4 * D), (4 * D + 4, 4 * D + 4)]),  # a stamp
    ],
)
def test_the_size_of_messages(algorithm, sizes):
    measured = bench(algorithm=algorithm)
    assert [measured.message(link) for link in range(measured.root)] == sizes
    double = bench(algorithm=algorithm, engine={"threads": 1, "dtype": "float64"})
    assert [double.message(link) for link in range(double.root)] == [(2 * up, 2 * down) for up, down in sizes]


def test_running_statistics_travel_and_are_merged(tmp_path, averaged):
    (tmp_path / "measured_net.py").write_text(
        "from torch import nn\n\ndef net():\n    return nn.Sequential(nn.Linear(7, 10), nn.BatchNorm1d(10))\n"
    )
    measured = Bench(parse({**RAW, "model": "measured_net:net"}, folders=[tmp_path]))
    assert measured.message(0) == (4 * (2 * 100 + 21),) * 2
    rows = averaged(measured)
    assert measured.compute("edge")() > 0
    assert rows == [(4, 100), (4, 100), (4, 21)]
    assert measured.compute("worker")() > 0


class Link:
    """A client whose stopwatch shows what it is told to."""

    def __init__(self, ping, up, down):
        self.shown, self.asked = {"ping": ping, "up": up, "down": down}, []

    def __getattr__(self, kind):
        return lambda *size: self.asked.append((kind, *size)) or self.shown[kind]


def test_half_a_round_trip_is_taken_off():
    shown = []
    client = Link(ping=0.2, up=1.0, down=2.0)
    found = link_samples(client, "edge 1", ("up", "down"), (10, 20), 3, lambda what: shown.append(what) or print)
    assert shown == ["latency", "up", "down"]
    assert found == [
        *[Sample("edge 1", "up", 0.1, 0)] * 3,
        *[Sample("edge 1", "down", 0.1, 0)] * 3,
        *[Sample("edge 1", "up", 0.9, 10)] * 3,
        *[Sample("edge 1", "down", 1.9, 20)] * 3,
    ]
    assert client.asked == [("ping",)] * 6 + [("up", 10)] * 6 + [("down", 20)] * 6


def test_a_message_never_takes_less_than_nothing():
    found = link_samples(Link(1.0, 0.1, 0.1), "phone", ("cloud-up", "cloud-down"), (1, 1), 2, lambda what: print)
    assert {(each.kind, each.seconds) for each in found if each.bytes} == {
        ("cloud-up", measure.TINY_S),
        ("cloud-down", measure.TINY_S),
    }


# figures and traces


def test_figures_by_hand():
    seconds = [0.1, 0.2, 0.3, 0.4, 1.0]
    samples = [Sample("worker", "compute", each) for each in seconds] + [Sample("worker", "up", 0.5, 10**6)]
    computed, sent = figures(samples)
    assert (computed["node"], computed["kind"], computed["bytes"], computed["samples"]) == (
        "worker",
        "compute",
        None,
        5,
    )
    assert computed["median_s"] == median(seconds)
    assert computed["mean_s"] == pytest.approx(0.4)
    assert (computed["p10_s"], computed["p90_s"]) == pytest.approx((0.14, 0.76))
    assert computed["cv"] == pytest.approx(0.3535534 / 0.4)
    assert computed["megabytes_per_s"] is None
    assert (sent["cv"], sent["megabytes_per_s"]) == (None, 2.0)


SAMPLES = [Sample("worker 3", "compute", 0.25), Sample("worker 3", "up", 1e-9, 0), Sample("worker 3", "down", 2.0, 640)]
ROWS = "worker 3,compute,0.250000000,\nworker 3,up,0.000000001,0\nworker 3,down,2.000000000,640\n"


def test_a_trace(tmp_path):
    path = tmp_path / "t.csv"
    write_trace(path, SAMPLES, append=False)
    assert path.read_text() == "node,kind,seconds,bytes\n" + ROWS
    with pytest.raises(UserError, match=r"t.csv: exists already; add to it with --append, or name another file$"):
        write_trace(path, SAMPLES, append=False)
    write_trace(path, SAMPLES, append=True)
    assert path.read_text() == "node,kind,seconds,bytes\n" + ROWS + ROWS
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    "before",
    [
        "node,kind,seconds,bytes",
        "\ufeffnode, kind, seconds, bytes\r\nphone,up,1,2\r\n",
        "node,kind,seconds,bytes\nö,up,1,2",
    ],
)
def test_adding_to_what_others_wrote(tmp_path, before):
    path = tmp_path / "t.csv"
    path.write_bytes(before.encode())
    write_trace(path, SAMPLES, append=True)
    after = path.read_bytes().decode()
    assert after.startswith(before)
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file)
    assert [name.strip() for name in header] == list(COLUMNS)
    assert rows[-3:] == [line.split(",") for line in ROWS.splitlines()]
    assert all(len(row) == 4 for row in rows)


@pytest.mark.parametrize(
    ("before", "has"), [("", "none"), ("a,b\n1,2\n", "a, b"), ("node;kind;seconds;bytes\n", "node;kind;seconds;bytes")]
)
def test_a_file_with_other_columns_is_left_alone(tmp_path, before, has):
    path = tmp_path / "t.csv"
    path.write_text(before)
    with pytest.raises(UserError, match=f"t.csv should have the columns node, kind, seconds, bytes, it has {has}$"):
        check_target(path, append=True)
    assert path.read_text() == before


def test_parquet(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    for _ in range(2):
        write_trace(path, SAMPLES, append=True)
    table = parquet.read_table(path)
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == [each._asdict() for each in SAMPLES * 2]
    path.write_bytes(b"something else")
    with pytest.raises(UserError, match=r"^--out .*t.parquet: cannot be read as Parquet: "):
        check_target(path, append=True)


def test_parquet_of_other_columns(tmp_path):
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"a": [1]}), path)
    with pytest.raises(UserError, match=r"should have the columns node, kind, seconds, bytes, it has a$"):
        check_target(path, append=True)
    parquet.write_table(pyarrow.table({"node": ["x"], "kind": ["up"], "seconds": ["soon"], "bytes": [1]}), path)
    with pytest.raises(UserError, match=r"^--out .*t.parquet: its columns are of other types: "):
        write_trace(path, SAMPLES, append=True)


def test_parquet_without_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        UserError, match=r"t.parquet: Parquet needs pyarrow; pip install 'hiermo\[parquet\]', or name a \.csv file$"
    ):
        check_target(tmp_path / "t.parquet", append=False)
    check_target(tmp_path / "t.csv", append=False)


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"^--out \S+: is a folder; name a file in it$"):
        check_target(tmp_path, append=False)
    with pytest.raises(UserError, match=r"^--out \S+/nowhere/t.csv: there is no folder \S+/nowhere$"):
        check_target(tmp_path / "nowhere/t.csv", append=False)

    def refused(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(measure, "TemporaryFile", refused)  # the tests may run as root, who may write anywhere
    with pytest.raises(UserError, match=r"^--out \S+t.csv: cannot be written: Permission denied$"):
        check_target(tmp_path / "t.csv", append=False)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_what_is_written_can_be_read(tmp_path, name):
    traces = pytest.importorskip("hiermo.clock.traces")
    write_trace(tmp_path / name, SAMPLES, append=False)
    assert list(traces.read_trace(tmp_path / name)) == [("worker 3", kind) for kind in ("compute", "up", "down")]
