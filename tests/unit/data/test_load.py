"""`load_data`: names or objects for the source and for the rule."""

from pathlib import Path

import numpy as np
import pytest

import hiermo
from hiermo.data.partition.iid import Iid
from hiermo.data.partition.sizes import Sizes
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic

SMALL = Synthetic(samples=20, test_samples=5, features=3, classes=2)


class Remembering:
    """Anyone's own source."""

    def load(self, directory):
        self.directory = directory
        return SMALL.load(directory)


@pytest.mark.parametrize("source", ["synthetic", Synthetic()])
@pytest.mark.parametrize("by", ["iid", Iid()])
def test_names_stand_for_objects_without_options(source, by):
    found = hiermo.load_data(source, workers=3, by=by, seed=2)
    expected = partition(Synthetic().load(Path()), Iid(), 3, seed=2)
    assert np.array_equal(found.train_x, expected.train_x)
    assert all(map(np.array_equal, found.parts, expected.parts))


def test_iid_and_seed_0_are_the_defaults():
    default, explicit = (hiermo.load_data(SMALL, workers=3, **o).parts for o in ({}, {"by": "iid", "seed": 0}))
    assert all(map(np.array_equal, default, explicit))


def test_the_seed_divides_the_data_and_does_not_make_it():
    zero, one = (hiermo.load_data(SMALL, workers=2, seed=seed) for seed in (0, 1))
    assert np.array_equal(zero.train_x, one.train_x)
    assert not np.array_equal(zero.parts[0], one.parts[0])


def test_objects_keep_their_options():
    assert hiermo.load_data(SMALL, workers=2, by=Sizes(sizes=(5, 2))).sizes == (5, 2)


def test_the_directory_is_the_one_given_or_that_of_the_environment(tmp_path, monkeypatch):
    source = Remembering()
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path / "environment"))
    hiermo.load_data(source, workers=2)
    assert source.directory == tmp_path / "environment"
    hiermo.load_data(source, workers=2, directory=tmp_path)
    assert source.directory == tmp_path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source": "mnist-5000"}, "no dataset 'mnist-5000'.*mnist-5k"),
        ({"source": SMALL, "by": "idd"}, "no partition 'idd'.*iid"),
        ({"source": "mnist", "directory": Path("nowhere")}, "is not in nowhere"),
        ({"source": SMALL, "workers": 21}, "21 workers cannot share the 20 training samples"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(hiermo.UserError, match=words):
        hiermo.load_data(**{"workers": 2, **options})


def test_a_rule_that_needs_options_says_so():
    with pytest.raises(
        hiermo.UserError, match=r"partition 'classes' needs options: pass .*Classes\(per_worker=\.\.\.\)"
    ):
        hiermo.load_data("mnist-5k", workers=4, by="classes")
