"""Every fault of a recipe is one sentence that names file and key; nothing is left behind."""

import pytest

TWO = [{"name": "HierMo"}, {"name": "HierFAVG"}]
HIERMO = {"name": "HierMo"}

FAULTS = {
    "unknown table": ({"trian": {}}, "trian is not a known key; did you mean 'train'?"),
    "unknown key": (
        {"train": {"iteratoins": 40}},
        "train.iteratoins is not a key of [train]; did you mean 'iterations'?",
    ),
    "unknown parameter": (
        {"algorithm": {**HIERMO, "gama": 0.5}},
        "algorithm.gama is not a parameter of HierMo; did you mean 'gamma'?",
    ),
    "near the label": (
        {"algorithm": {**HIERMO, "lable": "x"}},
        "algorithm.lable is not a parameter of HierMo; did you mean 'label'?",
    ),
    "near the partition": (
        {"data": {"partiton": "iid"}},
        "data.partiton is not a parameter of Synthetic; did you mean 'partition'?",
    ),
    "wrong type": ({"train": {"batch": "8"}}, "train.batch must be a whole number, not '8'"),
    "bool for a number": ({"train": {"batch": True}}, "train.batch must be a whole number, not True"),
    "table wanted": ({"train": 40}, "train must be a table, not 40"),
    "data is no table": ({"data": 5}, "data must be a table, not 5"),
    "model is no table": ({"model": 5}, "model must be a table, not 5"),
    "periods are no table": ({"periods": 4}, "periods must be a table, not 4"),
    "algorithm is no table": ({"algorithm": 5}, "algorithm must be a table, not 5"),
    "name is no text": ({"name": 5}, "name must be a text, not 5"),
    "import_from is no list": ({"import_from": "here"}, "import_from must be a list of folders, not 'here'"),
    "momentum": ({"algorithm": {**HIERMO, "gamma": 1.0}}, "algorithm.gamma must be in [0, 1), not 1.0"),
    "momentum below": ({"algorithm": {**HIERMO, "gamma_a": -0.1}}, "algorithm.gamma_a must be in [0, 1), not -0.1"),
    "which algorithm": (
        {"algorithm": [*TWO, {"name": "HierMo", "label": "b", "gamma": 2}]},
        "algorithm.b.gamma must be in [0, 1), not 2",
    ),
    "eta": ({"algorithm": {**HIERMO, "eta": 0}}, "algorithm.eta must be above 0, not 0"),
    "tau": ({"periods": {"tau": 0}}, "periods.tau must be at least 1, not 0"),
    "a period": ({"periods": [2, 0]}, "periods must be whole numbers of at least 1, not [2, 0]"),
    "iterations": (
        {"train": {"iterations": 42}},
        "train.iterations = 42 is not a multiple of 2 * 2 = 4; try 40 or 44",
    ),
    "seed": ({"train": {"seed": -1}}, "train.seed must be at least 0, not -1"),
    "too many workers": ({"tree": {"edges": 200}}, "tree has 400 workers, more than the 200 samples of data.source"),
    "two-tier algorithm": (
        {"algorithm": {"name": "FedAvg"}},
        "tree has 3 tiers and FedAvg is an algorithm for 2; set tree.flatten = true",
    ),
    "no algorithm": ({"algorithm": None}, "algorithm is missing"),
    "algorithm without a name": ({"algorithm": {"eta": 0.1}}, "algorithm.name is missing: name one of HierMo, "),
    "one name twice": (
        {"algorithm": [HIERMO, HIERMO]},
        "algorithm: two algorithms are called 'HierMo': give each a label of its own",
    ),
    "label with a slash": (
        {"algorithm": {**HIERMO, "label": "a/b"}},
        "algorithm.label must be usable as the name of a folder, not 'a/b'",
    ),
    "label of dots": ({"algorithm": {**HIERMO, "label": ".."}}, "algorithm.label must be usable as"),
    "label with a newline": ({"algorithm": {**HIERMO, "label": "a\nb"}}, "algorithm.label must be usable as"),
    "empty label": ({"algorithm": {**HIERMO, "label": ""}}, "algorithm.label must be usable as"),
    "label is a number": ({"algorithm": {**HIERMO, "label": 3}}, "algorithm.label must be usable as"),
    "unknown algorithm": (
        {"algorithm": {"name": "HierMoo"}},
        "algorithm.name: there is no algorithm 'HierMoo'; did you mean 'HierMo'?",
    ),
    "unknown model": (
        {"model": {"name": "logistik"}},
        "model.name: there is no model 'logistik'; did you mean 'logistic'?",
    ),
    "unknown source": (
        {"data": {"source": "mnist5k"}},
        "data.source: there is no dataset 'mnist5k'; did you mean 'mnist-5k'?",
    ),
    "unknown partition": (
        {"data": {"partition": "dirichelt"}},
        "data.partition.kind: there is no partition 'dirichelt'; did you mean 'dirichlet'?",
    ),
    "no module": (
        {"algorithm": {"name": "nowhere:Mine"}},
        "algorithm.name: 'nowhere:Mine': there is no module 'nowhere'",
    ),
    "no algorithm there": ({"algorithm": {"name": "math:pi"}}, "algorithm.name: math:pi is not a dataclass"),
    "no subclass": (
        {"algorithm": {"name": "hiermo.models.cnn:Cnn"}},
        "algorithm.name: hiermo.models.cnn:Cnn is not a hiermo.Algorithm",
    ),
    "tree in two ways": (
        {"tree": {"workers": 4}},
        "tree: give exactly one of edges, workers, branching, groups, parents, not edges and workers",
    ),
    "no tree": ({"tree": None}, "tree: give exactly one of edges, workers, branching, groups, parents, not none"),
    "half a tree": ({"tree": {"workers_per_edge": [1, 2, 3]}}, "tree: a tree needs at least one edge and one worker"),
    "periods too many": ({"periods": [2, 2, 2]}, "periods: a tree of 3 tiers needs tau and pi, not [2, 2, 2]"),
    "periods too few": ({"periods": [4]}, "periods: a tree of 3 tiers needs tau and pi, not [4]"),
    "format": ({"format": 99}, "format must be 1: this is what this version reads, not 99"),
    "until": (
        {"train": {"until": {"acuracy": 0.9}}},
        "train.until: there is no metric 'acuracy'; did you mean 'accuracy'?",
    ),
    "until not measured": (
        {"train": {"until": {"train_loss": 0.9}}},
        "train.until: train_loss is not measured; set evaluate.train = true",
    ),
    "until is no number": (
        {"train": {"until": {"accuracy": "high"}}},
        "train.until accuracy: must be a number, not 'high'",
    ),
    "engine": ({"engine": {"name": "fast"}}, "engine.name must be one of 'stacked', 'pernode', not 'fast'"),
}


