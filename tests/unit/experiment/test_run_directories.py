"""Run directories: made whole or not at all, and read with a sentence for what is wrong."""

import json

import pytest

from hiermo.core.errors import UserError
from hiermo.experiment import run_directory
from hiermo.experiment.extend import extend
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import Metrics, RunDirectory, create, opened

RAW = {
    "data": {"source": "synthetic"},
    "model": {"name": "linear"},
    "tree": {"edges": 2, "workers_per_edge": 2},
    "periods": {"tau": 2, "pi": 2},
    "train": {"iterations": 8},
    "algorithm": {"name": "HierMo"},
}
ONE = parse(RAW)
TWO = parse({**RAW, "algorithm": [{"name": "HierMo"}, {"name": "HierFAVG"}]})


def test_what_is_created_is_what_is_opened(tmp_path):
    for recipe, out in ((ONE, "one"), (TWO, "two")):
        made = create(tmp_path / out, recipe)
        found = opened(tmp_path / out)
        assert [each.path for each in found] == [each.path for each in made]
        assert [each.recipe() for each in found] == [recipe.single(part) for part in recipe.algorithms]
        assert all(each.result() is None and each.evaluations() == [] for each in found)


@pytest.mark.parametrize("there", [False, True])
def test_a_failure_in_the_middle_leaves_no_run(tmp_path, monkeypatch, there):
    if there:
        (tmp_path / "o").mkdir()
    written = []

    def fails_at_the_second(path, text):
        if written:
            raise OSError(28, "No space left on device")
        written.append(path.write_text(text))

    monkeypatch.setattr(run_directory, "write_text", fails_at_the_second)
    with pytest.raises(UserError, match=r"--out .*o: cannot be written: No space left on device"):
        create(tmp_path / "o", TWO)
    assert [path.name for path in tmp_path.rglob("*")] == (["o"] if there else [])


def test_metrics_are_read_as_they_were_written(tmp_path):
    directory = RunDirectory(tmp_path)
    kept, new = {"iteration": 4, "cloud_round": 1, "loss": 0.5}, {"iteration": 8, "cloud_round": 2, "loss": 1 / 3}
    metrics = Metrics(directory.metrics_path, {"iteration": "i"}, [kept])
    metrics.append(new)
    assert directory.evaluations() == [kept, new]  # on disk before it is closed
    metrics.close()
    text = directory.metrics_path.read_text()
    for cut in range(1, len(json.dumps(new)) + 1):
        directory.metrics_path.write_text(text[:-cut])
        assert directory.evaluations() == [kept]


def test_a_run_can_be_made_longer_only(tmp_path):
    (directory,) = create(tmp_path / "o", ONE)
    directory.result_path.write_text('{"format": 1}')
    extend(directory, 8)
    assert directory.result_path.exists()
    for wrong, said in ((4, "longer, not shorter"), (10, r"--iterations: train.iterations = 10 is not a multiple")):
        with pytest.raises(UserError, match=said):
            extend(directory, wrong)
    assert directory.result_path.exists()
    extend(directory, 12)
    assert not directory.result_path.exists()
    assert directory.recipe().train.iterations == 12


def test_two_may_not_train_in_one_directory(tmp_path):
    (first,) = create(tmp_path / "o", ONE)
    with first.locked(), pytest.raises(UserError, match="another process is running in this directory"):
        extend(RunDirectory(first.path), 12)
    extend(first, 12)


def test_provenance_grows(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.add_provenance({"seed": 1})
    directory.add_provenance({"seed": 2})
    assert json.loads(directory.provenance_path.read_text()) == {"format": 1, "starts": [{"seed": 1}, {"seed": 2}]}
