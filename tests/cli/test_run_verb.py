"""`hiermo run`: directories, table, picture, JSON, dry runs, and what is refused before anything is left behind."""

import json
import resource
import tomllib

import pytest

from hiermo.experiment import assemble, memory

WALL_CLOCK = {"seconds", "run_dir", "started", "finished"}
FILES = {"recipe.toml", "provenance.json", "metrics.jsonl", "holdings.json", "checkpoint.safetensors", "result.json"}
FILES |= {"lock"}


def timeless(run):
    return {key: value for key, value in run.items() if key not in WALL_CLOCK}


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_one_algorithm_fills_the_directory_itself(hiermo, recipe, tmp_path):
    ended = hiermo("run", recipe(), "--out", "o", picture=True)
    assert ended.code == 0
    assert names(tmp_path / "o") - {"lock"} == (FILES | {"accuracy.png"}) - {"lock"}
    for word in (
        "HierMo",
        "accuracy",
        "loss",
        "iterations",
        "sent",
        "simulated",
        "took",
        "logistic on synthetic",
        "40",
    ):
        assert word in ended.out
    assert "40/40" in ended.err  # progress is for people: not on standard output
    assert "40/40" not in ended.out


def test_several_algorithms_have_a_folder_each(hiermo, recipe, tmp_path):
    several = [{"name": "HierMo"}, {"name": "HierMo", "label": "no momentum", "gamma": 0.0}, {"name": "HierFAVG"}]
    runs = hiermo("run", recipe(algorithm=several), "--out", "o/p", "--json", picture=True).runs
    assert names(tmp_path / "o/p") == {"HierMo", "no momentum", "HierFAVG", "runs.json", "accuracy.png"}
    picture = (tmp_path / "o/p/accuracy.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) > 10_000
    assert [run["label"] for run in runs] == ["HierMo", "no momentum", "HierFAVG"]
    assert [run["algorithm"] for run in runs] == ["HierMo", "HierMo", "HierFAVG"]
    assert [run["run_dir"] for run in runs] == ["o/p/HierMo", "o/p/no momentum", "o/p/HierFAVG"]
    assert len({run["model_sha256"] for run in runs}) == 3


def test_without_out_a_folder_of_its_own_under_runs(hiermo, recipe, tmp_path):
    path = recipe("my-recipe.toml")
    folders = [hiermo("run", path, "--json").runs[0]["run_dir"] for _ in range(2)]
    assert {f"runs/{name}" for name in names(tmp_path / "runs")} == set(folders)
    assert all(folder.startswith("runs/my-recipe-") for folder in folders)


def test_json_is_a_function_of_recipe_and_seed(hiermo, recipe):
    path = recipe()
    first, again, other = (
        hiermo("run", path, "--out", out, "--seed", seed, "--json").runs[0]
        for out, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert {"algorithm", "seed", "iterations", "accuracy", "loss", "seconds", "run_dir"} <= first.keys()
    assert timeless(first) == timeless(again)
    assert first["seed"] == 3
    assert first["iterations"] == 40
    assert first["stopped_by"] == "iterations"
    assert other["model_sha256"] != first["model_sha256"]
    assert other["loss"] != first["loss"]


def test_the_written_recipe_has_every_default_and_runs_the_same(hiermo, recipe, bits, tmp_path):
    hiermo("run", recipe(), "-s", "algorithm.gamma=0.3", "--seed", "5", "--out", "a")
    written = tomllib.loads((tmp_path / "a/recipe.toml").read_text())
    assert written["format"] == 1
    schedule = {"kind": "constant", "warm_up": 0, "per": "iteration"}
    assert written["train"] == {"iterations": 40, "batch": 8, "seed": 5, "weight_decay": 0.0, "schedule": schedule}
    gammas = {"gamma": 0.3, "gamma_a": 0.5}
    assert written["algorithm"] == {"name": "HierMo", "label": "HierMo", "eta": 0.01, "form": "velocity", **gammas}
    assert written["engine"]["name"] == "stacked"
    assert hiermo("run", "a/recipe.toml", "--out", "b").code == 0
    assert bits(tmp_path / "a") == bits(tmp_path / "b")


def test_an_existing_run_is_refused_and_untouched(hiermo, recipe, bits, tmp_path):
    path, two = recipe(), recipe("two.toml", algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}])
    hiermo("run", path, "--out", "o")
    hiermo("run", two, "--out", "g")
    before = bits(tmp_path / "o")
    for again in (path, two):
        assert "o holds a run already: go on with it by `hiermo resume o`" in hiermo("run", again, "--out", "o").error
        assert "g holds a run already" in hiermo("run", again, "--out", "g").error
    assert bits(tmp_path / "o") == before


