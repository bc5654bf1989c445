"""`--log` of `run` and `resume`, in real processes: killed, without the libraries, without a network."""

from collections.abc import Iterator
from contextlib import contextmanager
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from cli.reading_back import READERS, assert_each_point_once, keep_offline

NAMES = tuple(READERS)
ALL = [word for name in NAMES for word in ("--log", name)]


@pytest.fixture(autouse=True)
def here(monkeypatch):
    keep_offline(monkeypatch)


@pytest.fixture
def extras():
    for name in NAMES:
        pytest.importorskip(name, reason=f"needs hiermo[{name}]")


def test_all_of_them_at_once(hiermo, recipe, bits, tmp_path, extras):
    path = recipe(algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}])
    hiermo("run", path, "--out", "plain")
    ended = hiermo("run", path, "--out", "o", "--json", *ALL, "--log", "tensorboard")  # twice is once
    assert [run["label"] for run in ended.runs] == ["HierMo", "HierFAVG"]
    for label in ("HierMo", "HierFAVG"):
        assert bits(tmp_path / "o" / label) == bits(tmp_path / "plain" / label)
        assert_each_point_once(tmp_path / "o" / label, *NAMES)
    hiermo("resume", "plain", *ALL)  # finished without: it is logged as it is
    assert_each_point_once(tmp_path / "plain/HierFAVG", *NAMES)
    hiermo("resume", "o", "--iterations", "60", *ALL)
    for label in ("HierMo", "HierFAVG"):
        assert_each_point_once(tmp_path / "o" / label, *NAMES)


@pytest.mark.parametrize("verb", ["run", "resume"])
def test_what_there_is_not_is_refused_before_anything_is_made(hiermo, recipe, tmp_path, verb):
    path = recipe()
    words = ["run", path, "--out", "o"] if verb == "run" else ["resume", "o"]
    error = hiermo(*words, "--log", "tensorboard", "--log", "wandbb").error
    assert error == "there is no tracker 'wandbb'; did you mean 'wandb'?"
    assert "no module 'absent'" in hiermo(*words, "--log", "absent:Tracker").error
    assert not (tmp_path / "o").exists()


OWN = """
from hiermo.experiment.trackers.tracker import Tracker

def write(line):
    with open("own.txt", "a") as file:
        file.write(f"{line}\\n")

class Own(Tracker):
    def __init__(self, run, points):
        write(f"{run.name} {len(points)}")

    def log(self, point):
        if point.iteration == 20:
            raise RuntimeError("so that is\\nwhat happens")
        write(f"{point.iteration} {point.values['loss']}")

    def close(self, status, result):
        raise AssertionError("it was left out before")
"""


def test_one_of_my_own_which_breaks(hiermo, recipe, bits, tmp_path):
    (tmp_path / "own_tracker.py").write_text(OWN)
    hiermo("run", recipe(), "--out", "plain")
    ended = hiermo("run", "r.toml", "--out", "o", "--log", "own_tracker:Own", warns=True)
    assert ended.code == 0
    told = " ".join(ended.err.split())
    assert "warning: --log own_tracker:Own: so that is what happens; the run goes on without it" in told
    assert told.count("warning") == 1
    assert (tmp_path / "own.txt").read_text().startswith("o/HierMo 0\n4 ")
    assert len((tmp_path / "own.txt").read_text().splitlines()) == 5
    assert bits(tmp_path / "o") == bits(tmp_path / "plain")


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == sys.argv[-1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
from hiermo.cli.app import main
main()
"""


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_library_that_is_not_installed(recipe, tmp_path, name):
    words = [sys.executable, "-c", BLOCKED, "run", str(recipe()), "--out", "o", "--log", name]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr == f"error: --log {name} needs the package {name}: pip install 'hiermo[{name}]'\n"
    assert not (tmp_path / "o").exists()


def test_two_kills(recipe, tmp_path, extras):
    path = recipe(train={"iterations": 2000}, evaluate={"every": 5}, engine={"checkpoint_s": 0.02})
    environment = {k: v for k, v in os.environ.items() if k != "WANDB_SERVICE"}  # of another test in this process
    metrics, seed = tmp_path / "o/metrics.jsonl", random.randrange(10**9)
    draw = random.Random(seed)
    for start in range(2):
        began = ["resume", "o"] if (tmp_path / "o").exists() else ["run", str(path), "--out", "o"]
        process = subprocess.Popen(
            [sys.executable, "-m", "hiermo", *began, *ALL],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wanted, deadline = draw.randrange(10, 20) + 25 * start, time.monotonic() + 60
        while not metrics.exists() or metrics.read_bytes().count(b"\n") < wanted:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    words = [sys.executable, "-m", "hiermo", "resume", "o", "--json", *ALL]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert json.loads(done.stdout)["runs"][0]["iterations"] == 2000, f"moments drawn with seed {seed}"
    assert_each_point_once(tmp_path / "o", *NAMES)


WATCHED = """
import sys

def watch(event, words):
    if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(words[1], tuple)):
        host = words[0] if event == "socket.getaddrinfo" else words[1][0]
        if host not in ("127.0.0.1", "::1", "localhost", None):
            print("CONNECTS", event, host, file=sys.stderr, flush=True)

sys.addaudithook(watch)
from hiermo.cli.app import main
main()
"""


@contextmanager
def proxy() -> Iterator[tuple[str, list[bytes]]]:
    """A web proxy that notes what it is asked for and answers nothing; W&B's own process goes through it too."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    asked.append(connection.recv(4096).split(b"\r\n")[0])

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        finally:
            server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def watched(recipe, tmp_path, address, *words, **environment):
    """A run whose connections are seen, without what keeps MLflow silent in tests."""
    silent = ("PYTEST_CURRENT_TEST", "CI", "GITHUB_ACTIONS", "no_proxy", "NO_PROXY")
    kept = {k: v for k, v in os.environ.items() if k not in silent and not k.startswith("WANDB_")}
    through = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), address)
    home = {"HOME": str(tmp_path), "WANDB_CONFIG_DIR": str(tmp_path), "WANDB_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", WATCHED, "run", str(recipe()), "--out", "o", *words]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**kept, **through, **home, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_nothing_leaves_this_machine(recipe, tmp_path, extras):
    with proxy() as (address, asked):
        told = watched(recipe, tmp_path, address, *ALL, WANDB_MODE="offline")
    assert "CONNECTS" not in told
    assert asked == []
    assert_each_point_once(tmp_path / "o", *NAMES)


def test_this_would_be_seen(recipe, tmp_path, extras):
    """So that the test above can fail: W&B online, and MLflow with its telemetry."""
    with proxy() as (address, asked):
        online = {"WANDB_BASE_URL": "https://wandb.invalid", "WANDB_API_KEY": "0" * 40, "WANDB_INIT_TIMEOUT": "2"}
        telling = {"MLFLOW_DISABLE_TELEMETRY": "false"}
        told = watched(recipe, tmp_path, address, "--log", "wandb", "--log", "mlflow", **online, **telling)
    for host in (b"wandb", b"mlflow"):
        assert any(host in line for line in asked), asked
    assert "the run goes on without it" in " ".join(told.split())
