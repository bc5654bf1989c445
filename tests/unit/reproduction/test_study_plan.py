"""From a study to its runs: which they are, what they are called, and what they are known by."""

from dataclasses import replace
from functools import lru_cache
import math

from made_up import GRID, study
import pytest
import torch

from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.reproduction.claims import CHECKS
from hiermo.reproduction.plan import Size, known_by, runs_of
from hiermo.reproduction.study import studies, study_of

SHAPES = {
    "mnist": ((1, 28, 28), 10),
    "mnist-5k": ((1, 28, 28), 10),
    "cifar10": ((3, 32, 32), 10),
    "uci-har": ((9, 128), 6),
    "tiny-imagenet": ((3, 64, 64), 200),
}
ALL = list(studies())


@lru_cache
def runs(name, scale):
    return runs_of(studies()[name], Size(scale=scale))


def labels(found):
    return [run.recipe.algorithms[0].label for run in found]


@pytest.mark.parametrize("scale", [1, 0.004])
@pytest.mark.parametrize("name", ALL)
def test_every_study_is_planned(name, scale):
    found = runs(name, scale)
    assert found
    assert all(len(run.recipe.algorithms) == 1 for run in found)
    assert len({run.name.lower() for run in found}) == len(found)
    assert len({run.of for run in found}) == len(found)
    assert all(run.of == known_by(run.recipe) for run in found)
    assert not any(letter in run.name for run in found for letter in '/\\:*?"<>| ')


@pytest.mark.parametrize("name", ALL)
def test_a_scaled_study_has_runs_of_the_same_algorithms_and_none_of_the_full_one(name):
    full, small = runs(name, 1), runs(name, 0.004)
    assert set(labels(full)) == set(labels(small))
    assert not {run.of for run in full} & {run.of for run in small}
    assert all(run.recipe.share.share == 0.01 for run in small)


@pytest.mark.parametrize("name", ALL)
def test_what_a_study_says_is_said_of_its_own_runs(name):
    it, known = studies()[name], set(labels(runs(name, 1)))
    assert it.recipe in recipe_file.shipped()
    assert set(it.claims) <= CHECKS.keys()
    assert it.against is None or it.against in studies()
    assert it.beside is None or it.beside in recipe_file.shipped()
    assert set(it.once) | set(it.order) <= known
    assert set(it.leave_out) & known == set()
    assert set(it.leave_out) <= {part.label for part in recipe_file.load(it.recipe).algorithms}
    assert all(numbers.keys() <= known for numbers in it.published.values())
    assert len(it.paper) == len(it.budgets)
    assert all(0 < each.gap < 1 for each in it.paper)


@pytest.mark.parametrize("name", ALL)
def test_a_study_is_heavy_where_its_model_has_more_than_five_million_parameters(name):
    it = studies()[name]
    recipe = recipe_file.load(it.recipe)
    with torch.device("meta"):
        model = recipe.model.made.build(*SHAPES[recipe.source.name])
    n = sum(math.prod(parameter.shape) for parameter in model.parameters())
    assert it.heavy == (n > 5_000_000), n


def test_cells_that_are_published_are_cells_that_are_run():
    for name, it in studies().items():
        cells = {", ".join(v for k, v in run.settings.items() if k != "train.seed") for run in runs(name, 1)}
        assert it.published.keys() <= cells, name


def test_a_study_of_the_table_has_the_published_column():
    assert studies()["logistic-mnist"].of_cell("")["HierMo"] == 89.23
    assert studies()["cnn-mnist-literal"].published == studies()["cnn-mnist"].published
    assert studies()["logistic-mnist"].of_cell("something else") == {}


def test_an_unknown_study_is_refused_with_the_nearest_name():
    with pytest.raises(UserError) as refused:
        study_of("cnn-mnits")
    assert str(refused.value).startswith("there is no study 'cnn-mnits'")
    assert "cnn-mnist" in str(refused.value)
    assert "hiermo reproduce --list" in str(refused.value)
    assert study_of("cnn-mnist").name == "cnn-mnist"


