"""Sweeps of real processes, killed and interrupted: nothing is lost but the last moments, and no bit changes."""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import psutil
import pytest
import tomli_w

from cli.tiny_recipe import tiny

LONG = {
    "train": {"iterations": 1200},
    "evaluate": {"every": 50},
    "engine": {"checkpoint_s": 0.05, "threads": 1},
}
GRID = ("-g", "algorithm.gamma=0.1,0.2,0.3,0.4")


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "hiermo",
        "sweep",
        folder / "r.toml",
        *GRID,
        "--out",
        folder / "s",
        *words,
        "--json",
    ]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def prepared(folder: Path, gradients: str, **tables: dict) -> Path:
    folder.mkdir(exist_ok=True)
    engine = {**LONG["engine"], "gradients": gradients}
    (folder / "r.toml").write_text(tomli_w.dumps(tiny(**{**LONG, "engine": engine, **tables})))
    return folder


def ended(process: subprocess.Popen[str]) -> list[dict]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)["runs"]


def bits(runs: list[dict]) -> list[tuple]:
    return [(run["name"], run["model_sha256"], run["loss"], run["iterations"]) for run in runs]


def checkpoints(folder: Path) -> list[Path]:
    return list((folder / "s").glob("*/checkpoint.safetensors"))


def wait_for(condition, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    below = psutil.Process(process.pid).children(recursive=True)
    return [each for each in below if "hiermo.experiment.sweep.worker" in each.cmdline()]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    return bits(ended(start(prepared(tmp_path_factory.mktemp("straight"), "batched"))))


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_the_same_command_goes_on_where_it_stopped(tmp_path, straight, sign):
    folder = prepared(tmp_path, "batched")
    process = start(folder)
    wait_for(lambda: checkpoints(folder), process)
    left = workers_of(process)
    process.send_signal(sign)
    _, err = process.communicate(timeout=120)
    assert process.returncode == (130 if sign == signal.SIGINT else -sign)
    if sign == signal.SIGINT:
        assert "the same command goes on from there" in err
        assert not any(each.is_running() for each in left)
    assert not all((path.parent / "result.json").exists() for path in checkpoints(folder))
    again = start(folder)  # at once: a worker may still be writing its last checkpoint
    assert bits(ended(again)) == straight
    starts = [json.loads(path.read_text())["starts"] for path in folder.glob("s/*/provenance.json")]
    assert max(map(len, starts)) == 2
    psutil.wait_procs(left, timeout=30)
    assert not any(each.is_running() for each in left)  # nobody is left behind


def test_a_process_that_dies_costs_its_run_and_no_other(tmp_path):
    folder = prepared(tmp_path, "pooled", train={"iterations": 300})
    process = start(folder, "--jobs", "2")
    wait_for(lambda: len(checkpoints(folder)) >= 2, process)
    workers_of(process)[0].kill()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    runs = json.loads(out)["runs"]
    (broken,) = [run for run in runs if run["error"]]
    assert "its process was ended by SIGKILL; the memory may have run out" in broken["error"]
    assert broken["error"] in err
    again = ended(start(folder, "--retry"))
    assert [run["iterations"] for run in again] == [300] * 4
    assert [run["model_sha256"] for run in again if run["name"] != broken["name"]] == [
        run["model_sha256"] for run in runs if run["name"] != broken["name"]
    ]


def test_a_batch_whose_process_dies_is_tried_one_by_one(tmp_path, straight):
    folder = prepared(tmp_path, "batched")
    process = start(folder, "--jobs", "1")
    wait_for(lambda: len(checkpoints(folder)) == 4, process)
    os.kill(workers_of(process)[0].pid, signal.SIGKILL)
    assert bits(ended(process)) == straight
