"""Recipes with `[absence]` and `[delays]`: a stop anywhere changes nothing, and longer is as if from the start."""

from copy import deepcopy
from math import inf

import pytest
from safetensors.numpy import load_file

from hiermo import UserError
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.estimate import estimate
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import Interrupted, train

BASE = {
    "data": {"source": "synthetic", "samples": 300},
    "model": {"name": "logistic"},
    "tree": {"groups": [[0], [1, 2], [3]], "flatten": True},
    "periods": {"tau": 2, "pi": 2},
    "train": {"iterations": 20, "batch": 8},
    "delays": {
        **{letter: {"kind": "lognormal", "mean": 1.0, "cv": 0.5} for letter in ("theta_w", "phi_w2e", "phi_e2c")},
        "device": [{"nodes": ["worker 3"], "compute": 1.6}],
    },
}
# an edge that goes away and comes back, and workers that do not answer or are late
AWAY = [{"nodes": "edge 1", "seconds": [15, 30]}, {"nodes": "worker 0", "seconds": [20, 26]}]
CHANCES = {"participation": 0.7, "drop_out": 0.2, "deadline_s": 5.0, "away": AWAY}
RECIPES = {
    "HierMo": {"absence": {**CHANCES, "edge_drop_out": 0.2, "cloud_deadline_s": 12.0}},
    "SCAFFOLD": {"absence": CHANCES},
    "Mime": {"absence": {"drop_out": 0.5}},
    "CFL": {"absence": CHANCES},
}
WALL_CLOCK = {"seconds", "started", "finished", "run_dir"}


def recipe_of(name, **tables):
    return parse({**deepcopy(BASE), "algorithm": {"name": name}, **RECIPES.get(name, {}), **tables})


def finish(directory, recipe, problem=None):
    problem = problem or problem_of(recipe)
    return [progress._replace(elapsed_s=0.0) for progress in train(directory, recipe, problem)]


def trained(folder, recipe):
    (directory,) = create(folder / "o", recipe)
    finish(directory, recipe)
    return directory


def told(directory):
    """All that a run leaves behind, but for the wall clock."""
    lines = [{k: v for k, v in line.items() if k not in WALL_CLOCK} for line in directory.evaluations()]
    result = {k: v for k, v in directory.result().items() if k not in WALL_CLOCK}
    return lines, result, {name: array.tobytes() for name, array in load_file(directory.checkpoint_path).items()}


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """name -> what a run leaves behind that nobody stopped, and its progress."""
    found = {}
    for name in RECIPES:
        recipe = recipe_of(name)
        (directory,) = create(tmp_path_factory.mktemp(name) / "o", recipe)
        found[name] = finish(directory, recipe), told(directory)
    return found


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_tells_what_elapsed(name, straight):
    progress, (lines, result, _) = straight[name]
    assert [line["cloud_round"] for line in lines] == list(range(1, result["cloud_rounds"] + 1))
    for column in ("simulated_seconds", "bytes"):
        found = [line[column] for line in lines]
        assert found == sorted(found) and found[0] > 0
        assert result[column] == found[-1]
    assert (progress[-1].cloud_round, progress[-1].simulated_s) == (len(lines), result["simulated_seconds"])


@pytest.mark.parametrize("name", RECIPES)
def test_somebody_was_absent(name, straight, tmp_path):
    lines, result, _ = told(trained(tmp_path, recipe_of(name, absence={})))
    _, (_, other, _) = straight[name]
    assert result["model_sha256"] != other["model_sha256"]
    assert result["bytes"] / len(lines) > other["bytes"] / other["cloud_rounds"]


def stop_and_go_on(recipe, folder, after):
    """The directory of a run that was stopped after so many edge merges, and resumed."""
    problem = problem_of(recipe)
    (directory,) = create(folder / "o", recipe)
    asked = iter(range(1000))
    with pytest.raises(Interrupted):
        for _ in train(directory, recipe, problem, stop=lambda: next(asked) == after - 1):
            pass
    finish(directory, recipe, problem)
    return directory


@pytest.mark.parametrize("name", RECIPES)
def test_a_stop_anywhere_changes_nothing(name, straight, tmp_path):
    progress, expected = straight[name]
    for after in range(1, len(progress), 5 if name == "CFL" else 1):  # edge merges, of which CFL has many
        assert told(stop_and_go_on(recipe_of(name), tmp_path / str(after), after)) == expected, after


