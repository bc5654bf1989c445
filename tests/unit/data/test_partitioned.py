"""`partition` applies a rule and refuses what is no partition."""

from pathlib import Path

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.partition.classes import Classes
from hiermo.data.partition.iid import Iid
from hiermo.data.partition.natural import Natural
from hiermo.data.partition.sizes import Sizes
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic

DATA = Synthetic(samples=12, test_samples=5, features=3, classes=3).load(Path())
OWNED = Synthetic(samples=12, test_samples=6, features=3, classes=3, owners=3).load(Path())


class Given:
    """Anyone's own rule: no dataclass, no registry."""

    def __init__(self, *parts):
        self.parts = parts

    def split(self, labels, n_workers, seed):
        return self.parts


def test_it_gives_the_attributes_of_the_data_set():
    held = partition(DATA, Iid(), n_workers=5, seed=1)
    for name in ("train_x", "train_y", "test_x", "test_y"):
        assert getattr(held, name) is getattr(DATA, name)
    assert (held.classes, held.shape, held.sizes) == (3, (3,), (3, 3, 2, 2, 2))
    assert held.dataset is DATA


def test_seed_0_is_the_default():
    default, zero, one = (partition(DATA, Iid(), 3, *seed).parts for seed in ((), (0,), (1,)))
    assert all(map(np.array_equal, default, zero))
    assert not all(map(np.array_equal, default, one))


def test_anyones_rule_may_return_lists():
    held = partition(DATA, Given([0, 1], [2]), n_workers=2)
    assert [part.tolist() for part in held.parts] == [[0, 1], [2]]
    assert all(part.dtype == np.intp for part in held.parts)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (([0], [1], [2]), "it made 3 parts"),
        (([0], []), r"worker 1 gets no sample \(1 such workers\)"),
        (([0, 1], [1, 2]), "sample 1 is used 2 times"),
        (([3, 3], [1, 2]), "sample 3 is used 2 times"),
        (([0], [12]), r"worker 1 gets an index outside 0\.\.11"),
        (([-1], [1]), "worker 0 gets an index outside"),
        (([0.0], [1.0]), "worker 0 must get a list of indices"),
        (([True], [False]), "worker 0 must get a list of indices, .* bool"),
    ],
)
def test_what_is_no_partition_is_refused(parts, words):
    with pytest.raises(UserError, match=rf"partition Given of synthetic among 2 workers: {words}"):
        partition(DATA, Given(*parts), n_workers=2)


@pytest.mark.parametrize(
    ("rule", "n_workers", "words"),
    [
        (Iid(), 13, "13 workers cannot share the 12 training samples of synthetic"),
        (Iid(), 0, "at least one worker"),
        (Iid, 2, r"write Iid\(...\)"),
        (Classes(per_worker=0), 2, "Classes: per_worker must be .* not 0"),
        (Classes(per_worker="2"), 2, "Classes: per_worker must be a whole number"),
        (Sizes(sizes=(3, 0)), 2, "Sizes: sizes must be .* not 0"),
        (Classes(per_worker=1), 12 + 1, "13 workers cannot share"),
    ],
)
def test_wrong_input_is_refused(rule, n_workers, words):
    with pytest.raises(UserError, match=words):
        partition(DATA, rule, n_workers)


def test_a_worker_left_without_samples_is_refused():
    few = Synthetic(samples=4, test_samples=1, features=1, classes=2).load(Path())
    with pytest.warns(UserWarning, match="no worker holds class"), pytest.raises(UserError, match="gets no sample"):
        for seed in range(200):  # three of three workers that share the two samples of one class
            partition(few, Classes(per_worker=1, cover=False), 3, seed)


def test_counts_are_of_every_class():
    held = partition(DATA, Given(np.flatnonzero(DATA.train_y == 2), np.flatnonzero(DATA.train_y == 0)[:3]), 2)
    assert held.counts().tolist() == [[0, 0, 4], [3, 0, 0]]


def test_parts_in_other_hands():
    held = partition(OWNED, Natural(), n_workers=3)
    moved = held.reordered([2, 0, 1])
    assert moved.dataset is held.dataset
    for i, j in enumerate([2, 0, 1]):
        assert moved.parts[i] is held.parts[j]
        assert moved.test_parts[i] is held.test_parts[j]
    assert moved.counts().tolist() == held.counts()[[2, 0, 1]].tolist()
    assert partition(DATA, Iid(), 3).reordered(np.array([1, 0, 2])).test_parts is None


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 3]])
def test_an_order_names_every_worker_once(order):
    with pytest.raises(UserError, match="an order of 3 workers must name each of them once"):
        partition(DATA, Iid(), n_workers=3).reordered(order)
