"""`-s key=value`, and things that a recipe names by import path."""

import subprocess
import sys
import tomllib

import pytest

TWO = [{"name": "HierMo"}, {"name": "HierFAVG"}]

MINE = '''
from dataclasses import dataclass
import hiermo

@dataclass(frozen=True, kw_only=True)
class Mine(hiermo.Algorithm):
    """Plain averages."""
    eta: float = 0.01
    twist: float = 1.0
    up = down = hiermo.Model
    def init(self, x):
        return (hiermo.Model(x),)
    def step(self, w, down, grad):
        return hiermo.Model(w.x - self.twist * self.eta * grad(w.x))
'''


@pytest.fixture
def resolved(hiermo, tmp_path):
    """The recipe that a run writes, without the run."""
    from hiermo.experiment.recipe_file import load, write

    return lambda path, *settings: tomllib.loads(write(load(str(path), settings)))


@pytest.mark.parametrize(
    ("setting", "where", "value"),
    [
        ("train.iterations=80", ("train", "iterations"), 80),
        ("train.iterations = 80", ("train", "iterations"), 80),
        ("algorithm.eta=1e-3", ("algorithm", "eta"), 1e-3),
        ("algorithm.form=position", ("algorithm", "form"), "position"),
        ('algorithm.form="position"', ("algorithm", "form"), "position"),
        ("name=other", ("name",), "other"),
        ("description=a = b", ("description",), "a = b"),
        ("evaluate.train=true", ("evaluate", "train"), True),
        ("evaluate.train=20", ("evaluate", "train"), 20),
        ("tree.workers_per_edge=[1, 3]", ("tree", "workers_per_edge"), [1, 3]),
        ("train.until={accuracy = 0.9}", ("train", "until"), {"accuracy": 0.9}),
        ("train.until.loss=0.1", ("train", "until"), {"loss": 0.1}),
        ("periods=[4, 5]", ("periods",), {"tau": 4, "pi": 5}),
        ("periods.tau=20", ("periods", "tau"), 20),
        ("data.partition=iid", ("data", "partition"), {"kind": "iid"}),
        ("data.samples=300", ("data", "samples"), 300),
    ],
)
def test_values(resolved, recipe, setting, where, value):
    found = resolved(recipe(), setting)
    for key in where:
        found = found[key]
    assert found == value
    assert type(found) is type(value)


def test_later_settings_win_and_a_text_becomes_a_table(resolved, recipe):
    path = recipe(data={"partition": "dirichlet"})
    found = resolved(path, "data.partition.alpha=0.5", "data.partition.alpha=0.7")["data"]["partition"]
    assert found == {"kind": "dirichlet", "alpha": 0.7, "min_samples": 1}
    assert resolved(recipe(), "data.partition=dirichlet", "data.partition.alpha=1")["data"]["partition"]["alpha"] == 1
    assert resolved(recipe(periods=[2, 2]), "periods.pi=5")["periods"] == {"tau": 2, "pi": 5}


def test_in_which_algorithms(resolved, recipe):
    several = [*TWO, {"name": "HierMo", "label": "v1.2"}, {"name": "HierMo", "label": "slow"}]
    path = recipe(algorithm=several)

    def having(key, *settings):
        tables = resolved(path, *settings)["algorithm"]
        return {table["label"]: table[key] for table in tables if key in table}

    assert having("gamma", "algorithm.gamma=0.9") == {"HierMo": 0.9, "v1.2": 0.9, "slow": 0.9}
    assert having("gamma", "algorithm.HierMo.gamma=0.9") == {"HierMo": 0.9, "v1.2": 0.5, "slow": 0.5}
    assert having("gamma", "algorithm.slow.gamma=0.9") == {"HierMo": 0.5, "v1.2": 0.5, "slow": 0.9}
    assert having("gamma", "algorithm.v1.2.gamma=0.9") == {"HierMo": 0.5, "v1.2": 0.9, "slow": 0.5}
    assert set(having("eta", "algorithm.eta=0.2").values()) == {0.2}
    alone = recipe(algorithm={"name": "HierMo", "label": "slow"})
    assert resolved(alone, "algorithm.HierMo.gamma=0.9")["algorithm"]["gamma"] == 0.9  # by name, where no label is


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("train.iterations", "-s train.iterations: write key=value, as in -s train.iterations=200"),
        ("=3", "-s =3: write key=value"),
        ("train.=3", "-s train.=3: write key=value"),
        ("trian.iterations=3", "-s trian.iterations=3: there is no table 'trian'; did you mean 'train'?"),
        ("train.seed.x=3", "-s train.seed.x=3: train.seed is not a table"),
        ("algorithm.gama=1", "-s algorithm.gama=1: no algorithm of the recipe has 'gama'; did you mean 'gamma'?"),
        ("algorithm.FedAvg.eta=1", "-s algorithm.FedAvg.eta=1: the recipe has no algorithm 'FedAvg'"),
        ("algorithm.HierMo.gama=1", "algorithm.HierMo.gama is not a parameter of HierMo; did you mean 'gamma'?"),
        ("algorithm.gamma=high", "algorithm.HierMo.gamma must be a number, not 'high'"),
        ("foo=3", "foo is not a known key"),
        ("data.partition.alpha=0.1", "data.partition.alpha is not a parameter of Iid"),
        ("train.batch=2024-01-01", "train.batch must be a whole number"),
    ],
)
def test_refused(hiermo, recipe, setting, said):
    path = recipe(algorithm=TWO, train={"seed": 1}, data={"partition": "iid"})
    assert said in hiermo("run", path, "-s", setting).error


