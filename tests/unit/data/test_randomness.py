"""Streams are functions of (seed, path) and of nothing else."""

import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.data.randomness import order, stream

steps = st.lists(st.one_of(st.integers(-(2**70), 2**70), st.text(max_size=5)), max_size=4)


@settings(deadline=None)
@given(st.integers(), steps, st.integers(0, 50))
def test_order_is_a_permutation_and_repeats(seed, path, n):
    first = order(seed, *path, n=n)
    assert first.dtype == np.int64
    assert sorted(first.tolist()) == list(range(n))
    np.testing.assert_array_equal(first, order(seed, *path, n=n))


@settings(deadline=None)
@given(st.integers(), steps, st.integers(), steps)
def test_other_seeds_and_paths_are_other_streams(seed, path, other_seed, other_path):
    def draw(*key):
        return stream(*key).bit_generator.random_raw(2).tolist()

    same = [seed, *path] == [other_seed, *other_path]
    assert (draw(seed, *path) == draw(other_seed, *other_path)) == same


@pytest.mark.parametrize(
    "other", [(1, 0), (1, ""), (0, 1), ("1",), (2**32 + 1,), (1, 0, 0)], ids=str
)  # what SeedSequence alone would take for the same, and near misses
def test_paths_that_look_alike(other):
    assert stream(0, 1).random() != stream(0, *other).random()


def test_numpy_integers_are_integers():
    np.testing.assert_array_equal(order(np.int64(3), np.int32(1), n=9), order(3, 1, n=9))


def test_raw_values_are_pinned():
    """A change here changes every partition and every batch of every run."""
    assert stream(0, "pinned", 1).bit_generator.random_raw(2).tolist() == [9071388204455147113, 17101996742483919956]
    assert order(7, "pinned", n=8).tolist() == [5, 0, 7, 4, 6, 1, 2, 3]


def test_another_process_draws_the_same():
    """Python's own hash() of strings differs between processes."""
    code = "from hiermo.data.randomness import order; print(order(1, 'a', n=20).tolist())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == str(order(1, "a", n=20).tolist())


def test_floats_are_no_seeds():
    with pytest.raises(TypeError):
        stream(0.5)  # type: ignore[arg-type]
