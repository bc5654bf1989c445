"""Properties that every draw of a partition rule has."""

import warnings

from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.core.parameter import faults
from hiermo.data.partition.classes import Classes
from hiermo.data.partition.dirichlet import Dirichlet
from hiermo.data.partition.iid import Iid
from hiermo.data.partition.sizes import Sizes
from hiermo.data.randomness import order

seeds = st.integers(0, 2**32)
workers = st.integers(1, 12)
label_lists = st.lists(st.integers(0, 5), min_size=12, max_size=80).map(np.array)


def balanced(classes, each):
    return order(0, "test", n=classes * each) % classes


def used(parts):
    return np.concatenate(parts).tolist()


def held(labels, parts):
    return [set(labels[part].tolist()) for part in parts]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


RULES = [Iid(), Classes(per_worker=2), Classes(per_worker=2, cover=False), Dirichlet(alpha=0.5), Sizes(sizes=(9,) * 8)]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_seed_says_it_all_and_another_says_something_else(rule):
    labels = balanced(classes=4, each=50)
    draws = [rule.split(labels, 8, seed) for seed in (0, 0, 1, 2)]
    assert same(draws[0], draws[1])
    assert not same(draws[0], draws[2])
    assert not same(draws[2], draws[3])
    for part in draws[0]:
        assert (np.diff(part) > 0).all()


@settings(deadline=None)
@given(label_lists, workers, seeds)
def test_iid_uses_every_sample_once_in_equal_sizes(labels, n_workers, seed):
    parts = Iid().split(labels, n_workers, seed)
    sizes = [part.size for part in parts]
    assert sorted(used(parts)) == list(range(labels.size))
    assert len(parts) == n_workers
    assert max(sizes) - min(sizes) <= 1


@settings(deadline=None)
@given(label_lists, st.lists(st.integers(1, 10), min_size=1, max_size=8), seeds)
def test_sizes_are_as_asked_for(labels, sizes, seed):
    assume(sum(sizes) <= labels.size)
    parts = Sizes(sizes=tuple(sizes)).split(labels, len(sizes), seed)
    assert [part.size for part in parts] == sizes
    assert len(set(used(parts))) == sum(sizes)
    assert set(used(parts)) <= set(range(labels.size))


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((3, 3, 3), r"data\.partition\.sizes has 3 entries for 2 workers"),
        ((5, 6), r"data\.partition\.sizes asks for 11 samples and there are 10"),
    ],
)
def test_sizes_that_do_not_fit(sizes, words):
    with pytest.raises(UserError, match=words):
        Sizes(sizes=sizes).split(np.zeros(10, int), 2, 0)


@settings(deadline=None)
@given(st.data(), st.integers(1, 12), workers, seeds, st.booleans())
def test_classes(data, classes, n_workers, seed, cover):
    per_worker = data.draw(st.integers(1, classes))
    assume(not cover or n_workers * per_worker >= classes)
    each = data.draw(st.integers(n_workers, 3 * n_workers))  # enough for every holder to get one
    labels = balanced(classes, each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = Classes(per_worker=per_worker, cover=cover).split(labels, n_workers, seed)
    holds = held(labels, parts)
    assert len(parts) == n_workers
    assert len(used(parts)) == len(set(used(parts)))
    assert all(len(mine) == per_worker for mine in holds)
    for c in range(classes):
        shares = [int((labels[part] == c).sum()) for part, mine in zip(parts, holds, strict=True) if c in mine]
        assert sum(shares) == (each if shares else 0)
        assert not shares or max(shares) - min(shares) <= 1
    if cover:
        holders = [sum(c in mine for mine in holds) for c in range(classes)]
        assert min(holders) >= 1
        assert max(holders) - min(holders) <= 1
        assert sorted(used(parts)) == list(range(labels.size))


@settings(deadline=None)
@given(label_lists, st.integers(6, 12), seeds)
def test_classes_of_unequal_and_missing_size(labels, n_workers, seed):
    parts = Classes(per_worker=1).split(labels, n_workers, seed)
    assert sorted(used(parts)) == list(range(labels.size))


def test_every_pair_of_classes_is_dealt():
    labels = balanced(classes=4, each=10)
    hands = {
        frozenset(mine) for seed in range(100) for mine in held(labels, Classes(per_worker=2).split(labels, 5, seed))
    }
    assert len(hands) == 6


def test_dealt_hands_do_not_pair_neighbours():
    """Workers 0 and 1 share an edge: dealt in their order, they would always hold all the classes between them."""
    labels = balanced(classes=4, each=10)
    draws = [held(labels, Classes(per_worker=2).split(labels, 4, seed)) for seed in range(300)]
    complementary = sum(not (hands[0] & hands[1]) for hands in draws) / len(draws)
    # partner in the deck: 1/3; else 2/3 * 1/6
    assert complementary == pytest.approx(1 / 3 + 2 / 3 / 6, abs=0.09)


def test_a_class_that_nobody_holds_is_named():
    labels = balanced(classes=5, each=4)
    with pytest.warns(
        UserWarning, match=r"no worker holds class \d, \d, \d, \d: .*data\.partition\.cover = true"
    ) as said:
        parts = Classes(per_worker=1, cover=False).split(labels, 1, 0)
    missing = set(range(5)) - set.union(*held(labels, parts))
    assert f"class {', '.join(map(str, sorted(missing)))}:" in str(said[0].message)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            Classes(per_worker=3),
            r"data\.partition\.per_worker = 3: 3 workers with 3 classes each cannot hold all 10 classes; "
            r"set it to 4 or more, or set cover = false",
        ),
        (Classes(per_worker=11), r"data\.partition\.per_worker = 11, but there are only 10 classes"),
        (Classes(per_worker=11, cover=False), r"data\.partition\.per_worker = 11"),
    ],
)
def test_classes_that_cannot_be(rule, words):
    with pytest.raises(UserError, match=words):
        rule.split(balanced(10, 5), 3, 0)


