"""Images stay as they are stored, and however many runs a process makes, they are in its memory once."""

from dataclasses import dataclass
import os
from pathlib import Path
from typing import ClassVar
from weakref import ref

import numpy as np
import psutil
import pytest
import torch

import hiermo
from hiermo.data.load import loaded
from hiermo.data.sources.arrays import Arrays
from hiermo.data.sources.synthetic import Synthetic

TREE = hiermo.Tree.regular(edges=2, workers_per_edge=2)


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set")
def test_ten_runs_over_cifar10_use_the_data_once():
    process = psutil.Process()
    problems, models, used = [], [], []
    for seed in range(10):
        data = hiermo.load_data("cifar10", workers=4, seed=seed)
        problem = hiermo.Supervised(hiermo.make_model("logistic", data), data, batch=8, evaluate_test=100)
        assert data.train_x.max() == data.test_x.max() == 255  # all of it is read: the file is mapped into memory
        problems.append(problem)
        models += [s.model for s in hiermo.run(hiermo.HierMo(), TREE, problem, periods=(2, 1), iterations=2, seed=seed)]
        used.append(process.memory_info().rss)
    assert {problem.train_x.data_ptr() for problem in problems} == {problems[0].train_x.data_ptr()}
    assert {problem.evaluated[""].inputs.data_ptr() for problem in problems} == {
        problems[0].evaluated[""].inputs.data_ptr()
    }
    assert problems[0].train_x.dtype == torch.uint8
    assert problems[0].train_x.nbytes == 50000 * 3072
    # not even one further copy; what is left are threads, orders of samples and small models
    assert used[-1] - used[0] < problems[0].train_x.nbytes
    assert len({model.sum().item() for model in models}) == 10  # and each was a run of its own


def test_a_set_is_shared_while_someone_uses_it_and_then_let_go():
    source = Fleeting()
    first = loaded(source, Path("here"))
    assert loaded(source, Path("here")) is first
    assert loaded(source, Path("there")) is not first
    gone = ref(first)
    del first
    assert gone() is None
    assert loaded(source, Path("here")).classes == 3


@dataclass(frozen=True)
class Fleeting:
    """A set that everyone has, as its folder says."""

    folder: ClassVar[str] = "fleeting"

    def load(self, directory):
        return Synthetic(classes=3).load(directory)


def test_own_files_are_read_again(tmp_path):
    def write(value):
        x, y = np.full((10, 3), value, np.float32), np.arange(10) % 2
        np.savez(tmp_path / "mine.npz", train_x=x, train_y=y, test_x=x, test_y=y)
        return loaded(Arrays(path=str(tmp_path / "mine.npz")), tmp_path)

    first, second = write(1.0), write(2.0)
    assert (first.train_x == 1).all() and (second.train_x == 2).all()
