"""`hiermo resume`: goes on bit-equally, and says in one sentence what is wrong with a directory."""

import json
import shutil
import subprocess
import sys

from filelock import FileLock
import pytest

from cli.tiny_recipe import tiny
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import train

TWO = [{"name": "HierMo"}, {"name": "HierFAVG"}]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run of 40 iterations."""
    chosen = parse(tiny())
    (directory,) = create(tmp_path_factory.mktemp("trained") / "o", chosen)
    list(train(directory, chosen, problem_of(chosen)))
    return directory.path


@pytest.fixture
def done(trained, tmp_path):
    """A copy of it that a test may spoil."""
    return shutil.copytree(trained, tmp_path / "o")


@pytest.fixture
def unfinished(done):
    """The same with the last checkpoint and without the result, as a kill in the last moment leaves it."""
    (done / "result.json").unlink()
    return done


def test_a_finished_run_shows_its_result_without_training(hiermo, done, monkeypatch):
    from hiermo.cli import training

    monkeypatch.setattr(training, "load_problem", None)
    before = (done / "metrics.jsonl").read_bytes()
    (run,) = hiermo("resume", "o", "--json").runs
    assert run.pop("run_dir") == "o"
    assert run | {"format": 1} == json.loads((done / "result.json").read_text())
    assert "HierMo" in hiermo("resume", "o").out
    assert hiermo("resume", "o", "--iterations", "40", "--json").runs[0]["seconds"] == run["seconds"]
    assert (done / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("every", [1, 3])
def test_a_longer_run_is_that_of_a_straight_one(hiermo, recipe, bits, tmp_path, every):
    path = recipe(evaluate={"every": every}, algorithm=[*TWO, {"name": "FedAvg"}], tree={"flatten": True})
    hiermo("run", path, "--out", "long")
    runs = hiermo("resume", "long", "--iterations", "60", "--json").runs
    hiermo("run", path, "-s", "train.iterations=60", "--out", "straight")
    assert [run["iterations"] for run in runs] == [60, 60, 60]
    for label in ("HierMo", "HierFAVG", "FedAvg"):
        assert bits(tmp_path / "long" / label) == bits(tmp_path / "straight" / label)
        written = [(tmp_path / way / label / "recipe.toml").read_text() for way in ("long", "straight")]
        assert written[0] == written[1]


def test_iterations_that_are_refused(hiermo, done):
    before = (done / "result.json").read_bytes(), (done / "recipe.toml").read_bytes()
    shorter = hiermo("resume", "o", "--iterations", "20").error
    assert shorter == "--iterations 20: o is a run of 40 iterations; it can be made longer, not shorter"
    odd = hiermo("resume", "o", "--iterations", "50").error
    assert odd == "--iterations: train.iterations = 50 is not a multiple of 2 * 2 = 4; try 48 or 52"
    assert hiermo("resume", "o", "--iterations", "0").code == 2
    assert before == ((done / "result.json").read_bytes(), (done / "recipe.toml").read_bytes())


def test_a_group_with_one_unfinished_run(hiermo, recipe, bits, tmp_path):
    hiermo("run", recipe(algorithm=TWO), "--out", "o")
    before = {label: bits(tmp_path / "o" / label) for label in ("HierMo", "HierFAVG")}
    for name in ("result.json", "checkpoint.safetensors"):
        (tmp_path / "o/HierFAVG" / name).unlink()
    assert [run["label"] for run in hiermo("resume", "o", "--json").runs] == ["HierMo", "HierFAVG"]
    assert {label: bits(tmp_path / "o" / label) for label in before} == before
    starts = {label: json.loads((tmp_path / "o" / label / "provenance.json").read_text())["starts"] for label in before}
    assert {label: len(entries) for label, entries in starts.items()} == {"HierMo": 1, "HierFAVG": 2}
    assert hiermo("resume", "o/HierMo", "--json").runs[0]["label"] == "HierMo"  # one of them alone


def test_what_is_no_run(hiermo, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    assert hiermo("resume", "empty").error == "empty is not a run directory: it has no recipe.toml"
    assert hiermo("resume", "nowhere").error == "there is no directory nowhere"
    assert hiermo("resume", "file").error == "there is no directory file"


def test_a_group_that_lost_a_run(hiermo, recipe, tmp_path):
    hiermo("run", recipe(algorithm=TWO), "--out", "o")
    shutil.rmtree(tmp_path / "o/HierFAVG")
    assert hiermo("resume", "o").error == "o/HierFAVG is not a run directory: it has no recipe.toml"
    assert "HierFAVG is not a run" in hiermo("resume", "o", "--iterations", "80").error
    assert json.loads((tmp_path / "o/HierMo/result.json").read_text())["iterations"] == 40


def test_formats_of_a_newer_version(hiermo, unfinished):
    from safetensors.numpy import load_file, save_file

    recipe, checkpoint = unfinished / "recipe.toml", unfinished / "checkpoint.safetensors"
    old = recipe.read_text()
    recipe.write_text(old.replace("format = 1", "format = 99"))
    assert hiermo("resume", "o").error == "o/recipe.toml: format must be 1: this is what this version reads, not 99"
    recipe.write_text(old)
    for name in ("provenance.json", "result.json"):
        was = (unfinished / name).read_text() if (unfinished / name).exists() else None
        (unfinished / name).write_text(json.dumps({"format": 99, "starts": []}))
        assert f"o/{name}: has format 99, and this version of hiermo reads 1" in hiermo("resume", "o").error
        (unfinished / name).unlink() if was is None else (unfinished / name).write_text(was)
    metrics = unfinished / "metrics.jsonl"
    was = metrics.read_text()
    metrics.write_text(was.replace('"format": 1', '"format": 99'))
    assert "o/metrics.jsonl: has format 99" in hiermo("resume", "o").error
    metrics.write_text(was)
    save_file(load_file(checkpoint), checkpoint, {"hiermo": json.dumps({"format": 99})})
    assert "o/checkpoint.safetensors: has format 99" in hiermo("resume", "o").error


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_a_damaged_checkpoint(hiermo, unfinished, kept):
    path = unfinished / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert hiermo("resume", "o").error.startswith("o/checkpoint.safetensors: damaged checkpoint: ")


@pytest.mark.parametrize("line", ['{"iteration": 20, "clo', "12", "{}", '"\xff"'])
def test_a_damaged_line_in_the_middle_of_the_metrics(hiermo, unfinished, line):
    path = unfinished / "metrics.jsonl"
    lines = path.read_text().splitlines()
    lines[5] = line
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    assert hiermo("resume", "o").error.startswith("o/metrics.jsonl: damaged: ")


@pytest.mark.parametrize("name", ["result.json", "provenance.json", "recipe.toml"])
def test_a_damaged_small_file(hiermo, unfinished, name):
    path = unfinished / name
    path.write_bytes(b'{"format": 1, "sta' if name == "result.json" else path.read_bytes()[:-20])
    assert f"o/{name}: " in hiermo("resume", "o").error


def test_a_damaged_list_of_runs(hiermo, recipe, tmp_path):
    hiermo("run", recipe(algorithm=TWO), "--out", "o")
    (tmp_path / "o/runs.json").write_text("{")
    assert hiermo("resume", "o").error.startswith("o/runs.json: damaged: ")


def stopped_at(hiermo, recipe, out, t):
    """A run of 80 iterations whose last checkpoint is at iteration t, as a kill leaves it."""
    path = recipe("whole.toml", train={"iterations": 80}, evaluate={"every": 3})
    hiermo("run", path, "-s", f"train.iterations={t}", "--out", out)
    run = path.parent / out
    (run / "result.json").unlink()
    (run / "recipe.toml").write_text((run / "recipe.toml").read_text().replace(f"iterations = {t}", "iterations = 80"))
    return run


@pytest.mark.parametrize("t", [24, 36])
def test_a_torn_last_line_after_the_checkpoint(hiermo, recipe, bits, tmp_path, t):
    run = stopped_at(hiermo, recipe, "o", t)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 48, "cloud_round": 12, "seco')
    assert hiermo("resume", "o").code == 0
    hiermo("run", "whole.toml", "--out", "straight")
    assert bits(run) == bits(tmp_path / "straight")


def test_a_line_after_the_checkpoint_is_not_there_twice(hiermo, recipe, bits, tmp_path):
    hiermo("run", recipe(train={"iterations": 80}), "--out", "straight")
    run = stopped_at(hiermo, recipe, "o", 24)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(lines[-1] | {"iteration": 36, "cloud_round": 9}) + "\n")
    hiermo("resume", "o")
    rounds = [line["cloud_round"] for line in bits(run).metrics[1:]]
    assert rounds == [3, 6, 9, 12, 15, 18, 20]
    assert bits(run).result == bits(tmp_path / "straight").result


@pytest.mark.parametrize("left", [0.5, 0.98])
def test_metrics_that_lost_lines_before_the_checkpoint(hiermo, unfinished, trained, bits, left):
    """No kill does this, for a line is on disk before the checkpoint: what is lost can only be trained anew."""
    path = unfinished / "metrics.jsonl"
    text = path.read_text()
    path.write_text(text[: int(left * len(text))])
    ended = hiermo("resume", "o", warns=True)
    assert ended.code == 0
    assert "warning: o/metrics.jsonl lacks evaluations before the checkpoint: starting anew" in ended.err
    assert bits(unfinished) == bits(trained)


@pytest.mark.parametrize("lost", [["checkpoint.safetensors"], ["checkpoint.safetensors", "metrics.jsonl"]])
def test_without_a_checkpoint_it_starts_anew(hiermo, unfinished, trained, bits, lost):
    for name in lost:
        (unfinished / name).unlink()
    (unfinished / ".checkpoint.safetensors.part").write_bytes(b"half a checkpoint")
    assert hiermo("resume", "o").code == 0
    assert bits(unfinished) == bits(trained)


def test_a_checkpoint_of_another_run(hiermo, recipe, tmp_path):
    hiermo("run", recipe(algorithm=TWO), "--out", "o")
    hiermo("run", recipe("wide.toml", data={"features": 30}), "--out", "wide")
    hiermo("run", recipe("seeded.toml"), "--seed", "1", "--out", "seeded")
    hiermo("run", recipe("broad.toml", tree={"edges": 3}), "--out", "broad")
    kinds = {"o/HierMo": "o/HierFAVG", "o/HierFAVG": "o/HierMo", "wide": "o/HierMo"}
    saved = {run: (tmp_path / run / "checkpoint.safetensors").read_bytes() for run in {*kinds, "seeded", "broad"}}
    for other, run in (*kinds.items(), ("seeded", "o/HierMo"), ("broad", "o/HierMo")):
        (tmp_path / run / "result.json").unlink(missing_ok=True)
        (tmp_path / run / "checkpoint.safetensors").write_bytes(saved[other])
        error = hiermo("resume", run).error
        assert any(words in error for words in ("is not of this run", "saved by another algorithm")), error
        assert "checkpoint.safetensors" in error


def test_a_second_process_is_refused(hiermo, unfinished):
    lines = (unfinished / "metrics.jsonl").read_bytes()
    with FileLock(unfinished / "lock"):
        words = [sys.executable, "-m", "hiermo", "resume", "o"]
        ended = subprocess.run(words, cwd=unfinished.parent, capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert "error: o: another process is running in this directory" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert "another process" in hiermo("resume", "o", "--iterations", "80").error
    assert (unfinished / "metrics.jsonl").read_bytes() == lines
    assert hiermo("resume", "o").code == 0