@settings(deadline=None)
@given(label_lists, workers, seeds, st.floats(1e-4, 1e4), st.data())
def test_dirichlet_uses_every_sample_once_and_leaves_nobody_short(labels, n_workers, seed, alpha, data):
    least = data.draw(st.integers(1, labels.size // n_workers))
    parts = Dirichlet(alpha=alpha, min_samples=least).split(labels, n_workers, seed)
    assert sorted(used(parts)) == list(range(labels.size))
    assert len(parts) == n_workers
    assert min(part.size for part in parts) >= least


def test_dirichlet_alpha_is_the_skew():
    labels = balanced(classes=10, each=200)

    def largest_share(alpha):
        parts = Dirichlet(alpha=alpha).split(labels, 10, 0)
        return np.mean([np.bincount(labels[part], minlength=10).max() / part.size for part in parts])

    assert largest_share(0.05) > 0.5
    assert largest_share(1000) < 0.15


def test_dirichlet_moves_no_more_than_it_must():
    labels = balanced(classes=2, each=50)
    parts = Dirichlet(alpha=1e-4, min_samples=2).split(labels, 20, 3)
    sizes = sorted(part.size for part in parts)
    assert sizes[:18] == [2] * 18
    assert sum(sizes) == 100


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Dirichlet(alpha=1.0, min_samples=4), r"data\.partition\.min_samples = 4: 3 workers would need 12 samples"),
        (Dirichlet(alpha=float("inf")), r"data\.partition\.alpha = inf is too extreme"),
    ],
)
def test_dirichlet_that_cannot_be(rule, words):
    with pytest.raises(UserError, match=words):
        rule.split(np.arange(10) % 2, 3, 0)


@pytest.mark.parametrize(
    ("kind", "values", "wrong"),
    [
        (Classes, {"per_worker": 2, "cover": "no"}, ["cover"]),
        (Classes, {}, ["per_worker"]),
        (Dirichlet, {"alpha": 0.0, "min_samples": 0}, ["alpha", "min_samples"]),
        (Sizes, {"sizes": [3, 0]}, ["sizes"]),
        (Sizes, {"sizes": [3, 4]}, []),
        (Iid, {"alpha": 1}, ["alpha"]),
    ],
)
def test_options_are_understood(kind, values, wrong):
    assert [name for name, _ in faults(kind, values)] == wrong


def test_a_class_without_samples_is_not_dealt_out():
    labels = np.repeat([0, 2, 5], 10)
    parts = Classes(per_worker=1).split(labels, n_workers=3, seed=0)
    assert sorted(np.unique(labels[part]).tolist() for part in parts) == [[0], [2], [5]]
