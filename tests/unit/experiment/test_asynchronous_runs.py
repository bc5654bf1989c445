"""CFL's edges arrive at the cloud one by one: a run ends with the last arrival, and resumes between two of them."""

from itertools import count

import pytest

from hiermo.experiment import estimate
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import Interrupted, train

RECIPE = {
    "data": {"source": "synthetic", "samples": 300},
    "model": {"name": "logistic"},
    "tree": {"groups": [[0], [1, 2], [3]]},
    "periods": {"tau": 2, "pi": 2},
    "train": {"iterations": 20, "batch": 8},
    "algorithm": {"name": "CFL"},
}


def bits(directory):
    lines = [{k: v for k, v in line.items() if k != "seconds"} for line in directory.evaluations()]
    return lines, directory.result()["model_sha256"], directory.result()["cloud_rounds"]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    recipe = parse(RECIPE)
    (directory,) = create(tmp_path_factory.mktemp("straight") / "o", recipe)
    *_, last = train(directory, recipe, problem_of(recipe))
    assert (last.t, last.cloud_round) == (20, 15)
    return bits(directory)


def test_every_arrival_counts(straight):
    lines, _, rounds = straight
    assert rounds == 15
    assert [line["cloud_round"] for line in lines] == list(range(1, 16))
    assert [line["iteration"] for line in lines] == [4 * (k // 3 + 1) for k in range(15)]


@pytest.mark.parametrize("after", range(1, 30, 3))  # edge merges: two per arrival
def test_a_stop_anywhere_changes_nothing(after, straight, tmp_path):
    recipe = parse(RECIPE)
    problem = problem_of(recipe)
    (directory,) = create(tmp_path / "o", recipe)
    asked = iter(range(100))
    with pytest.raises(Interrupted):
        for _ in train(directory, recipe, problem, stop=lambda: next(asked) == after - 1):
            pass
    for _ in train(directory, recipe, problem):
        pass
    assert bits(directory) == straight


def test_longer_is_as_if_it_had_been_longer_from_the_start(straight, tmp_path):
    short = parse({**RECIPE, "train": {"iterations": 12, "batch": 8}, "evaluate": {"every": 4}})
    long = parse({**RECIPE, "evaluate": {"every": 4}})
    (directory,), (whole,) = create(tmp_path / "a", short), create(tmp_path / "b", long)
    problem = problem_of(short)
    for each, recipe in ((directory, short), (directory, long), (whole, long)):
        for _ in train(each, recipe, problem):
            pass
    assert bits(directory) == bits(whole)
    assert [line["cloud_round"] for line in whole.evaluations()] == [4, 8, 12, 15]


@pytest.mark.parametrize(("name", "seconds"), [("CFL", 3 * 20 + 15), ("HierFAVG", 20 + 5)])
def test_an_estimate_counts_the_steps_of_every_edge(name, seconds, monkeypatch):
    """On a clock that moves by one second whenever it is read: so long is a step, and so long an evaluation."""
    monkeypatch.setattr(estimate, "perf_counter", count(0.0).__next__)
    (told,) = estimate.estimate(parse({**RECIPE, "algorithm": {"name": name}}))["runs"]
    assert told["seconds"] == seconds
