"""A checkpoint gives back every bit; a run that goes on from any of them is the straight run."""

import numpy as np
import pytest

from helpers import assert_same_bits
from hiermo.core.errors import UserError
from hiermo.engine.run import run
from hiermo.engine.state import from_arrays
from hiermo.experiment import checkpoint, recipe_file
from hiermo.experiment.assemble import problem_of, tensors
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import Interrupted, train

RAW = {
    "data": {"source": "synthetic", "samples": 60, "test_samples": 20, "features": 5},
    "model": {"name": "logistic"},
    "tree": {"groups": [[0, 2], [1]]},
    "periods": {"tau": 2, "pi": 3},
    "train": {"iterations": 24, "batch": 4},
    "evaluate": {"every": 3},
    "engine": {"threads": 1, "checkpoint_s": 1000.0},
    "algorithm": {"name": "HierMo"},
}
RECIPE = parse(RAW)


@pytest.fixture(scope="module")
def problem():
    return problem_of(RECIPE)


def finished(path, problem):
    (directory,) = create(path, RECIPE)
    list(train(directory, directory.recipe(), problem))
    return directory


@pytest.fixture(scope="module")
def straight(tmp_path_factory, problem):
    return finished(tmp_path_factory.mktemp("straight") / "o", problem)


def bits(directory):
    lines = [{k: v for k, v in line.items() if k != "seconds"} for line in directory.evaluations()]
    return lines, directory.result()["model_sha256"], directory.result()["loss"]


def test_every_state_comes_back(tmp_path, problem):
    part = RECIPE.algorithms[0]
    tree, periods = RECIPE.placed(part)
    for state in run(part.made, tree, problem, periods=periods, iterations=12, every="iteration"):
        checkpoint.save(tmp_path / "c", state, 1.5)
        arrays, place, seconds = checkpoint.load(tmp_path / "c")
        again = from_arrays(part.made, problem.initial(0), tree.tiers, tensors(arrays, "cpu"), place)
        assert_same_bits(again, state)
        assert seconds == 1.5


@pytest.mark.parametrize("merges", [1, 2, 3, 5, 8, 9, 11])
def test_stopped_after_any_merge_it_goes_on_bit_by_bit(tmp_path, problem, straight, merges):
    (directory,) = create(tmp_path / "o", RECIPE)
    asked = iter([False] * (merges - 1) + [True])
    with pytest.raises(Interrupted):
        list(train(directory, directory.recipe(), problem, lambda: next(asked)))
    assert directory.result() is None
    seen = list(train(directory, directory.recipe(), problem))
    assert seen[0].t == 2 * (merges + 1)
    assert bits(directory) == bits(straight)


def test_stopped_at_the_last_merge_it_is_finished(tmp_path, problem):
    (directory,) = create(tmp_path / "o", RECIPE)
    asked = iter([False] * 11 + [True])
    assert [progress.t for progress in train(directory, directory.recipe(), problem, lambda: next(asked))][-1] == 24
    assert directory.result()["iterations"] == 24


def test_a_checkpoint_that_cannot_be_written_costs_the_time_since_the_last(tmp_path, problem, straight, monkeypatch):
    often = parse({**RAW, "engine": {"threads": 1, "checkpoint_s": 0.0}})
    (directory,) = create(tmp_path / "o", often)
    save, saved = checkpoint.save, []

    def fails_later(path, state, elapsed_s):
        saved.append(state.t)
        if len(saved) > 3:
            raise OSError(28, "No space left on device")
        save(path, state, elapsed_s)

    monkeypatch.setattr(checkpoint, "save", fails_later)
    with pytest.raises(OSError, match="No space left"):
        list(train(directory, directory.recipe(), problem))
    monkeypatch.undo()
    assert next(train(directory, directory.recipe(), problem)).t == saved[3]
    list(train(directory, directory.recipe(), problem))
    assert bits(directory) == bits(straight)


def test_a_run_that_is_given_up_in_the_middle_frees_its_lock(tmp_path, problem):
    (directory,) = create(tmp_path / "o", RECIPE)
    going = train(directory, directory.recipe(), problem)
    next(going)
    with pytest.raises(UserError, match="another process"):
        next(train(directory, directory.recipe(), problem))
    going.close()
    list(train(directory, directory.recipe(), problem))
    assert directory.result()["iterations"] == 24


def test_a_hand_edited_recipe_does_not_go_on_from_the_old_checkpoint(tmp_path, problem):
    directory = finished(tmp_path / "o", problem)
    for key, new in (("periods", {"tau": 3, "pi": 2}), ("train", {**RAW["train"], "seed": 1})):
        other = parse({**RAW, key: new})
        with pytest.raises(UserError, match=r"checkpoint.safetensors is not of this run"):
            next(train(directory, other, problem))


def test_the_file_holds_arrays_and_their_place_and_nothing_to_execute(tmp_path, problem):
    directory = finished(tmp_path / "o", problem)
    arrays, place, _ = checkpoint.load(directory.checkpoint_path)
    assert place == {"t": 24, "rounds": 4, "position": place["position"], "start": 0, "periods": [2, 3], "seed": 0}
    assert {name: array.shape for name, array in arrays.items() if name.startswith("tier1")} == {
        "tier1.x": (2, 60), "tier1.m": (2, 60), "tier1.y": (2, 60)
    }  # fmt: skip
    assert all(array.dtype == np.float32 for array in arrays.values())
    assert recipe_file.read(directory.recipe_path)["train"]["iterations"] == 24
