"""Which runs a sweep has, and what they are called."""

import shutil

import pytest
import tomli_w

from cli.tiny_recipe import tiny
from hiermo.core.errors import UserError
from hiermo.experiment.sweep.folder import placed, usual_folder
from hiermo.experiment.sweep.grid import cells, planned, split
from hiermo.experiment.sweep.jobs import jobs_of, processes_for, shape_of


@pytest.fixture
def recipe(tmp_path):
    def write(**tables):
        (tmp_path / "r.toml").write_text(tomli_w.dumps(tiny(**tables)))
        return str(tmp_path / "r.toml")

    return write


def names(recipe, *args, **more):
    return [run.name for run in planned(recipe, cells(*args, **more))[1]]


def test_all_combinations_with_all_seeds(recipe):
    found = names(recipe(), ["algorithm.gamma=0.1,0.9", "periods.tau=2,4"], seeds="0..1")
    assert len(found) == 8
    assert found[0] == "HierMo,gamma=0.1,tau=2,seed=0"
    assert found[-1] == "HierMo,gamma=0.9,tau=4,seed=1"


def test_zipped_lists_advance_together(recipe):
    found = names(recipe(), ["algorithm.gamma=0.1,0.9"], ["periods.tau=2,4", "periods.pi=5,1"])
    assert [name.partition("tau")[2] for name in found] == ["=2,pi=5", "=4,pi=1"] * 2


def test_without_lists_there_is_one_run(recipe):
    assert names(recipe()) == ["HierMo"]


def test_a_key_that_an_algorithm_lacks_makes_no_second_run_of_it(recipe):
    found = names(
        recipe(algorithm=[{"name": "HierMo"}, {"name": "FedAvg"}], tree={"flatten": True}), ["algorithm.gamma=0.1,0.9"]
    )
    assert found == ["HierMo,gamma=0.1", "FedAvg", "HierMo,gamma=0.9"]


def test_a_key_of_one_algorithm(recipe):
    both = [{"name": "HierMo"}, {"name": "HierMo", "label": "other"}]
    assert names(recipe(algorithm=both), ["algorithm.other.gamma=0.1,0.9"]) == [
        "HierMo",
        "other,gamma=0.1",
        "other,gamma=0.9",
    ]


def test_the_values_reach_the_recipes(recipe):
    _, runs = planned(
        recipe(),
        cells(["train.until={accuracy=0.5},{accuracy=0.75}", "data.partition=iid,{kind='dirichlet', alpha=0.5}"]),
    )
    assert [run.recipe.train.until["accuracy"] for run in runs] == [0.5, 0.5, 0.75, 0.75]
    assert [run.recipe.partition.name for run in runs] == ["iid", "dirichlet"] * 2


def test_folders_have_names_that_every_file_system_takes(recipe):
    found = names(recipe(), ["train.until={accuracy=0.5},{ loss = 0.5 }", "model.name=logistic,'mlp'"])
    assert len({name.lower() for name in found}) == 4
    assert not any(letter in name for name in found for letter in '/\\:*?"<>| ')
    groups = [str([[0, 1, *range(k, 300)], list(range(2, k))]) for k in (10, 11)]
    long = names(recipe(tree=None, data={"samples": 400}), [f"tree.groups={','.join(groups)}"])
    assert len(set(long)) == 2
    assert all(len(name) <= 120 for name in long)


@pytest.mark.parametrize(
    ("grid", "zipped", "seeds", "what"),
    [
        (["periods.tau"], [], None, "-g periods.tau: write KEY=VALUE,VALUE,..., as in -g periods.tau=10,20"),
        (["periods.tau="], [], None, "-g periods.tau=: write"),
        (["=1,2"], [], None, "-g =1,2: write"),
        (["a.b=1", "a.b=2"], [], None, "a.b is given twice"),
        (["train.seed=1"], [], "0..2", "train.seed is given twice"),
        (
            [],
            ["a.b=1,2", "a.c=1"],
            None,
            "-z lists advance together and must be as long as each other: a.b has 2, a.c has 1",
        ),
        ([], [], "", "--seeds train.seed=: write"),
    ],
)
def test_lists_that_make_no_sense(grid, zipped, seeds, what):
    with pytest.raises(UserError) as told:
        cells(grid, zipped, seeds)
    assert what in str(told.value)


def test_what_is_wrong_is_told_once_with_where(recipe):
    with pytest.raises(UserError) as told:
        names(recipe(), ["periods.tau=2,7", "algorithm.gamma=0.1,0.2"])
    (line,) = str(told.value).splitlines()
    assert "train.iterations = 40 is not a multiple of 7 * 2 = 14; try 28 or 42" in line
    assert line.endswith("(with periods.tau=7 algorithm.gamma=0.1, and 1 more of 4 combinations)")


def test_many_faults_are_cut_short(recipe):
    with pytest.raises(UserError) as told:
        names(recipe(), ["algorithm.gamma=2..20"])
    assert len(str(told.value).splitlines()) == 6
    assert str(told.value).endswith("and 14 more")


def test_ranges_lists_and_quotes():
    assert split("0..3,-1..1") == ["0", "1", "2", "3", "-1", "0", "1"]
    assert split('"a,b",[[0,1],[2]]') == ['"a,b"', "[[0,1],[2]]"]


def test_the_same_command_has_the_same_folder_and_another_none_of_it(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = recipe()
    one = planned(path, cells(["algorithm.gamma=0.1,0.9"]))[1]
    other = planned(path, cells(["algorithm.gamma=0.1,0.8"]))[1]
    folder = usual_folder("r", one)
    assert folder == usual_folder("r", planned(path, cells(["algorithm.gamma=0.1,0.9"]))[1]) != usual_folder("r", other)
    made = placed(folder, one)
    assert [directory.recipe() for directory in made] == [run.recipe for run in one]
    assert [directory.path for directory in placed(folder, one)] == [directory.path for directory in made]
    shutil.rmtree(made[0].path)
    assert placed(folder, one)[0].recipe() == one[0].recipe
    with pytest.raises(UserError, match="holds another sweep"):
        placed(folder, other)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(UserError, match="holds something else"):
        placed(tmp_path / "full", one)


def runs_of(recipe, *args, **more):
    return [(None, run.recipe) for run in planned(recipe, cells(*args, **more))[1]]


def test_small_models_of_one_tau_are_computed_together_and_every_process_has_some(recipe):
    runs = runs_of(recipe(), ["periods.tau=2,4"], seeds="0..4")
    shapes = {shape_of(recipe) for _, recipe in runs}
    assert len(shapes) == 1
    jobs = jobs_of(runs, dict.fromkeys(shapes, True), 2)
    assert sorted(len(job.recipes) for job in jobs) == [2, 2, 3, 3]
    assert all(len({recipe.periods for recipe in job.recipes}) == 1 for job in jobs)
    assert len(jobs_of(runs, dict.fromkeys(shapes, False), 2)) == 10


def test_shapes_are_told_apart(recipe):
    runs = runs_of(recipe(), ["train.batch=4,8", "algorithm.eta=0.1,0.2"])
    assert len({shape_of(recipe) for _, recipe in runs}) == 2


def test_processes_are_as_many_as_memory_allows():
    assert processes_for(None, 100, 1 << 60, "cpu") == 1
    assert processes_for(7, 100, 0, "cpu") == 7
    assert processes_for(7, 3, 0, "cpu") == 3
    assert processes_for(None, 100, 0, "cuda") == 1
