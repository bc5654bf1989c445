"""`hiermo sweep`: each run is what it is alone, what fails does not stop the others, and the same command goes on."""

import json

import pytest

from hiermo.experiment.interrupted import Interrupted
from hiermo.experiment.sweep.folder import placed
from hiermo.experiment.sweep.grid import cells, planned
from hiermo.experiment.sweep.sweep import sweep

MANY = ("-g", "algorithm.gamma=0.1,0.9", "--seeds", "0..2")


def on_digits(path):
    path.write_text(path.read_text().replace('"synthetic"\nsamples = 200\ntest_samples = 100\n', '"mnist-5k"\n'))
    return path


def alone(hiermo, path, name, *settings):
    words = [word for setting in settings for word in ("-s", setting)]
    hiermo("run", path, *words, "--out", name, "--json")


def test_batched_runs_are_those_that_each_is_alone(hiermo, recipe, bits, tmp_path):
    """The bits are the same, which is more than is promised."""
    path = on_digits(recipe(evaluate={"test": 200}))
    ended = hiermo("sweep", path, *MANY, "--out", "s", "--json")
    assert len(ended.runs) == 6
    for gamma in ("0.1", "0.9"):
        for seed in (0, 2):
            alone(hiermo, path, f"a{gamma}{seed}", f"algorithm.gamma={gamma}", f"train.seed={seed}")
            assert bits(tmp_path / f"s/HierMo,gamma={gamma},seed={seed}") == bits(tmp_path / f"a{gamma}{seed}")
    (start,) = json.loads((tmp_path / "s/HierMo,gamma=0.1,seed=0/provenance.json").read_text())["starts"]
    assert start["computed_with"] == "2 other runs, as one"
    assert start["gradients"] == "batched"


def test_runs_in_processes_of_their_own_have_the_same_bits(hiermo, recipe, bits, tmp_path):
    path = recipe(engine={"gradients": "pooled"})
    ended = hiermo("sweep", path, "-g", "algorithm.gamma=0.1,0.9", "--out", "s")
    assert ended.code == 0
    assert "2 runs to make; each by itself; about" in ended.err
    assert "on 2 processes" in ended.err or "on 1 process" in ended.err
    for gamma in ("0.1", "0.9"):
        alone(hiermo, path, f"a{gamma}", f"algorithm.gamma={gamma}")
        assert bits(tmp_path / f"s/HierMo,gamma={gamma}") == bits(tmp_path / f"a{gamma}")
        assert "computed_with" not in (tmp_path / f"s/HierMo,gamma={gamma}/provenance.json").read_text()
    assert "HierMo gamma=0.1" in ended.out
    assert "hiermo report s" in ended.out


@pytest.mark.parametrize("gradients", ["batched", "pooled"])
def test_a_run_that_breaks_is_marked_and_the_others_go_on(hiermo, recipe, tmp_path, gradients):
    path = recipe(engine={"gradients": gradients}, model={"name": "linear"})
    words = ("sweep", path, "-g", "algorithm.eta=0.01,1e30,0.02", "--out", "s")
    ended = hiermo(*words)
    (told,) = ended.errors
    assert told.startswith("s/HierMo,eta=1e30: the ")
    assert "is not finite at iteration" in told
    assert "HierMo eta=0.02" in ended.out
    assert "is not finite" in json.loads((tmp_path / "s/HierMo,eta=1e30/failed.json").read_text())["error"]
    again = hiermo(*words)
    assert again.errors == [told]
    assert "all 3 runs were made before" in again.err
    once_more = hiermo(*words, "--retry", "--json")
    assert once_more.errors == [told]
    assert "1 run to make, 2 made before" in once_more.err
    assert [run["error"] is None for run in json.loads(once_more.out)["runs"]] == [True, False, True]


def test_data_that_is_not_there_is_the_error_of_its_run(hiermo, recipe, monkeypatch, tmp_path):
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path / "nothing"))
    ended = hiermo("sweep", on_digits(recipe()), "-g", "data.source=mnist-5k,uci-har", "--out", "s")
    (told,) = ended.errors
    assert "s/HierMo,source=uci-har: " in told
    assert "hiermo data fetch uci-har" in told
    assert (tmp_path / "s/HierMo,source=mnist-5k/result.json").exists()


def test_finished_runs_are_not_made_again(hiermo, recipe, tmp_path):
    words = ("sweep", recipe(), *MANY)
    assert hiermo(*words).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.*")}
    ended = hiermo(*words)
    assert ended.code == 0
    assert "all 6 runs were made before" in ended.err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.*")} == before


def test_a_sweep_is_a_group_for_other_verbs(hiermo, recipe, tmp_path):
    hiermo("sweep", recipe(), "-g", "algorithm.gamma=0.1,0.9", "--out", "s")
    assert hiermo("resume", "s", "--iterations", "80").code == 0
    assert hiermo("retime", "s", "--until", "accuracy=0.1", "--json").code == 0


def test_what_would_be_run(hiermo, recipe, tmp_path):
    ended = hiermo("sweep", recipe(), "-g", "algorithm.gamma=0.1,0.9", "--dry-run")
    assert ended.out.splitlines() == ["HierMo,gamma=0.1", "HierMo,gamma=0.9"]
    assert "2 runs in runs/r-sweep-" in ended.err
    told = json.loads(hiermo("sweep", recipe(), "-g", "algorithm.gamma=0.1,0.9", "--dry-run", "--json").out)
    assert told["runs"][1] == {"name": "HierMo,gamma=0.9", "settings": {"algorithm.gamma": "0.9"}}
    assert not (tmp_path / "runs").exists()


def test_evaluations_are_logged_where_asked_for(hiermo, recipe, tmp_path):
    assert hiermo("sweep", recipe(), "-g", "algorithm.gamma=0.1,0.9", "--out", "s", "--log", "tensorboard").code == 0
    assert len(list((tmp_path / "s").glob("*/tensorboard/*tfevents*"))) == 2
    assert "nonsense" in hiermo("sweep", recipe(), "--log", "nonsense").error


def test_refusals(hiermo, recipe):
    assert "periods.tau=7" in hiermo("sweep", recipe(), "-g", "periods.tau=7").error
    assert "there is no table 'nonsense'" in hiermo("sweep", recipe(), "-g", "nonsense.x=1").error
    assert "there is no recipe 'nowhere'" in hiermo("sweep", "nowhere").error


def test_ctrl_c_is_heard_while_the_time_is_estimated(recipe, tmp_path):
    _, runs = planned(str(recipe()), cells(["algorithm.gamma=0.1,0.9"]))
    directories = placed(tmp_path / "s", runs)
    pairs = [(directory, run.recipe) for directory, run in zip(directories, runs, strict=True)]
    with pytest.raises(Interrupted):
        next(sweep(pairs, stop=lambda: True))
    assert not list((tmp_path / "s").glob("*/provenance.json"))