def test_out_that_cannot_be_a_run_directory(hiermo, recipe, tmp_path):
    path = recipe()
    (tmp_path / "file").write_text("mine")
    assert hiermo("run", path, "--out", "file").error == "file is a file: --out names a directory"
    assert "cannot be written" in hiermo("run", path, "--out", "file/below").error
    (tmp_path / "old").mkdir()
    (tmp_path / "old/checkpoint.safetensors").write_bytes(b"of whom?")
    assert "not this run's" in hiermo("run", path, "--out", "old").error
    (tmp_path / "group/HierMo").mkdir(parents=True)
    two = recipe("two.toml", algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}])
    assert "HierMo exists already" in hiermo("run", two, "--out", "group").error
    assert names(tmp_path / "group") == {"HierMo"}


def test_an_existing_folder_may_be_used_and_keeps_what_is_in_it(hiermo, recipe, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o/notes.txt").write_text("mine")
    assert hiermo("run", recipe(), "--out", "o").code == 0
    assert (tmp_path / "o/notes.txt").read_text() == "mine"


def test_dry_run_tells_and_leaves_nothing(hiermo, recipe, tmp_path):
    path = recipe(algorithm=[{"name": "HierMo"}, {"name": "HierFAVG", "label": "a [b]"}], delays={"theta_w": 0.5})
    ended = hiermo("run", path, "--dry-run", "--out", "o")
    assert ended.code == 0
    for word in ("4 workers, 2 edges, cloud", "parameters", "210", "memory", "KiB", "messages", "time here"):
        assert word in ended.out
    assert "a [b]" in ended.out  # not taken for markup
    assert "[delays]" in ended.out
    told = json.loads(hiermo("run", path, "--dry-run", "--json").out)["dry_run"]
    assert told["parameters"] == 210
    first, second = told["runs"]
    assert first["messages"] == 10 * (
        2 * 2 * 4 + 2 * 2 * 1
    )  # 10 cloud rounds; 4 workers twice, 2 edges once, up and down
    assert second["messages"] == first["messages"]
    assert first["simulated_seconds"] == pytest.approx(20)
    assert 0 < first["seconds"] < 60
    assert names(tmp_path) == {"r.toml"}


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_what_does_not_fit_in_memory_is_refused_before_it_is_taken(hiermo, recipe, tmp_path, dry):
    path = recipe(data=None, model={"name": "cnn", "hidden": [10_000_000]})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = hiermo("run", path, "-s", "data.source=mnist-5k", *dry).error
    assert "needs about" in error
    assert "4 workers (tree) hold a model of 31,470,0" in error
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KiB
    assert names(tmp_path) == {"r.toml"}


def test_refused_for_memory_nothing_is_left_but_what_was_there(hiermo, recipe, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    monkeypatch.setattr(assemble, "Supervised", None)  # never called
    two = recipe(algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}])
    (tmp_path / "there").mkdir()
    for out in ("new", "there", "there/a/b"):
        assert "1000 B are free" in hiermo("run", two, "--out", out).error
    assert "1000 B are free" in hiermo("run", two).error
    assert names(tmp_path) == {"r.toml", "there"}
    assert not names(tmp_path / "there")


def test_flatten_gives_two_tier_algorithms_the_flat_tree(hiermo, recipe, bits, tmp_path):
    both = recipe(tree={"flatten": True}, algorithm=[{"name": "FedAvg"}, {"name": "HierFAVG"}])
    hiermo("run", both, "--out", "both")
    flat = recipe("flat.toml", tree=None, periods=None, algorithm={"name": "FedAvg"})
    hiermo("run", flat, "-s", "tree.workers=4", "-s", "periods.tau=4", "--out", "flat")
    kept = recipe("kept.toml", algorithm={"name": "HierFAVG"})
    hiermo("run", kept, "--out", "kept")
    assert bits(tmp_path / "both/FedAvg") == bits(tmp_path / "flat")
    assert bits(tmp_path / "both/HierFAVG") == bits(tmp_path / "kept")


