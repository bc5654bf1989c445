"""Batches against the rule as it is written, sample by sample."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.batches import Batches
from hiermo.data.randomness import order


def parts_of(sizes):
    """Samples in no particular order, so that a position is not mistaken for an index."""
    everything = order(7, "test parts", n=sum(sizes))
    return np.split(everything, np.cumsum(sizes)[:-1])


def literal(parts, batch, seed, worker, t):
    mine, samples = parts[worker], []
    for j in range(batch):
        epoch, position = divmod(t * batch + j, len(mine))
        samples.append(int(mine[order(seed, "batches", worker, epoch, n=len(mine))][position]))
    return samples


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    batch=st.integers(1, 50),
    seed=st.integers(0, 3),
    data=st.data(),
)
@settings(max_examples=60)
def test_exactly_the_rule(sizes, batch, seed, data):
    parts = parts_of(sizes)
    batches = Batches(parts, batch, seed)
    workers = st.lists(st.integers(0, len(sizes) - 1), max_size=5, unique=True)
    for t, some in data.draw(st.lists(st.tuples(st.integers(0, 30), workers), max_size=6), "calls, in any order"):
        found = batches.indices(some, t)
        assert found.shape == (len(some), batch)
        assert found.tolist() == [literal(parts, batch, seed, worker, t) for worker in some]


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4), batch=st.integers(1, 50), data=st.data())
@settings(max_examples=40)
def test_iterations_in_a_row(sizes, batch, data):
    parts = parts_of(sizes)
    batches, one_by_one = Batches(parts, batch, 1), Batches(parts, batch, 1)
    everyone = range(len(sizes))
    for t, count in data.draw(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=4), "calls"):
        found = batches.in_a_row(everyone, t, count)
        assert np.array_equal(found, np.stack([one_by_one.indices(everyone, t + k) for k in range(count)]))


@pytest.mark.parametrize("batch", [1, 3, 7, 10, 11, 25])
def test_an_epoch_uses_every_sample_once_before_the_next_begins(batch):
    part = np.arange(100, 110)
    batches = Batches([part], batch, seed=0)
    seen = np.concatenate([batches.indices([0], t)[0] for t in range(20)])
    epochs = seen[: len(seen) // 10 * 10].reshape(-1, 10)
    assert all(sorted(epoch) == part.tolist() for epoch in epochs.tolist())
    assert len({tuple(epoch) for epoch in epochs.tolist()}) == len(epochs)  # shuffled anew: 10! orders


def test_other_workers_and_earlier_calls_change_nothing():
    mine = np.arange(30)
    alone = Batches([mine], 7, seed=3)
    among = Batches([mine, np.arange(30, 32), np.arange(32, 70)], 7, seed=3)
    for t in (9, 4, 4, 0, 1000, 5):
        assert np.array_equal(among.indices([2, 0, 1], t)[1], alone.indices([0], t)[0])


def test_seeds_and_workers_differ():
    parts = [np.arange(50), np.arange(50)]
    first = Batches(parts, 50, seed=0).indices([0, 1], 0)
    other = Batches(parts, 50, seed=1).indices([0, 1], 0)
    assert len({tuple(row) for row in [*first.tolist(), *other.tolist()]}) == 4


def test_what_is_handed_out_is_not_the_memory():
    batches = Batches([np.arange(10)], 5, seed=0)
    expected = batches.indices([0], 0).tolist()
    batches.indices([0], 0)[:] = -1
    assert batches.indices([0], 0).tolist() == expected


@pytest.mark.parametrize("batch", [0, -1])
def test_empty_batches_are_refused(batch):
    with pytest.raises(UserError, match=f"batch must be at least 1, not {batch}"):
        Batches([[0, 1]], batch, seed=0)