def test_a_wrong_algorithm_is_told_before_what_was_to_be_set_in_it(hiermo, recipe):
    error = hiermo("run", recipe(algorithm={"name": "HierMoo"}), "-s", "algorithm.gamma=0.9").error
    assert "there is no algorithm 'HierMoo'; did you mean 'HierMo'?" in error


def test_seed_on_a_train_that_is_no_table(hiermo, recipe):
    assert "train is not a table" in hiermo("run", recipe(train=5), "--seed", "3").error


def test_an_algorithm_beside_the_recipe(hiermo, recipe, bits, monkeypatch, tmp_path):
    """In run, in -s, and in resume by a fresh process from another working directory."""
    for name in ("here", "a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "here/beside.py").write_text(MINE)
    recipe("here/r.toml", algorithm=[{"name": "beside:Mine"}, {"name": "HierFAVG"}])
    monkeypatch.chdir(tmp_path / "a")
    settings = ("-s", "algorithm.twist=2.0", "-s", "algorithm.Mine.eta=0.005")
    runs = hiermo("run", "../here/r.toml", *settings, "--out", "o", "--json").runs
    assert [(run["algorithm"], run["label"]) for run in runs] == [("beside:Mine", "Mine"), ("HierFAVG", "HierFAVG")]
    assert runs[0]["model_sha256"] == runs[1]["model_sha256"]  # 2 * 0.005 is HierFAVG's 0.01
    words = [sys.executable, "-m", "hiermo", "resume", str(tmp_path / "a/o"), "--iterations", "60"]
    ended = subprocess.run(words, cwd=tmp_path / "b", capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert bits(tmp_path / "a/o/Mine").result["iterations"] == 60
    assert bits(tmp_path / "a/o/Mine").metrics == bits(tmp_path / "a/o/HierFAVG").metrics
    folders = tomllib.loads((tmp_path / "a/o/Mine/recipe.toml").read_text())["import_from"]
    assert folders == [str(tmp_path / "here"), str(tmp_path / "a")]  # and extending did not repeat them
    assert "import_from" not in tomllib.loads((tmp_path / "a/o/HierFAVG/recipe.toml").read_text())


def test_import_from_is_relative_to_the_recipe(hiermo, recipe, tmp_path):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "library").mkdir()
    (tmp_path / "library/in_library.py").write_text(MINE)
    path = recipe("recipes/r.toml", algorithm={"name": "in_library:Mine"}, import_from=["../library"])
    assert hiermo("run", path, "-s", "algorithm.twist=3", "--out", "o", "--json").runs[0]["label"] == "Mine"
    written = tomllib.loads((tmp_path / "o/recipe.toml").read_text())
    assert written["import_from"][0] == f"{tmp_path}/recipes/../library"
    assert written["algorithm"]["twist"] == 3


def test_a_source_and_a_model_of_ones_own(hiermo, recipe, tmp_path):
    (tmp_path / "own_things.py").write_text("""
from dataclasses import dataclass
import numpy as np
from hiermo import Dataset

@dataclass(frozen=True, kw_only=True)
class Stripes:
    n: int = 60
    def find(self, directory):
        return directory
    def load(self, directory):
        y = np.arange(self.n) % 3
        x = np.eye(3, dtype=np.float32)[y]
        return Dataset("stripes", x, y, x, y, classes=3)

@dataclass(frozen=True, kw_only=True)
class Two:
    loss = "mse"
    def build(self, shape, classes):
        from torch import nn
        return nn.Linear(shape[0], classes)
""")
    path = recipe(data=None, model={"name": "own_things:Two"})
    (run,) = hiermo("run", path, "-s", "data.source=own_things:Stripes", "-s", "data.n=30", "--json").runs
    assert run["parameters"] == 12
    assert run["data"] == "own_things:Stripes"
