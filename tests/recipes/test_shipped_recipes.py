"""Every shipped recipe is valid; those whose data is here run for two cloud rounds."""

from importlib.resources import files
from math import prod
import os
import tomllib

import pytest

from hiermo.data.directory import data_directory
from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import train

NAMES = list(recipe_file.shipped())


def marked(name):
    needs_data = recipe_file.load(name).source.name not in ("mnist-5k", "synthetic")
    marks = [
        pytest.mark.real_data,
        pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set"),
    ]
    return pytest.param(name, marks=marks if needs_data else [])


def test_the_shipped_recipes():
    assert NAMES == ["paper/linear-mnist", "paper/logistic-mnist", "quick/digits"]
    assert all(recipe_file.load(name).description for name in NAMES)


@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
@pytest.mark.filterwarnings("ignore:HierMo.form='position'. is unstable")
def test_it_trains(name, tmp_path):
    whole = recipe_file.load(name)
    two_rounds = 2 * prod(whole.periods)
    recipe = recipe_file.load(name, [f"train.iterations={two_rounds}", "evaluate.every=1"])
    assert recipe.source.made.find(data_directory())
    problem = problem_of(recipe)
    for directory in create(tmp_path / "out", recipe):
        *_, last = train(directory, directory.recipe(), problem)
        assert last.t == two_rounds
        first, *_, last = directory.evaluations()  # CFL has one per arrival
        assert last["loss"] < first["loss"]


def test_the_starter_spells_out_the_defaults():
    """Leaving out the keys that it explains gives the same recipe."""
    raw = tomllib.loads((files("hiermo.experiment") / "starter.toml").read_text())
    short = {**raw, "evaluate": {}, "engine": {}, "input": {}, "tree": {"edges": 2, "workers_per_edge": 2}}
    short["train"] = {"iterations": raw["train"]["iterations"]}
    assert parse(short) == parse(raw)
