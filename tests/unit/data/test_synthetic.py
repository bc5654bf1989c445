"""Gaussian blobs."""

from pathlib import Path

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import check
from hiermo.data.sources.synthetic import Synthetic


def test_shapes_types_and_balance():
    data = Synthetic(samples=70, features=3, classes=7, test_samples=15).load(Path())
    check(data)
    assert data.train_x.shape == (70, 3)
    assert data.test_x.shape == (15, 3)
    assert data.train_x.dtype == data.test_x.dtype == np.float32
    assert np.bincount(data.train_y).tolist() == [10] * 7
    assert set(np.bincount(data.test_y).tolist()) == {2, 3}
    assert data.classes == 7


def test_its_seed_says_it_all():
    one, again, other = (Synthetic(seed=seed).load(Path()) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.train_x, again.train_x)
    np.testing.assert_array_equal(one.test_y, again.test_y)
    assert not np.array_equal(one.train_x, other.train_x)


def test_training_and_test_samples_share_means_but_not_noise():
    exact = Synthetic(noise=0.0).load(Path())
    for c in range(10):
        mean = exact.train_x[exact.train_y == c][0]
        assert (exact.train_x[exact.train_y == c] == mean).all()
        assert (exact.test_x[exact.test_y == c] == mean).all()
    noisy = Synthetic().load(Path())
    assert not {x.tobytes() for x in noisy.test_x} & {x.tobytes() for x in noisy.train_x}


def test_noise_is_the_standard_deviation():
    exact, noisy = (Synthetic(noise=noise).load(Path()) for noise in (0.0, 3.0))
    assert (noisy.train_x - exact.train_x).std() == pytest.approx(3.0, rel=0.02)


def test_it_is_always_there(tmp_path):
    assert Synthetic().find(tmp_path / "nowhere") is not None
    assert Synthetic(samples=30).samples == 30


@pytest.mark.parametrize("options", [{"classes": 1}, {"samples": 0}, {"noise": -1.0}, {"test_samples": 0}])
def test_options_out_of_range(options):
    with pytest.raises(UserError, match=f"Synthetic: {next(iter(options))} must be"):
        Synthetic(**options).load(Path())