def test_four_tiers_with_a_list_of_periods(hiermo, recipe):
    path = recipe(tree=None, periods=[2, 1, 2])
    ended = hiermo("run", path, "-s", "tree.branching=[2, 2, 2]", "--json")
    assert ended.runs[0]["cloud_rounds"] == 10
    assert "8 workers, 4 edges, 2 nodes, cloud" in hiermo("run", path, "-s", "tree.branching=[2,2,2]", "--dry-run").out


def test_divergence_names_the_place_and_lets_the_others_run(hiermo, recipe, bits, tmp_path):
    wild = {"name": "HierMo", "label": "wild", "eta": 1e30, "gamma": 0.9}
    path = recipe(model={"name": "linear"}, algorithm=[wild, {"name": "HierFAVG"}])
    ended = hiermo("run", path, "--out", "o", "--json")
    (error,) = ended.errors
    assert error.startswith("o/wild: the ")
    assert "(tier 0) is not finite at iteration" in error
    assert [run["label"] for run in json.loads(ended.out)["runs"]] == ["HierFAVG"]
    assert not (tmp_path / "o/wild/result.json").exists()
    assert len(bits(tmp_path / "o/HierFAVG").metrics) == 11
    shown = hiermo("resume", "o")  # diverges again, and the others are shown again
    assert "not finite" in shown.errors[0]
    assert "HierFAVG" in shown.out


def test_divergence_keeps_the_last_good_state(hiermo, recipe, tmp_path):
    from hiermo.experiment.checkpoint import load

    path = recipe(model={"name": "linear"}, algorithm={"name": "HierFAVG", "eta": 1000.0})
    (error,) = hiermo("run", path, "--out", "o").errors
    assert "its last good state is in checkpoint.safetensors" in error
    arrays, place, _ = load(tmp_path / "o/checkpoint.safetensors")
    assert 0 < place["t"] < 40
    assert all(abs(array).max() < float("inf") for array in arrays.values())
    at_once = recipe("at_once.toml", model={"name": "linear"}, algorithm={"name": "HierFAVG", "eta": 1e38})
    assert "last good state" not in hiermo("run", at_once, "--out", "p").error  # there is none


def test_until_stops_early_and_stays_stopped(hiermo, recipe, bits, tmp_path):
    path = recipe(train={"until": {"accuracy": 0.6}})
    (run,) = hiermo("run", path, "--out", "o", "--json").runs
    assert run["stopped_by"] == "until"
    assert run["accuracy"] >= 0.6
    assert run["iterations"] < 40
    before = bits(tmp_path / "o")
    assert before.metrics[-2].get("accuracy", 0) < 0.6
    for words in ([], ["--iterations", "80"]):
        (again,) = hiermo("resume", "o", *words, "--json").runs
        assert timeless(again) == timeless(run)
        assert bits(tmp_path / "o") == before


def test_the_metrics_file_explains_itself(hiermo, recipe, bits, tmp_path):
    hiermo("run", recipe(evaluate={"every": 3, "train": 50}), "--out", "o")
    header, *lines = [json.loads(line) for line in (tmp_path / "o/metrics.jsonl").read_text().splitlines()]
    assert header["format"] == 1
    assert list(header["columns"]) == [
        "iteration", "cloud_round", "seconds", "simulated_seconds", "bytes", "loss", "accuracy", "train_loss",
        "train_accuracy",
    ]  # fmt: skip
    assert all(len(text) > 10 for text in header["columns"].values())
    assert all(list(line) == list(header["columns"]) for line in lines)
    assert [line["cloud_round"] for line in lines] == [3, 6, 9, 10]


def test_provenance_has_one_entry_per_start(hiermo, recipe, tmp_path):
    hiermo("run", recipe(), "--seed", "7", "-s", "engine.threads=1", "--out", "o")
    hiermo("resume", "o", "--iterations", "44")
    first, second = json.loads((tmp_path / "o/provenance.json").read_text())["starts"]
    assert first.keys() == second.keys()
    assert first["seed"] == 7
    assert first["threads"] == 1
    assert first["device"] == "cpu"
    assert {"torch", "numpy", "safetensors"} <= first["libraries"].keys()
    assert first["cpu"]
    assert first["python"].startswith("3.")
    assert first["git"] is None or {"commit", "dirty"} == first["git"].keys()


def test_a_folder_that_may_not_be_written_is_a_sentence(hiermo, recipe, monkeypatch):
    from hiermo.experiment import training

    def full(path, value):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(training, "write_json", full)
    assert "No space left on device: 'o/holdings.json'" in hiermo("run", recipe(), "--out", "o").error