def test_every_label_runs_with_every_seed_but_those_that_run_once():
    found = runs_of(study(seeds=3, once=("Mime", "FedAvg"), leave_out=("Mime-ema", "HierMo-position")))
    seeds = {}
    for run in found:
        seeds.setdefault(run.recipe.algorithms[0].label, []).append(run.recipe.train.seed)
    assert len(seeds) == 10
    assert (seeds.pop("Mime"), seeds.pop("FedAvg")) == ([0], [0])
    assert all(each == [0, 1, 2] for each in seeds.values())


def test_the_size_goes_before_the_seeds_of_the_study():
    several = study(seeds=3, once=("Mime",), leave_out=("Mime-ema", "HierMo-position"))
    assert len(runs_of(several, Size(seeds=1))) == 10
    assert len(runs_of(several, Size(seeds=5))) == 9 * 5 + 1


def test_runs_with_fewer_seeds_are_among_those_with_more():
    # or a file of results would be of no use when seeds are added
    few, many = ({run.of for run in runs_of(study(), Size(seeds=n))} for n in (1, 3))
    assert few < many


def test_only_some_labels_in_the_order_of_the_study():
    found = runs_of(study(seeds=2), Size(only=("FedAvg", "HierMo")))
    assert labels(found) == ["HierMo", "FedAvg"] * 2
    every = runs_of(study(seeds=2))
    assert {run.of for run in found} < {run.of for run in every}


@pytest.mark.parametrize("label", ["HierMu", "Mime-ema"])
def test_a_label_that_the_study_has_not_is_refused(label):
    with pytest.raises(UserError) as refused:
        runs_of(study(leave_out=("Mime-ema",)), Size(only=("HierMo", label)))
    assert str(refused.value).startswith(f"--only {label}: this study has HierMo, HierMo-position, ")
    assert {"HierMu": "HierMo", "Mime-ema": "Mime"}[label] in str(refused.value).partition("FedAvg")[2]


def test_what_is_varied_is_in_the_settings_and_in_the_name():
    found = runs_of(study(together=GRID), Size(only=("HierMo",)))
    assert [run.recipe.periods for run in found] == [(10, 2), (20, 2), (40, 1)]
    assert [run.settings["periods.tau"] for run in found] == ["10", "20", "40"]
    assert found[2].name.startswith("HierMo,40,1,seed=0,")


def test_a_chosen_pair_of_periods_is_one_more_run_unless_it_is_there_already():
    small = study(together=GRID)
    size = Size(only=("HierMo",))
    before = [run.of for run in runs_of(small, size)]
    assert [run.of for run in runs_of(small, size, [(20, 2)])] == before
    more = runs_of(small, size, [(20, 2), (50, 4)])
    assert [run.of for run in more[:-1]] == before
    assert more[-1].recipe.periods == (50, 4)


def test_too_few_iterations_for_a_round_are_refused():
    with pytest.raises(UserError, match="--iterations 39: a cloud round of this study is 40 iterations"):
        runs_of(study(together=GRID), Size(iterations=39))


def test_what_a_run_is_called_is_no_part_of_what_it_is_known_by():
    recipe = recipe_file.load("quick/digits").single(recipe_file.load("quick/digits").algorithms[0])
    assert known_by(replace(recipe, name="other", description="of something else")) == known_by(recipe)


@pytest.mark.parametrize(
    "setting",
    [
        "data.share=0.5",
        "data.partition={kind='dirichlet', alpha=0.5}",
        "data.edges='iid'",
        "data.source='synthetic'",
        "model={name='mlp'}",
        "input.normalise=true",
        "tree.workers_per_edge=[1,3,4,4]",
        "tree.assign='random'",
        "periods.tau=5",
        "train.iterations=40",
        "train.batch=63",
        "train.seed=1",
        "train.until={accuracy=0.99}",
        "train.schedule={kind='cosine', over=100}",
        "evaluate.every=2",
        "evaluate.test=100",
        "evaluate.train=true",
        "engine.dtype='float64'",
        "delays.profile='paper'",
        "absence.participation=0.5",
        "algorithm.gamma=0.25",
        "algorithm.label='mine'",
    ],
)
def test_all_else_is_part_of_it(setting):
    before, after = (recipe_file.load("paper/hieropt-cnn", ["delays={}", *more]) for more in ((), (setting,)))
    assert before != after  # or the setting says what the recipe says anyway
    assert known_by(before) != known_by(after)
