"""Gaussian blobs."""

from pathlib import Path

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import check
from hiermo.data.randomness import order, stream
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


def test_the_data_of_nobody_is_as_it_always_was():
    """Golden results rest on it."""
    data = Synthetic(samples=50, test_samples=20, seed=3).load(Path())
    means = stream(3, "synthetic", "means").standard_normal((10, 20))
    for part, n, x, y in (("train", 50, data.train_x, data.train_y), ("test", 20, data.test_x, data.test_y)):
        labels = order(3, "synthetic", part, "labels", n=n) % 10
        noise = stream(3, "synthetic", part, "noise").standard_normal((n, 20))
        assert np.array_equal(y, labels)
        assert np.array_equal(x, (means[labels] + 1.0 * noise).astype(np.float32))
    assert data.owners is data.test_owners is None


def test_owners_that_are_alike_change_nothing_else():
    without, owned = (Synthetic(owners=owners).load(Path()) for owners in (None, 7))
    for name in ("train_x", "train_y", "test_x", "test_y"):
        np.testing.assert_array_equal(getattr(without, name), getattr(owned, name))


def test_owners_have_equally_many_samples_of_every_class():
    data = Synthetic(samples=1003, test_samples=101, classes=5, owners=8, heterogeneity=1.0).load(Path())
    check(data)
    assert data.train_y.dtype == data.owners.dtype == data.test_owners.dtype == np.int64
    for owners, labels in ((data.owners, data.train_y), (data.test_owners, data.test_y)):
        sizes = np.bincount(owners)
        table = np.zeros((8, 5), int)
        np.add.at(table, (owners, labels), 1)
        assert len(sizes) == 8
        assert sizes.max() - sizes.min() <= 1
        assert table.max() - table.min() <= 1


def test_heterogeneity_moves_all_classes_of_an_owner_alike():
    def means(heterogeneity):
        data = Synthetic(noise=0.0, classes=3, features=400, owners=6, heterogeneity=heterogeneity).load(Path())
        parts = [(data.train_x, data.train_y, data.owners), (data.test_x, data.test_y, data.test_owners)]
        return [[[x[(y == c) & (o == k)][0] for c in range(3)] for k in range(6)] for x, y, o in parts]

    (train, test), (still, _), (twice, _) = (np.array(means(h)) for h in (0.5, 0.0, 1.0))
    np.testing.assert_array_equal(train, test)  # the test set is of the same owners
    moved = train - still
    np.testing.assert_allclose(moved, moved[:, :1].repeat(3, axis=1), atol=1e-6)  # float32 of numbers around 1
    np.testing.assert_allclose(twice - still, 2 * moved, atol=2e-6)
    assert moved[:, 0].std() == pytest.approx(0.5, rel=0.1)  # 2400 draws: 0.5 +- 0.007
    assert np.abs(np.corrcoef(moved[:, 0]) - np.eye(6)).max() < 0.2  # owners on their own: 0 +- 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"heterogeneity": 0.5}, r"data\.heterogeneity = 0\.5: there is nobody to differ; set data\.owners"),
        ({"owners": 30, "samples": 29}, r"data\.owners = 30 cannot share data\.samples = 29"),
        ({"owners": 0}, "Synthetic: owners must be"),
        ({"owners": 3, "heterogeneity": -1.0}, "Synthetic: heterogeneity must be"),
    ],
)
def test_owners_that_cannot_be(options, words):
    with pytest.raises(UserError, match=words):
        Synthetic(**options).load(Path())
