"""A real process, killed with SIGKILL at random moments and resumed, ends bit-equal to one that ran through."""

import json
from pathlib import Path
import random
import signal
import subprocess
import sys
import time

import pytest
from safetensors.numpy import load_file

RECIPE = """
format = 1
[data]
source = "mnist-5k"
partition = { kind = "dirichlet", alpha = 0.5 }
[model]
name = "logistic"
[tree]
groups = [[0, 1], [2, 3, 4]]
[periods]
tau = 5
pi = 2
[train]
iterations = 1500
[evaluate]
every = 2
train = 500
[engine]
checkpoint_s = 0.1
[[algorithm]]
name = "HierMo"
[[algorithm]]
name = "HierFAVG"
"""
LABELS = ("HierMo", "HierFAVG")
WALL_CLOCK = {"seconds", "run_dir", "started", "finished"}


def hiermo(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hiermo", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> list[dict]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return [{k: v for k, v in run.items() if k not in WALL_CLOCK} for run in json.loads(out)["runs"]]


def lines(folder: Path) -> list[dict]:
    """Every evaluation of both runs, without the wall clock."""
    found = []
    for label in LABELS:
        path = folder / label / "metrics.jsonl"
        text = path.read_text().splitlines() if path.exists() else []
        found += [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in text]
    return found


def n_lines(folder: Path) -> int:
    files = [folder / label / "metrics.jsonl" for label in LABELS]
    return sum(path.read_bytes().count(b"\n") for path in files if path.exists())


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight")
    (folder / "recipe.toml").write_text(RECIPE)
    return folder / "out", finish(hiermo("run", folder / "recipe.toml", "--out", folder / "out", "--json"))


def start_or_resume(recipe: Path, out: Path) -> subprocess.Popen[str]:
    made = (out / "runs.json").exists()
    return hiermo("resume", out, "--json") if made else hiermo("run", recipe, "--out", out, "--json")


@pytest.mark.parametrize("moment", ["by the clock", "by progress"])
def test_three_kills_change_nothing(tmp_path, straight, moment):
    reference, expected = straight
    recipe, out = tmp_path / "recipe.toml", tmp_path / "out"
    recipe.write_text(RECIPE)
    seed = random.randrange(10**9)
    draw = random.Random(seed)
    total = n_lines(reference)
    for _ in range(3):
        process = start_or_resume(recipe, out)
        if moment == "by the clock":  # from before the directory exists to well into training
            time.sleep(draw.uniform(0.05, 4))
        else:
            reached, deadline = draw.randrange(n_lines(out) + 1, max(total, n_lines(out) + 2)), time.monotonic() + 60
            while n_lines(out) < reached and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert finish(start_or_resume(recipe, out)) == expected, f"moments drawn with seed {seed}"
    assert lines(out) == lines(reference), f"moments drawn with seed {seed}"
    for label in LABELS:
        ours, theirs = (load_file(folder / label / "checkpoint.safetensors") for folder in (out, reference))
        assert ours.keys() == theirs.keys()
        assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours), f"seed {seed}"
