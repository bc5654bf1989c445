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
from hiermo.experiment.timing import is_ordered_by_time
from hiermo.experiment.train import train
from hiermo.report.published import published
from hiermo.reproduction.study import studies

NAMES = list(recipe_file.shipped())


def marked(name):
    needs_data = recipe_file.load(name).source.name not in ("mnist-5k", "synthetic")
    marks = [
        pytest.mark.real_data,
        pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set"),
    ]
    return pytest.param(name, marks=marks if needs_data else [])


def test_the_shipped_recipes():
    columns = {column.recipe for column in published()}
    assert columns <= {name for name in NAMES if name.startswith("paper/")}
    assert {"quick/digits", "quick/time-to-accuracy"} <= set(NAMES)
    studied = {study.recipe for study in studies().values()}  # those are trained in test_studies.py
    assert set(NAMES) - studied == {"quick/digits"}
    assert all(recipe_file.load(name).description for name in NAMES)


# A few samples per worker, which they learn by heart: ten iterations are then enough to see the loss fall.
BY_HEART = [
    "periods.tau=5",
    "periods.pi=1",
    "train.iterations=10",
    "data.partition={kind='sizes', sizes=[8, 8, 8, 8]}",
    "evaluate.every=1",
    "evaluate.test=8",
    "evaluate.train=false",
    "evaluate.per=['worker']",
]
HEAVY = {
    "paper/cnn-cifar10": ["train.batch=8"],
    "paper/cnn-uci-har": ["train.batch=8"],
    "paper/vgg16-cifar10": ["train.batch=4"],
    "paper/resnet18-tiny-imagenet": ["train.batch=8"],
}


FEW = [
    "data.partition={kind='sizes', sizes=[32, 32, 32, 32]}",
    "train.batch=8",
    "evaluate.train=32",
    "evaluate.test=32",
    "periods.tau=4",
]
LIGHTER = {"paper/time-to-accuracy-1": FEW}  # ten CNNs, one with full gradients
# Recipes that extend another differ from it in a few keys, and these have the model and algorithms of
# time-to-accuracy-1: test_studies.py trains them.
ALIKE = ("paper/cnn-mnist", "paper/time-to-accuracy-2", "paper/hieropt-cnn")
OWN = [name for name, path in recipe_file.shipped().items() if "extends" not in tomllib.loads(path.read_text())]


@pytest.mark.parametrize("name", [marked(name) for name in HEAVY])
def test_a_deep_model_learns_on_the_three_tier_tree(name, tmp_path):
    """HierMo's ten iterations, on real data: VGG16, ResNet18 and the CNNs."""
    recipe = recipe_file.load(name, BY_HEART + HEAVY[name])
    recipe = recipe.single(recipe.algorithms[0])
    problem = problem_of(recipe)
    (directory,) = create(tmp_path / "out", recipe)
    *_, last = train(directory, recipe, problem)
    assert (last.t, recipe.algorithms[0].name, recipe.tree.build().tiers) == (10, "HierMo", 3)
    state = problem.initial(0), problem.initial_buffers(0)
    losses = [sum(line["loss_per_worker"]) / 4 for line in (problem.evaluate(*state), *directory.evaluations())]
    assert losses[-1] < losses[1] < losses[0]


@pytest.mark.parametrize("name", [marked(name) for name in OWN if name not in (*HEAVY, *ALIKE)])
@pytest.mark.filterwarnings("ignore:HierMo.form='position'. is unstable")
def test_it_trains(name, tmp_path):
    settings = LIGHTER.get(name, [])
    two_rounds = 2 * prod(recipe_file.load(name, settings).periods)
    recipe = recipe_file.load(name, [f"train.iterations={two_rounds}", "evaluate.every=1", *settings])
    assert recipe.source.made.find(data_directory())
    problem = problem_of(recipe)
    for directory in create(tmp_path / "out", recipe):
        *_, last = train(directory, directory.recipe(), problem)
        (part,) = directory.recipe().algorithms
        asynchronous = is_ordered_by_time(recipe, part)  # ends with the arrival by which there are enough iterations
        assert two_rounds <= last.t <= 2 * two_rounds if asynchronous else last.t == two_rounds
        first, *_, last = directory.evaluations()  # CFL has one per arrival
        assert last["loss"] < first["loss"]


def test_the_starter_spells_out_the_defaults():
    """Leaving out the keys that it explains gives the same recipe."""
    raw = tomllib.loads((files("hiermo.experiment") / "starter.toml").read_text())
    short = {**raw, "evaluate": {}, "engine": {}, "input": {}, "tree": {"edges": 2, "workers_per_edge": 2}}
    short["train"] = {"iterations": raw["train"]["iterations"]}
    assert parse(short) == parse(raw)