@pytest.mark.parametrize(("tables", "said"), FAULTS.values(), ids=FAULTS)
def test_one_sentence_with_file_and_key(hiermo, recipe, tmp_path, tables, said):
    ended = hiermo("run", recipe(**tables))
    assert ended.error.startswith(f"{tmp_path}/r.toml: {said}")
    assert ended.err == f"error: {ended.error}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["r.toml"]


def test_a_tree_that_is_no_tree(hiermo, recipe):
    for tree in ("[5, 0]", "[]", "[1000000, 1000000, 1000000]", "[100000, 1000000000]"):
        error = hiermo("run", recipe(tree=None), "-s", f"tree.branching={tree}").error
        assert "r.toml: tree" in error


def test_several_faults_are_told_at_once(hiermo, recipe):
    path = recipe(
        algorithm={**HIERMO, "gamma": 1.0, "eta": -1},
        train={"iterations": 42},
        tree={"edges": 200},
        trian={},
        model={"name": "cn"},
    )
    errors = hiermo("run", path).errors
    assert len(errors) == 6
    assert all(error.startswith(str(path)) for error in errors)
    for key in ("trian", "algorithm.gamma", "algorithm.eta", "train.iterations", "model.name", "tree has 400 workers"):
        assert sum(f": {key}" in error for error in errors) == 1, key


def test_not_a_recipe(hiermo, tmp_path):
    (tmp_path / "bad.toml").write_text("[train]\niterations = \n")
    assert hiermo("run", "bad.toml").error == "bad.toml: not valid TOML: Invalid value (at line 2, column 14)"
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    assert hiermo("run", "binary.toml").error.startswith("binary.toml: cannot be read: ")
    (tmp_path / "folder").mkdir()
    for name in ("folder", "nowhere.toml"):
        assert hiermo("run", name).error.startswith(f"there is no recipe '{name}', neither a file nor a shipped one")
    assert hiermo("run", "quick/digit").error.endswith("; did you mean 'quick/digits'?")
    (tmp_path / "empty.toml").write_text("")
    assert len(hiermo("run", "empty.toml").errors) == 5  # data, model, tree, train, algorithm


@pytest.mark.parametrize("words", [[], ["--out", "o"], ["--dry-run"]])
def test_data_that_is_not_here(hiermo, recipe, monkeypatch, tmp_path, words):
    path = recipe(data=None, algorithm=TWO)
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path / "data"))
    error = hiermo("run", path, "-s", "data.source=mnist", *words).error
    assert "data set mnist: train-images-idx3-ubyte" in error
    assert f"not in {tmp_path}/data/mnist; get it by `hiermo data fetch mnist` or `hiermo data import mnist" in error
    assert {each.name for each in tmp_path.iterdir()} == {"r.toml", "data"}


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"engine": {"device": "cuda:7"}}, "engine.device = 'cuda:7' cannot be used here"),
        ({"model": {"name": "cnn"}}, "model 'cnn' needs images"),
        ({"data": {"partition": {"kind": "classes", "per_worker": 11}}}, "data.partition.per_worker = 11"),
        (
            {"data": {"partition": {"kind": "sizes", "sizes": [1, 2]}}},
            "data.partition.sizes has 2 entries for 4 workers",
        ),
    ],
)
def test_what_only_data_and_model_can_tell(hiermo, recipe, tmp_path, tables, said):
    assert said in hiermo("run", recipe(**tables)).error
    assert [path.name for path in tmp_path.iterdir()] == ["r.toml"]
