"""`hiermo bounds`: the theorems on a recipe."""

import json

from matplotlib import pyplot
import pytest

KEYS = {
    "recipe", "algorithm", "model", "data", "tree", "periods", "iterations", "seed", "gradients", "left_out",
    "constants", "minimum", "theorems", "picture",
}  # fmt: skip
NAMES = ["Theorem 1", "Theorem 2", "Theorem 3", "j", "Theorem 5"]
DECAY = "train.weight_decay=0.1"


def test_the_tables_say_which_theorems_hold(hiermo, recipe):
    ended = hiermo("bounds", recipe(), "-s", DECAY)
    assert ended.code == 0, ended.err
    assert "40 iterations with full gradients instead of batches" in ended.out
    for word in (
        "4 workers, 2 edges, cloud",
        "tau = 2, pi = 2",
        "rho",
        "beta",
        "mu",
        "edge_to_cloud",
        "F(x*)",
        "L-BFGS",
    ):
        assert word in ended.out
    rows = [line.split() for line in ended.out.splitlines()]
    (first,) = [row for row in rows if row[:2] == ["Theorem", "1"] and "<=" not in row]
    assert first[-1] == "yes"
    corrected = [row for row in rows if row[:1] == ["corrected"]]
    assert len(corrected) == 4 and all(row[-1] == "yes" for row in corrected)
    assert "iterations" in ended.err  # the bar


def test_one_json_object_and_nothing_else(hiermo, recipe):
    told = json.loads(hiermo("bounds", recipe(), "-s", DECAY, "--seed", "3", "--iterations", "20", "--json").out)
    assert set(told) == KEYS
    assert (told["periods"], told["iterations"], told["seed"], told["gradients"]) == ([2, 2], 20, 3, "full")
    assert [each["name"] for each in told["theorems"]] == NAMES
    for each in told["theorems"]:
        sides = [each["printed"]] + ([each["corrected"]] if each["name"] != "Theorem 1" else [])
        for side in sides:
            assert {"left", "right", "ratio", "holds", "iteration"} <= set(side)
        assert sides[-1]["holds"] is True
        assert sides[0]["left"] == pytest.approx(sides[0]["ratio"] * sides[0]["right"])
    c = told["constants"]
    assert c["rho"] > 0 and c["beta"] > 0 and len(c["delta_edges"]) == 2 and 0 < c["sigma"] <= 1
    assert told["minimum"]["gradient"] < 1e-3


def test_a_run_has_no_more_than_twenty_rounds_unless_asked(hiermo, recipe):
    path = recipe(train={"iterations": 400})
    assert json.loads(hiermo("bounds", path, "--json").out)["iterations"] == 80
    assert json.loads(hiermo("bounds", path, "--iterations", "84", "--json").out)["iterations"] == 84


def test_the_first_hiermo_of_several_algorithms_is_taken(hiermo, recipe):
    several = [{"name": "HierFAVG"}, {"name": "HierMo", "label": "mine"}, {"name": "HierMo", "gamma": 0.9}]
    told = json.loads(hiermo("bounds", recipe(algorithm=several), "--iterations", "8", "--json").out)
    assert told["algorithm"] == "mine" and told["constants"]["gamma"] == 0.5


def test_the_picture_has_a_panel_for_each_theorem(hiermo, recipe, tmp_path, monkeypatch):
    figures = []
    subplots = pyplot.subplots
    monkeypatch.setattr(pyplot, "subplots", lambda *a, **k: figures.append(subplots(*a, **k)) or figures[-1])
    ended = hiermo("bounds", recipe(), "-s", DECAY, "--out", "b.png")
    assert "picture: b.png" in ended.out
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    ((_, panels),) = figures
    assert [axes.get_title(loc="left") for axes in panels.flat] == [name for name in NAMES if name != "j"]
    assert all("iterations" in axes.get_xlabel() for axes in panels[1])
    for axes in panels.flat:
        assert axes.get_ylabel()
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels[0].startswith("measured") and labels[1].startswith("bound as printed: ")
    assert not pyplot.get_fignums()


def test_a_theorem_whose_conditions_are_not_met_is_not_applicable(hiermo, recipe):
    steep = recipe(algorithm={"name": "HierMo", "eta": 2.0, "gamma": 0.5, "gamma_a": 0.1})
    ended = hiermo("bounds", steep, "-s", DECAY, "--out", "b.png")
    assert ended.code == 0, ended.err
    assert "Theorem 5 is not applicable: beta*eta*(gamma+1) must be at most 1" in ended.out
    (fifth,) = [
        each for each in json.loads(hiermo("bounds", steep, "--json").out)["theorems"] if each["name"] == NAMES[4]
    ]
    assert fifth["printed"]["applies"] is False and fifth["printed"]["why"]


POSITION = {"name": "HierMo", "form": "position", "gamma_a": 0.1}
RUNAWAY = {"name": "HierMo", "eta": 1e9}


@pytest.mark.parametrize(
    ("changes", "words", "why"),
    [
        ({"algorithm": {"name": "HierFAVG"}}, (), "the recipe has HierFAVG: set -s algorithm=HierMo"),
        ({"algorithm": POSITION}, (), "the proofs are of the velocity form"),
        ({"tree": {"workers_per_edge": 4, "edges": 1}, "periods": None}, ("-s", "tree={workers=4}"), "three tiers"),
        ({"train": {"schedule": {"kind": "cosine", "over": 40}}}, (), "constant eta"),
        ({"absence": {"drop_out": 0.3}}, (), "every worker takes part"),
        ({}, ("--iterations", "30"), "iterations = 30 is not a multiple of 2 * 2 = 4; try 28 or 32"),
        ({}, ("--out", "b.pdf"), "name a .png file in a folder that exists"),
        ({}, ("--out", "nowhere/b.png"), "name a .png file in a folder that exists"),
        ({"algorithm": RUNAWAY, "train": {"weight_decay": 10.0}}, (), "is not finite at iteration"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_a_sentence(hiermo, recipe, changes, words, why):
    assert why in hiermo("bounds", recipe(**changes), *words).error


@pytest.mark.parametrize(
    ("layer", "why"),
    [("Dropout", "draws random numbers (dropout)"), ("BatchNorm1d", "keeps running statistics (BatchNorm)")],
)
def test_models_whose_loss_is_no_function_of_their_weights_are_refused(hiermo, recipe, tmp_path, layer, why):
    first = {"Dropout": "nn.Dropout(0.5)", "BatchNorm1d": "nn.BatchNorm1d(20)"}[layer]
    code = f"from torch import nn\n\n\ndef net():\n    return nn.Sequential(nn.Flatten(), {first}, nn.Linear(20, 10))\n"
    (tmp_path / f"net_with_{layer}.py").write_text(code)
    assert why in hiermo("bounds", recipe(model={"name": f"net_with_{layer}:net"})).error
