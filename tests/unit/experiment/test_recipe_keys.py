"""Short forms, usual values and paths of a recipe, and what its tables do to the data."""

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.experiment.holdings import holdings, load_data
from hiermo.experiment.recipe import parse, to_dict
from hiermo.experiment.recipe_file import load, override

FIVE_LINES = """
data = "mnist-5k"
model = "logistic"
tree = { edges = 2, workers_per_edge = 2 }
train = { iterations = 20 }
algorithm = "HierMo"
"""
RAW = {
    "data": {"source": "synthetic", "samples": 400},
    "model": "logistic",
    "tree": {"edges": 2, "workers_per_edge": 2},
    "train": {"iterations": 20},
    "algorithm": "HierMo",
}


def test_five_lines_are_a_recipe(tmp_path):
    (tmp_path / "short.toml").write_text(FIVE_LINES)
    recipe = load(str(tmp_path / "short.toml"))
    assert recipe.periods == (10, 2)
    assert to_dict(recipe)["algorithm"] == {
        "name": "HierMo",
        "label": "HierMo",
        "eta": 0.01,
        "gamma": 0.5,
        "gamma_a": 0.5,
        "form": "velocity",
    }


def test_names_may_stand_for_tables_when_keys_are_changed(tmp_path):
    (tmp_path / "short.toml").write_text(FIVE_LINES)
    settings = ["model.name=mlp", "algorithm.gamma=0.9", "data.partition.kind=iid", "data.source=synthetic"]
    recipe = load(str(tmp_path / "short.toml"), settings)
    assert (recipe.model.name, recipe.source.name, recipe.algorithms[0].made.gamma) == ("mlp", "synthetic", 0.9)
    several = {"algorithm": ["HierMo", {"name": "FedAvg"}]}
    override(several, "algorithm.gamma=0.9")
    assert several == {"algorithm": [{"name": "HierMo", "gamma": 0.9}, {"name": "FedAvg"}]}


def test_the_usual_periods_are_for_two_and_three_tiers():
    assert parse({**RAW, "tree": {"workers": 4}, "algorithm": "FedAvg"}).periods == (10,)
    with pytest.raises(UserError, match=r"periods: a tree of 4 tiers needs a list of 3, not \[10, 2\]"):
        parse({**RAW, "tree": {"branching": [2, 2, 2]}})


def test_paths_are_looked_for_beside_the_recipe_and_then_here(tmp_path, monkeypatch):
    beside, here = tmp_path / "recipes", tmp_path / "here"
    for folder, names in ((beside, ["start.safetensors"]), (here, ["start.safetensors", "mine.npz"])):
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(b"")
    monkeypatch.chdir(here)
    folders = (beside, here)

    def weights(path):
        return parse({**RAW, "model": {"name": "logistic", "weights": path}}, folders=folders).start.weights

    assert weights("start.safetensors") == str(beside / "start.safetensors")
    assert weights(str(here / "start.safetensors")) == str(here / "start.safetensors")
    assert weights("nowhere.safetensors") == "nowhere.safetensors"  # who reads it will say so

    def data(path):
        return parse({**RAW, "data": {"source": "arrays", "path": path}}, folders=folders).source.made.path

    assert data("mine.npz") == str(here / "mine.npz")
    assert data("m*.npz") == str(here / "m*.npz")
    assert data(str(here / "m*.npz")) == str(here / "m*.npz")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"tree": {"workers": 4, "assign": "similar"}, "algorithm": "FedAvg"}, "tree.assign needs edges"),
        ({"tree": {"workers": 4}, "data": {**RAW["data"], "edges": "iid"}, "algorithm": "FedAvg"}, "data.edges needs"),
        (
            {"tree": {**RAW["tree"], "assign": "mixed"}, "data": {**RAW["data"], "edges": "iid"}},
            "tree.assign would undo data.edges",
        ),
        ({"input": {"crop": -1}}, "input.crop must be at least 0, not -1"),
        ({"input": {"crops": 1}}, "input.crops is not a key of [input]; did you mean 'crop'?"),
        ({"evaluate": {"per": ["workers"]}}, "evaluate.per must be one of 'class', 'worker', 'edge', not 'workers'"),
        ({"data": {**RAW["data"], "edges": "iidd"}}, "data.edges.kind: there is no partition 'iidd'; did you mean"),
        ({"model": {"name": "mlp", "weight": "a"}}, "model.weight is not a parameter of Mlp; did you mean 'weights'?"),
        ({"train": {"iterations": 20, "until": {"accuracy_worst_worker": 1}}}, "there is no metric 'accuracy_worst_w"),
    ],
)
def test_refused(tables, message):
    with pytest.raises(UserError) as error:
        parse({**RAW, **tables})
    assert message in str(error.value)


def test_until_may_ask_for_the_worst_worker_where_it_is_measured():
    train = {"iterations": 20, "until": {"accuracy_worst_worker": 0.9, "loss_spread_edge": 0.1}}
    assert parse({**RAW, "train": train, "evaluate": {"per": ["worker", "edge"]}}).train.until == train["until"]


def shares(raw):
    """Label counts of the workers and of the edges."""
    recipe = parse({**RAW, **raw})
    counts = holdings(recipe, load_data(recipe)).counts()
    return counts, counts.reshape(2, 2, -1).sum(1)


def test_data_edges_divides_among_edges_first():
    skewed = {"kind": "classes", "per_worker": 5}
    alike, edges = shares({"data": {**RAW["data"], "partition": "iid", "edges": skewed}})
    assert ((edges > 0).sum(1) == 5).all()  # edges hold different classes
    assert ((alike > 0).sum(1) == 5).all()  # and their workers all of them
    workers, edges = shares({"data": {**RAW["data"], "partition": skewed, "edges": "iid"}})
    assert ((edges > 0).sum(1) == 10).all()
    assert ((workers > 0).sum(1) == 5).all()


def test_tree_assign_says_which_data_goes_under_which_edge():
    data = {**RAW["data"], "partition": {"kind": "classes", "per_worker": 5}}
    given, _ = shares({"data": data})
    found = {}
    for how in ("similar", "mixed"):
        workers, edges = shares({"data": data, "tree": {**RAW["tree"], "assign": how}})
        assert sorted(map(tuple, workers)) == sorted(map(tuple, given))
        found[how] = np.abs(edges / edges.sum(1, keepdims=True) - 0.1).sum()
    assert found["mixed"] < found["similar"]
