"""Ctrl-C and SIGTERM during training: a checkpoint, a word how to go on, and no bit lost."""

import signal
import subprocess
import sys
import time

import pytest
import tomli_w

from cli.tiny_recipe import tiny
from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import train

LABELS = ("HierMo", "HierFAVG")
LONG = {
    "train": {"iterations": 240},
    "evaluate": {"every": 5},
    "engine": {"checkpoint_s": 1000.0, "threads": 1},
    "algorithm": [{"name": label} for label in LABELS],
}


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The same, not interrupted."""
    folder = tmp_path_factory.mktemp("straight")
    (folder / "r.toml").write_text(tomli_w.dumps(tiny(**LONG)))
    recipe = recipe_file.load(str(folder / "r.toml"))
    problem = problem_of(recipe)
    for directory in create(folder / "o", recipe):
        list(train(directory, directory.recipe(), problem))
    return folder / "o"


def wait_for(condition, process):
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on(hiermo, recipe, bits, straight, tmp_path, number):
    path = recipe(**LONG)
    words = [sys.executable, "-m", "hiermo", "run", str(path), "--out", "o p", "--json"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = tmp_path / "o p/HierMo/metrics.jsonl"
    wait_for(lambda: metrics.exists() and metrics.read_text().count("\n") > 1, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert not out
    assert "stopping at the next merge, after a checkpoint" in err
    assert "interrupted; go on with: hiermo resume 'o p'" in err  # all of them, not one
    assert "Traceback" not in err
    assert (tmp_path / "o p/HierMo/checkpoint.safetensors").exists()
    assert not (tmp_path / "o p/HierMo/result.json").exists()
    assert [run["iterations"] for run in hiermo("resume", "o p", "--json").runs] == [240, 240]
    for label in LABELS:
        assert bits(tmp_path / "o p" / label) == bits(straight / label)


def test_twice_stops_at_once(hiermo, recipe, monkeypatch):
    from hiermo.cli.interrupt import stop_on_signal

    before = signal.getsignal(signal.SIGINT)
    with stop_on_signal() as stop:
        assert not stop()
        signal.raise_signal(signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_before_training_it_just_stops(hiermo, recipe, monkeypatch, tmp_path):
    from hiermo.experiment import assemble

    def interrupted(recipe):
        raise KeyboardInterrupt

    monkeypatch.setattr(assemble, "problem_of", interrupted)
    ended = hiermo("run", recipe(), "--out", "o")
    assert ended == (130, "", "interrupted\n")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert hiermo("resume", "o").code == 0
