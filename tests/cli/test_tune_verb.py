"""`hiermo tune`: what it says, writes and refuses, and that what it writes runs as it says."""

import json

import pytest

DELAYS = {"theta_w": 0.5, "phi_w2e": 2.0, "phi_e2c": 8.0}
KEYS = {"tau", "pi", "iterations", "bound", "constants", "pilot_share"}


@pytest.fixture
def mixed(recipe):
    """Workers that hold some of the classes."""
    return recipe(data={"partition": {"kind": "classes", "per_worker": 5}}, delays=DELAYS, evaluate={"train": True})


def told(ended):
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_json_is_one_object_and_the_recipe_that_is_written_runs_as_told(hiermo, mixed, tmp_path):
    found = told(hiermo("tune", mixed, "--budget", "600s", "--out", "t", "--json"))
    assert found.keys() >= KEYS
    assert all({"value", "uncertainty"} <= each.keys() for each in found["constants"].values())
    assert found["iterations"] % (found["tau"] * found["pi"]) == 0
    assert found["pilot_share"] <= 0.05
    (run,) = hiermo("run", found["files"]["recipe"], "--out", "o", "--json").runs
    assert run["iterations"] == found["iterations"]
    assert run["simulated_seconds"] == pytest.approx(found["simulated_seconds"])
    assert run["simulated_seconds"] <= 600 * (1 - found["pilot_share"])
    assert {"pilot.json", "tuned.toml", "tuning.json", "bound.png"} == {
        path.name for path in (tmp_path / "t").iterdir()
    }
    kept = json.loads((tmp_path / "t" / "tuning.json").read_text())
    assert {key: found[key] for key in KEYS} == {key: kept[key] for key in KEYS}


def test_words(hiermo, mixed):
    shown = hiermo("tune", mixed, "--budget", "10min")
    assert shown.code == 0, shown.err
    for words in (
        "an iteration takes 0.5 s",
        "pilot: ",
        "% of 600 s",
        "rho",
        "drift of edges",
        "tau = ",
        "HierOPT walks",
    ):
        assert words in shown.out
    assert "go on with: hiermo run runs/r-tuned/tuned.toml" in shown.out


def test_delays_of_the_option_the_recipe_and_else_the_paper(hiermo, recipe, tmp_path):
    (tmp_path / "d.toml").write_text("theta_w = 0.25\nphi_e2c = 1.0\n")
    own = recipe(delays=DELAYS)
    assert told(hiermo("tune", own, "--budget", "300", "--json"))["times"]["iteration_s"] == pytest.approx(0.5)
    given = told(hiermo("tune", own, "--budget", "300", "--delays", "d.toml", "--json"))
    assert (given["delays"], given["times"]["iteration_s"]) == ("d.toml", pytest.approx(0.25))
    assert "'paper'" in told(hiermo("tune", recipe(), "--budget", "3s", "--json"))["delays"]


def test_the_second_time_the_pilot_is_not_made_again(hiermo, mixed, monkeypatch):
    first = told(hiermo("tune", mixed, "--budget", "600s", "--json"))
    from hiermo.tuning import tune as module

    monkeypatch.setattr(module, "run_pilot", None)
    assert told(hiermo("tune", mixed, "--budget", "600s", "--json")) == first


def test_printed_and_calibrated(hiermo, mixed):
    found = told(hiermo("tune", mixed, "--budget", "600s", "--json", "--method", "printed"))
    assert found["method"] == "printed" and found["periods"] == found["printed"]["exact"]


def test_verify_trains_a_grid_and_draws_it(hiermo, mixed, tmp_path):
    found = told(hiermo("tune", mixed, "--budget", "150s", "--verify", "--json", "--out", "v"))["verified"]
    assert found["metric"] == "train_accuracy" and len(found["grid"]) > 5
    best = max(found["grid"], key=lambda cell: cell["train_accuracy"])
    assert found["best_accuracy"] == best["train_accuracy"]
    assert found["gap_points"] == pytest.approx(100 * (found["best_accuracy"] - found["accuracy"]))
    assert (tmp_path / "v" / "accuracy.png").stat().st_size > 10_000
    assert "a gap of" in hiermo("tune", mixed, "--budget", "150s", "--verify", "--out", "v").out


def test_two_tiers_have_no_pi(hiermo, recipe):
    path = recipe(tree={"flatten": True}, delays=DELAYS, algorithm={"name": "FedAvg"})
    found = told(hiermo("tune", path, "--budget", "300s", "--json"))
    assert found["pi"] is None and found["periods"] == [found["tau"]]


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--budget", "soon"], "--budget soon: write a time above 0, as in 400s, 10min or 2h"),
        (["--budget", "-5s"], "--budget -5s: write a time above 0"),
        (["--budget", "0"], "--budget 0: write a time above 0"),
        (["--budget", "1s"], "the smallest pilot takes"),
        (["--budget", "100s", "--algorithm", "Nobody"], "--algorithm Nobody: the recipe has HierMo"),
        (["--budget", "100s", "--delays", "nowhere.csv"], "--delays nowhere.csv: there is no such file"),
        (["--budget", "100s", "-s", "periods.tua=3"], "periods.tua"),
    ],
)
def test_refusals_are_one_sentence(hiermo, recipe, words, sentence):
    assert sentence in hiermo("tune", recipe(delays=DELAYS), *words).error


def test_a_budget_is_needed(hiermo, recipe):
    assert hiermo("tune", recipe()).code == 2
