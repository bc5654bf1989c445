"""Many orders at once are the orders one by one."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from hiermo.data import randomness
from hiermo.data.philox_keys import philox_keys
from hiermo.data.randomness import order, orders

ENTROPY = st.integers(2**224, 2**256 - 1)  # of eight words


@given(st.lists(ENTROPY, min_size=1, max_size=5))
def test_keys_are_those_of_numpy(entropies):
    words = np.array([[e >> 32 * k & 0xFFFFFFFF for k in range(8)] for e in entropies], np.uint32)
    expected = [np.random.Philox(np.random.SeedSequence(e)).state["state"]["key"] for e in entropies]
    assert np.array_equal(philox_keys(words), np.array(expected))


@given(
    seed=st.integers(0, 2**40),
    paths=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), max_size=6),
    n=st.integers(1, 70),
)
def test_orders_are_those_one_by_one(seed, paths, n):
    found = orders(seed, "name", paths, n)
    assert found.shape == (len(paths), n)
    assert found.tolist() == [order(seed, "name", *path, n=n).tolist() for path in paths]


def test_a_number_of_fewer_words(monkeypatch):
    monkeypatch.setattr(randomness, "digest", lambda *path: bytes(4) + bytes(range(28)))
    assert orders(0, "name", [(1, 2)], 9).tolist() == [order(0, "name", 1, 2, n=9).tolist()]


@given(st.integers(0, 2**32), st.integers(1, 50), st.sampled_from([1, 60, 2**64 - 1]))
def test_equal_numbers_keep_their_order(seed, n, largest):
    raw = np.random.default_rng(seed).integers(0, largest, (3, n), dtype=np.uint64, endpoint=True)
    assert np.array_equal(randomness._sorted_places(raw), np.argsort(raw, axis=1, kind="stable"))