def test_nor_does_one_after_a_merge_of_an_edge_that_is_ahead_of_the_horizon(tmp_path):
    """Edge 0 is ten times as fast as the others, and in the end has done more than 20 iterations."""
    recipe = recipe_of("CFL", delays={"theta_w": 1.0, "device": [{"nodes": ["worker 0"], "compute": 0.1}]}, absence={})
    stopped = stop_and_go_on(recipe, tmp_path, after=25)
    assert told(stopped) == told(trained(tmp_path / "straight", recipe))


@pytest.mark.parametrize("name", RECIPES)
def test_longer_is_as_if_it_had_been_longer_from_the_start(name, tmp_path):
    short = recipe_of(name, train={"iterations": 12, "batch": 8}, evaluate={"every": 2})
    long = recipe_of(name, evaluate={"every": 2})
    (directory,) = create(tmp_path / "a", short)
    finish(directory, short)
    rounds = directory.result()["cloud_rounds"]
    finish(directory, long)
    whole = trained(tmp_path, long)
    assert told(directory) == told(whole)
    assert whole.result()["cloud_rounds"] > rounds


@pytest.mark.parametrize("name", RECIPES)
def test_another_seed_is_another_run(name, straight, tmp_path):
    other = recipe_of(name, train={"iterations": 20, "batch": 8, "seed": 1})
    result = trained(tmp_path, other).result()
    assert result["model_sha256"] != straight[name][1][1]["model_sha256"]
    assert result["simulated_seconds"] != straight[name][1][1]["simulated_seconds"]


@pytest.mark.parametrize("name", RECIPES)
def test_an_estimate_knows_who_is_absent(name, straight):
    (told_before,) = estimate(recipe_of(name))["runs"]
    _, (_, result, _) = straight[name]
    for key in ("cloud_rounds", "simulated_seconds", "bytes"):
        assert told_before[key] == result[key]


def test_who_drops_out_does_not_depend_on_the_delays(straight, tmp_path):
    other = recipe_of("Mime", delays={"theta_w": 0.5})
    result = trained(tmp_path, other).result()
    assert result["model_sha256"] == straight["Mime"][1][1]["model_sha256"]
    assert result["simulated_seconds"] != straight["Mime"][1][1]["simulated_seconds"]


def test_without_delays_in_the_recipe_arrivals_go_by_turns_and_absences_all_the_same(tmp_path):
    tables = {**deepcopy(BASE), "algorithm": {"name": "CFL"}, "absence": {"drop_out": 0.3, "participation": 0.7}}
    del tables["delays"]
    recipe = parse(tables)
    directory = trained(tmp_path, recipe)
    assert directory.result()["cloud_rounds"] == 15
    assert [line["iteration"] for line in directory.evaluations()] == [4 * (k // 3 + 1) for k in range(15)]


# ---- rounds without anyone ----


def away(*spells):
    return {"away": [{"nodes": "worker", "iterations": list(spell)} for spell in spells]}


def test_rounds_without_anyone_are_not_counted(tmp_path):
    """Of five cloud rounds, nobody is there for the second and for the last."""
    directory = trained(tmp_path, recipe_of("HierMo", absence=away([5, 6], [17, 18])))
    lines, result, _ = told(directory)
    assert [(line["cloud_round"], line["iteration"]) for line in lines] == [(1, 4), (2, 12), (3, 16)]
    assert (result["cloud_rounds"], result["iterations"], result["stopped_by"]) == (3, 16, "iterations")


def test_a_run_whose_last_rounds_were_empty_can_be_made_longer(tmp_path):
    absence = away([5, 6], [17, 18])
    short = recipe_of("HierMo", absence=absence)
    long = recipe_of("HierMo", absence=absence, train={"iterations": 32, "batch": 8})
    (directory,) = create(tmp_path / "a", short)
    finish(directory, short)
    finish(directory, long)
    assert told(directory) == told(trained(tmp_path, long))
    assert [line["iteration"] for line in directory.evaluations()] == [4, 12, 16, 24, 28, 32]


@pytest.mark.parametrize("name", ["HierMo", "FedAvg"])
def test_a_recipe_in_which_nobody_is_ever_there_is_refused(name, tmp_path):
    recipe = recipe_of(name, absence={"away": [{"nodes": "worker", "seconds": [0, inf]}]})
    (directory,) = create(tmp_path / "o", recipe)
    with pytest.raises(UserError, match=r"^absence: there is never anyone for the cloud to hear from;"):
        finish(directory, recipe)
