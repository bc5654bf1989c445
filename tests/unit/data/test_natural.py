"""The division that the data brings along."""

from dataclasses import replace
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.load import load_data
from hiermo.data.partition.iid import Iid
from hiermo.data.partition.natural import Natural
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic

DATA = Synthetic(samples=60, test_samples=20, features=3, classes=3, owners=5).load(Path())


def owners_of(held):
    return [np.unique(held.dataset.owners[part]).tolist() for part in held.parts]


def test_a_worker_per_owner():
    held = partition(DATA, Natural(), n_workers=5)
    assert owners_of(held) == [[0], [1], [2], [3], [4]]
    assert held.sizes == (12,) * 5
    for worker, part in enumerate(held.parts):
        assert part.tolist() == np.flatnonzero(DATA.owners == worker).tolist()


@pytest.mark.parametrize(
    ("n_workers", "shared"), [(4, [[0, 1], [2], [3], [4]]), (2, [[0, 1, 2], [3, 4]]), (1, [[0, 1, 2, 3, 4]])]
)
def test_fewer_workers_share_neighbours(n_workers, shared):
    assert owners_of(partition(DATA, Natural(), n_workers)) == shared


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.data())
def test_owners_are_kept_whole_and_in_their_order(owners, data):
    owners = np.array(owners)
    known = np.unique(owners)  # some of 0..9 may have no samples
    n_workers = data.draw(st.integers(1, known.size))
    parts = Natural().split(owners, n_workers, seed=data.draw(st.integers(0, 5)))
    assert sorted(np.concatenate(parts).tolist()) == list(range(owners.size))
    held = [np.unique(owners[part]).tolist() for part in parts]
    assert [owner for mine in held for owner in mine] == known.tolist()
    numbers = [len(mine) for mine in held]
    assert max(numbers) - min(numbers) <= 1
    assert all((np.diff(part) > 0).all() for part in parts)


def test_more_workers_than_owners():
    with pytest.raises(UserError, match="natural has 5 owners of samples for 6 workers; use at most 5 workers"):
        partition(DATA, Natural(), n_workers=6)


def test_a_data_set_of_nobody():
    nobodys = Synthetic(samples=60).load(Path())
    words = r"natural needs to know whose .* data set synthetic does not say: uci-har .* path with \* .* owner column"
    with pytest.raises(UserError, match=words):
        partition(nobodys, Natural(), n_workers=5)


def test_by_name():
    held = load_data(Synthetic(samples=60, owners=5), workers=5, by="natural")
    assert owners_of(held) == [[0], [1], [2], [3], [4]]


def test_each_workers_own_test_samples():
    held = partition(DATA, Natural(), n_workers=2)
    assert [np.unique(DATA.test_owners[part]).tolist() for part in held.test_parts] == [[0, 1, 2], [3, 4]]
    assert sorted(np.concatenate(held.test_parts).tolist()) == list(range(20))


@pytest.mark.parametrize(
    ("test_owners", "known"),
    [
        (None, False),
        (np.zeros(20, np.int64), False),  # workers 1 to 4 would have none
        (np.arange(20) % 7, True),  # owners 5 and 6 have no training samples, so no worker
    ],
)
def test_test_samples_that_not_everyone_has(test_owners, known):
    held = partition(replace(DATA, test_owners=test_owners), Natural(), n_workers=5)
    assert (held.test_parts is not None) == known
    if known:
        assert [part.tolist() for part in held.test_parts] == [
            np.flatnonzero(test_owners == owner).tolist() for owner in range(5)
        ]


def test_other_rules_know_no_own_tests():
    assert partition(DATA, Iid(), n_workers=5).test_parts is None


class Cut:
    """Owner 2 is at both workers: its test samples would be at home twice."""

    by_owner = True

    def split(self, owners, n_workers, seed):
        order = np.argsort(owners, kind="stable")
        return order[:30], order[30:]


def test_an_owner_at_two_workers_has_no_own_test():
    assert owners_of(held := partition(DATA, Cut(), n_workers=2)) == [[0, 1, 2], [2, 3, 4]]
    assert held.test_parts is None


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set")
def test_the_people_of_uci_har():
    held = load_data("uci-har", workers=21, by="natural")
    assert held.sizes[:4] == (347, 341, 302, 325)
    assert sum(held.sizes) == 7352
    assert held.test_parts is None  # the test samples are other people's
    with pytest.raises(UserError, match="21 owners of samples for 22 workers"):
        load_data("uci-har", workers=22, by="natural")
