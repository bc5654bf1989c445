"""Numbers of heterogeneity, worked out by hand."""

from math import exp, log

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.heterogeneity import Across, heterogeneity

EXACT = 1e-12  # a dozen roundings of numbers around 1


def about(mean, low, high):
    return Across(
        mean=pytest.approx(mean, abs=EXACT), low=pytest.approx(low, abs=EXACT), high=pytest.approx(high, abs=EXACT)
    )


def test_by_hand():
    """Labels of all: (9, 6, 1) / 16. Edge 0: (8, 4, 0) / 12. Edge 1: (1, 2, 1) / 4."""
    counts = np.array([[8, 0, 0], [0, 4, 0], [1, 2, 1]])
    found = heterogeneity(counts, [[0, 1], [2]])
    to_all = [7 / 16, 10 / 16, 5 / 16]
    assert found.worker_to_all == about((8 * to_all[0] + 4 * to_all[1] + 4 * to_all[2]) / 16, 5 / 16, 10 / 16)
    assert found.worker_to_edge == about((8 * 1 / 3 + 4 * 2 / 3 + 0) / 16, 0, 2 / 3)
    edge_to_all = [2 / 3 - 9 / 16, 5 / 16]  # edge 0 has too many of class 0: 32/48 - 27/48, and too few of the others
    assert edge_to_all[0] == pytest.approx(6 / 16 - 1 / 3 + 1 / 16)
    assert found.edge_to_all == about((12 * edge_to_all[0] + 4 * edge_to_all[1]) / 16, edge_to_all[0], 5 / 16)
    varied = exp(0.5 * log(4) + 0.5 * log(2))
    assert found.effective_classes == about((8 * 1 + 4 * 1 + 4 * varied) / 16, 1, varied)
    assert found.largest_to_smallest == 2
    assert found.size_variation == pytest.approx((32 / 9) ** 0.5 / (16 / 3), abs=EXACT)  # 8, 4, 4 around 16/3


def test_all_alike():
    found = heterogeneity(np.full((4, 5), 3), [[0, 1], [2, 3]])
    assert found.worker_to_all == found.worker_to_edge == found.edge_to_all == about(0, 0, 0)
    assert found.effective_classes == about(5, 5, 5)
    assert (found.largest_to_smallest, found.size_variation) == (1, 0)


def test_nothing_in_common_but_under_one_edge():
    found = heterogeneity(np.diag([6, 6, 6, 6]), [[0, 1], [2, 3]])
    assert found.worker_to_all == about(0.75, 0.75, 0.75)
    assert found.worker_to_edge == about(0.5, 0.5, 0.5)
    assert found.edge_to_all == about(0.5, 0.5, 0.5)


def test_groups_that_are_not_side_by_side():
    found = heterogeneity(np.array([[2, 0], [0, 3], [5, 0]]), [[0, 2], [1]])
    assert found.worker_to_edge == about(0, 0, 0)


def test_without_edges():
    found = heterogeneity(np.eye(2, dtype=int))
    assert found.worker_to_edge is found.edge_to_all is None
    assert found.worker_to_all == about(0.5, 0.5, 0.5)


@given(st.lists(st.lists(st.integers(0, 50), min_size=4, max_size=4), min_size=2, max_size=8), st.integers(1, 7))
def test_what_always_holds(rows, cut):
    counts = np.array(rows) + np.eye(4, dtype=int)[np.arange(len(rows)) % 4]  # nobody without samples
    cut = min(cut, len(rows) - 1)
    found = heterogeneity(counts, [list(range(cut)), list(range(cut, len(rows)))])
    for distance in (found.worker_to_all, found.worker_to_edge, found.edge_to_all):
        assert -EXACT <= distance.low <= distance.mean + EXACT
        assert distance.mean <= distance.high + EXACT <= 1 + 2 * EXACT
    # the triangle inequality, averaged by data: an edge's workers are on average no nearer to the whole than the edge
    assert found.edge_to_all.mean <= found.worker_to_all.mean + EXACT
    assert found.worker_to_all.mean <= found.worker_to_edge.mean + found.edge_to_all.mean + EXACT
    assert 1 - EXACT <= found.effective_classes.low <= found.effective_classes.high <= 4 + EXACT


@pytest.mark.parametrize(
    ("counts", "groups", "words"),
    [
        (np.array([[1, 0], [0, 0]]), None, "every worker must hold a sample"),
        (np.array([1, 2]), None, r"must be \[workers, classes\]"),
        (np.zeros((0, 3)), None, r"must be \[workers, classes\]"),
        (np.array([[2, -1]]), None, "counts must be"),
        (np.eye(3), [[0, 1]], "each of the 3 workers exactly once"),
        (np.eye(3), [[0, 1], [1, 2]], "exactly once"),
        (np.eye(3), [[0, 1, 2], []], "non-empty"),
    ],
)
def test_refusals(counts, groups, words):
    with pytest.raises(UserError, match=words):
        heterogeneity(counts, groups)
