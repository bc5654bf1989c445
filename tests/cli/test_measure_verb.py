"""`hiermo measure`: what it writes and prints, with a real server in a process of its own."""

from contextlib import contextmanager
import csv
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from hiermo.clock import transfer
from hiermo.experiment import measure

TOKEN = "a token, with a blank"
D = 10 * (20 + 1)  # parameters of the tiny recipe's model: 20 features and a bias, for 10 classes
MESSAGE = str(2 * D * 4)  # HierMo sends model and momentum, up and down
HEADER = ["node", "kind", "seconds", "bytes"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(measure, "WARM_UP_S", 0.0)
    monkeypatch.setenv("COLUMNS", "80")


def start(folder, *words):
    """The verb in a process of its own, which takes Ctrl-C also where this one was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "hiermo", "measure", *map(str, words)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    return process


def first_line(process):
    """Byte by byte: what a buffer reads beyond the line, `communicate` would not find any more."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(process.stdout.fileno(), 1)):
        line += byte
    return line.decode()


@contextmanager
def serving(folder, *words):
    """The other end, and the first line that it prints."""
    process = start(folder, "--serve", *words)
    try:
        yield process, first_line(process)
    finally:
        process.kill()
        process.communicate()


def stop(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    """HOST:PORT of a server that knows TOKEN."""
    with serving(tmp_path_factory.mktemp("server"), "127.0.0.1:0", "--token", TOKEN) as (_, first):
        yield first.split()[first.split().index("--peer") + 1]


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        header, *found = csv.reader(file)
    assert header == HEADER
    assert all(float(seconds) > 0 for _, _, seconds, _ in found)
    return found


def kinds(path):
    """(node, kind, bytes) -> samples, in the order of the file."""
    found = {}
    for node, kind, _, size in rows(path):
        found[node, kind, size] = found.get((node, kind, size), 0) + 1
    return found


def test_all_roles(hiermo, recipe, tmp_path):
    recipe()
    ended = hiermo("measure", "r.toml", "-s", "train.batch=4")
    assert ended.code == 0, ended.err
    assert kinds(tmp_path / "trace.csv") == {(node, "compute", ""): 30 for node in ("worker", "edge", "cloud")}
    lines = ended.out.splitlines()
    assert lines[0].strip() == "HierMo with logistic on synthetic"
    assert lines[1].split() == ["node", "kind", "n", "median", "mean", "10", "%", "90", "%", "CV"]
    assert [line.split()[:3] for line in lines[2:5]] == [
        [node, "compute", "30"] for node in ("worker", "edge", "cloud")
    ]
    assert lines[5:] == ["trace: trace.csv", "use it: hiermo run r.toml -s train.batch=4 --delays trace.csv"]
    assert all(f"{node} compute" in ended.err for node in ("worker", "edge", "cloud"))
    assert "30/30 samples" in ended.err  # progress is for people: not on standard output
    assert max(map(len, lines)) <= 80


def test_one_role_under_another_name(hiermo, recipe, tmp_path):
    recipe()
    words = ("measure", "r.toml", "--samples", 3, "--out", "t.csv", "--append", "--as")
    assert hiermo(*words, "worker", "--node", "worker 3").code == 0
    assert hiermo(*words, "worker", "--node", "phone [old]").code == 0
    ended = hiermo(*words, "edge", "--json")
    assert list(kinds(tmp_path / "t.csv").items()) == [
        (("worker 3", "compute", ""), 3),
        (("phone [old]", "compute", ""), 3),
        (("edge", "compute", ""), 3),
    ]
    assert [each["node"] for each in json.loads(ended.out)["figures"]] == ["edge"]  # what is new


def test_json_is_all_that_is_printed(hiermo, recipe, peer):
    recipe("my-net.toml")
    ended = hiermo(
        "measure", "my-net.toml", "--samples", 4, "--peer", peer, "--token", TOKEN, "--as", "worker", "--json"
    )
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert (told["recipe"], told["algorithm"], told["trace"], told["notes"]) == ("my-net", "HierMo", "trace.csv", [])
    assert [(f["node"], f["kind"], f["bytes"], f["samples"]) for f in told["figures"]] == [
        ("worker", "up", 0, 4),
        ("worker", "down", 0, 4),
        ("worker", "up", int(MESSAGE), 4),
        ("worker", "down", int(MESSAGE), 4),
        ("worker", "compute", None, 4),
    ]
    for each in told["figures"]:
        assert 0 < each["p10_s"] <= each["median_s"] <= each["p90_s"]
        assert each["mean_s"] > 0 and each["cv"] >= 0
        assert (each["megabytes_per_s"] is None) == (not each["bytes"])


@pytest.mark.parametrize(
    ("words", "names", "computed"),
    [
        ([], ("worker", "up", "down"), ("worker", "edge", "cloud")),
        (["--direct"], ("worker", "cloud-up", "cloud-down"), ("worker", "edge", "cloud")),
        (["--as", "edge", "--node", "edge 1"], ("edge 1", "up", "down"), ("edge 1",)),
        (["--as", "worker", "--node", "phone", "--direct"], ("phone", "cloud-up", "cloud-down"), ("phone",)),
    ],
)
def test_a_link(hiermo, recipe, peer, tmp_path, words, names, computed):
    recipe()
    ended = hiermo("measure", "r.toml", "--samples", 5, "--peer", peer, "--token", TOKEN, *words)
    assert ended.code == 0, ended.err
    node, up, down = names
    assert kinds(tmp_path / "trace.csv") == {
        **{(node, kind, size): 5 for kind in (up, down) for size in ("0", MESSAGE)},
        **{(each, "compute", ""): 5 for each in computed},
    }
    assert "MB/s" in ended.out and "1.64 KiB" in ended.out
    assert all(f"{node} {what}" in ended.err for what in ("latency", up, down))
    assert max(map(len, ended.out.splitlines())) <= 80


def test_an_algorithm_without_edges_talks_to_the_cloud(hiermo, recipe, peer, tmp_path):
    recipe(algorithm="FedAvg", tree={"flatten": True})
    ended = hiermo("measure", "r.toml", "--samples", 2, "--peer", peer, "--token", TOKEN)
    assert ended.code == 0, ended.err
    one = str(4 * D)
    assert set(kinds(tmp_path / "trace.csv")) == {
        *(("worker", kind, size) for kind in ("cloud-up", "cloud-down") for size in ("0", one)),
        ("worker", "compute", ""),
        ("cloud", "compute", ""),
    }
    shown = " ".join(ended.out.split())
    assert "note: FedAvg runs without edges: no merge of an edge was measured" in shown
    assert "note: FedAvg runs without edges: its link is the one to the cloud, as with --direct" in shown


def test_the_server_from_its_first_line_to_ctrl_c(recipe, tmp_path):
    """As a user does it: two processes, and the command that the first prints."""
    recipe()
    with serving(tmp_path, "127.0.0.1:0") as (server, first):
        said, command = first.rstrip("\n").split(": ", 1)
        words = command.split()
        assert said == "measure with"
        assert words[:4] == ["hiermo", "measure", "RECIPE", "--peer"] and words[5] == "--token"
        assert len(words[6]) >= 20  # not to be guessed
        measured = start(tmp_path, "r.toml", *words[3:], "--samples", 3, "--as", "worker")
        out, err = measured.communicate(timeout=100)
        assert measured.returncode == 0, err
        assert "trace: trace.csv" in out
        wrong = start(tmp_path, "r.toml", *words[3:6], "guessed", "--out", "other.csv")
        out, err = wrong.communicate(timeout=100)
        port = words[4].rpartition(":")[2]
        assert (wrong.returncode, out) == (2, "")
        assert err == (
            f"error: 127.0.0.1:{port} refused the token: give the --token that `hiermo measure --serve` printed there\n"
        )
        only, came, refused, stopped = stop(server)
    assert only == f"from this machine only; for another one: hiermo measure --serve 0.0.0.0:{port}"
    assert came.startswith("127.0.0.1:") and " messages, " in came
    assert refused.startswith("127.0.0.1:") and refused.endswith(": wrong token; connection closed")
    assert stopped == "stopped; measured by 1 client"
    assert len(rows(tmp_path / "trace.csv")) == 5 * 3
    assert not (tmp_path / "other.csv").exists()


def test_a_server_with_a_token_of_ones_own(tmp_path):
    with serving(tmp_path, "0", "--token", TOKEN) as (server, first):
        assert first.endswith(f"--token '{TOKEN}'\n")
        assert stop(server)[-1] == "stopped; measured by 0 clients"


def test_a_server_for_other_machines(hiermo, monkeypatch):
    """It is not opened to them here: this one listens at home, and is interrupted at once."""

    class Home(transfer.Server):
        def __init__(self, place, *words, **options):
            super().__init__(transfer.Address("127.0.0.1", 0), *words, **options)

        def serve(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(transfer, "Server", Home)
    ended = hiermo("measure", "--serve", "0.0.0.0:0")
    assert (ended.code, ended.err) == (0, "")
    command, hint, _ = ended.out.splitlines()
    name = socket.gethostname()
    assert command.startswith(f"measure with: hiermo measure RECIPE --peer {name}:")
    assert hint == f"use an address of this machine instead of {name} where that name is not known"


def test_ctrl_c_in_the_middle_writes_nothing(hiermo, recipe, monkeypatch, tmp_path):
    def interrupted(self, role):
        raise KeyboardInterrupt

    monkeypatch.setattr(measure.Bench, "compute", interrupted)
    recipe()
    ended = hiermo("measure", "r.toml")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.endswith("interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["r.toml"]


REFUSED = {
    "": "name a RECIPE, as in `hiermo measure quick/digits`, or be the other end with --serve PORT",
    "absent.toml": "there is no recipe 'absent.toml', neither a file nor a shipped one",
    "r.toml --out nowhere/t.csv": "--out nowhere/t.csv: there is no folder nowhere",
    "r.toml --out .": "--out .: is a folder; name a file in it",
    "r.toml --out r.toml": "--out r.toml: exists already; add to it with --append, or name another file",
    "r.toml --peer h:1": "--peer needs the --token that `hiermo measure --serve` printed at the other end",
    "r.toml --peer h --token t": "--peer h: write HOST:PORT, as in 192.168.1.7:5000 or [::1]:5000",
    "r.toml --token t": "--token goes with --peer HOST:PORT",
    "r.toml --direct": "--direct goes with --peer HOST:PORT",
    "r.toml --as cloud --peer h:1 --token t": "--as cloud: the cloud has no parent to send to; leave out --peer",
    "r.toml --as edge --direct --peer h:1 --token t": "--direct is about a worker without an edge; leave it out",
    "r.toml --node phone": "--node names one node or class: say with --as worker, edge or cloud what it does",
    "r.toml --as worker --node a,b": "--node 'a,b': must be a name such as 'worker 3' or 'phone', without commas",
    "r.toml --as worker --node Edge_1": "--node 'Edge_1' is not --as worker: name a worker, or a class of devices",
    "r.toml --as edge -s algorithm=FedAvg -s tree.flatten=true": "--as edge: FedAvg, the recipe's first",
    "r.toml --serve 0 --peer h:1 --json": "--serve does nothing but answer: leave out RECIPE and --peer and --json",
    "--serve h:x": "--serve h:x: write PORT or HOST:PORT, as in 192.168.1.7:5000 or [::1]:5000",
    "--serve 0 --token=": "--token must not be empty; leave it out to have a random one",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(hiermo, recipe, words):
    recipe()
    assert hiermo("measure", *words.split()).error.startswith(REFUSED[words])


@pytest.mark.parametrize("name", ["", " ", "a\nb", "tab\tbed", 'a"b', "it's", " phone", "bell\x07"])
def test_names_that_a_trace_cannot_hold(hiermo, recipe, name):
    recipe()
    error = hiermo("measure", "r.toml", "--as", "worker", "--node", name).error
    assert error.startswith(f"--node {name!r}: must be a name such as")


@pytest.mark.parametrize(
    ("words", "named"),
    [(["--samples", "0"], "--samples"), (["--samples", "x"], "--samples"), (["--as", "boss"], "--as")],
)
def test_wrong_words(hiermo, recipe, words, named):
    recipe()
    ended = hiermo("measure", "r.toml", *words)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
    assert "Traceback" not in ended.err


def test_nobody_listens(hiermo, recipe, tmp_path):
    recipe()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert hiermo("measure", "--serve", port).error.startswith(f"--serve 127.0.0.1:{port}: cannot listen there: ")
    error = hiermo("measure", "r.toml", "--peer", f"127.0.0.1:{port}", "--token", "t").error
    assert error.startswith(f"nobody listens at 127.0.0.1:{port}: start `hiermo measure --serve` there")
    assert not (tmp_path / "trace.csv").exists()


def test_what_was_cut_is_said(hiermo, recipe, monkeypatch, tmp_path):
    monkeypatch.setattr(measure, "BUDGET_S", 0.0)
    recipe()
    ended = hiermo("measure", "r.toml", "--as", "cloud", "--out", "t.parquet", "--json")
    assert json.loads(ended.out)["notes"] == ["cloud compute: 5 of 30 samples in 0 s"]
    assert (tmp_path / "t.parquet").read_bytes().startswith(b"PAR1")
    assert "note: cloud compute: 5 of 30 samples in 0 s" in hiermo("measure", "r.toml", "--as", "cloud").out


def test_help(hiermo):
    shown = hiermo("measure", "--help").out
    assert all(word in shown for word in ("RECIPE", "--as", "--node", "--samples", "--peer", "--serve", "0.0.0.0"))
    assert "measure" in hiermo("--help").out


LIGHT = """
import sys
from hiermo.cli.app import main
sys.argv = ["hiermo", "measure", *sys.argv[1:]]
try:
    main()
finally:
    sys.stderr.write(str([name for name in ("torch", "matplotlib", "pandas", "pyarrow") if name in sys.modules]))
"""


@pytest.mark.parametrize("words", [["--help"], ["--serve", "x"], ["quick/digits", "--peer", "a..b:1", "--token", "t"]])
def test_torch_is_not_loaded_to_be_refused(words, tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", LIGHT, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == (0 if words == ["--help"] else 2)
    assert ended.stderr.endswith("[]")
