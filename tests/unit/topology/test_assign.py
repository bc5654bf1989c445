"""Who goes under which edge."""

from itertools import combinations
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from helpers import trees
from hiermo import Tree, UserError
from hiermo.topology.assign import assign, spread

HOWS = ("given", "similar", "mixed", "random")


def edges(counts, tree, how, seed=0):
    """Label counts of every edge."""
    order = assign(counts, tree, how, seed)
    return np.stack([counts[order][tree.children(1, edge)].sum(0) for edge in range(tree.counts[1])])


def drawn(seed, n, classes=5, alpha=0.5):
    """Parts of unequal sizes and label distributions."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.multinomial(rng.integers(20, 500), rng.dirichlet(np.full(classes, alpha))) for _ in range(n)])


@settings(max_examples=40)
@given(trees(), st.sampled_from(HOWS), st.integers(0, 5), st.data())
def test_it_is_a_permutation(tree, how, seed, data):
    row = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)
    counts = np.array(data.draw(st.lists(row, min_size=tree.n_workers, max_size=tree.n_workers)))
    order = assign(counts, tree, how, seed)
    assert sorted(order.tolist()) == list(range(tree.n_workers))
    assert order.tolist() == assign(counts, tree, how, seed).tolist()
    given, found = spread(counts, tree.parents[0]), spread(counts[order], tree.parents[0])
    if how == "similar":
        assert found >= given
    if how == "mixed":
        assert found <= given


def test_workers_of_one_class_each():
    """Ten workers, two of each of five classes, and two edges: the layout that papers draw."""
    counts = 100 * np.eye(5, dtype=int)[[0, 1, 2, 3, 4, 0, 1, 2, 3, 4]]
    tree = Tree.regular(edges=2, workers_per_edge=5)
    assert edges(counts, tree, "mixed").tolist() == [[100] * 5] * 2
    apart = edges(counts, tree, "similar")
    assert sorted(np.count_nonzero(apart, axis=1)) == [3, 3]  # one class must be under both
    assert (apart > 0).all(0).sum() == 1


@pytest.mark.parametrize("seed", range(5))
def test_similar_finds_the_classes_again(seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(10), 10))
    found = edges(7 * np.eye(10, dtype=int)[labels], Tree.regular(edges=10, workers_per_edge=10), "similar")
    assert (np.count_nonzero(found, axis=1) == 1).all()
    mixed = edges(7 * np.eye(10, dtype=int)[labels], Tree.regular(edges=10, workers_per_edge=10), "mixed")
    assert (mixed == 7).all()


def test_groups_of_unequal_size():
    """Two parts of class 0 and four of class 1 for an edge of four and one of two."""
    tree = Tree.from_groups([[0, 2, 4, 5], [1, 3]])
    counts = 3 * np.eye(2, dtype=int)[[0, 1, 1, 1, 1, 0]]
    assert edges(counts, tree, "similar").tolist() == [[0, 12], [6, 0]]
    assert edges(counts, tree, "mixed").tolist() == [[3, 9], [3, 3]]  # (4, 8) and (2, 4) cannot be


def test_deep_trees_count_their_lowest_groups():
    counts = np.eye(4, dtype=int)[[0, 1, 2, 3] * 2]
    tree = Tree.branching(2, 2, 2)
    assert (np.count_nonzero(edges(counts, tree, "similar"), axis=1) == 1).all()
    assert (np.count_nonzero(edges(counts, tree, "mixed"), axis=1) == 2).all()


@pytest.mark.parametrize("how", ["given", "similar", "mixed"])
def test_what_cannot_be_improved_stays(how):
    alike = np.full((6, 3), 5)
    assert assign(alike, Tree.regular(edges=2, workers_per_edge=3), how).tolist() == list(range(6))
    assert assign(drawn(0, 6), Tree.branching(6), how).tolist() == list(range(6))  # all under the cloud


def test_given_is_as_given():
    assert assign(drawn(0, 6), Tree.regular(edges=3, workers_per_edge=2), "given").tolist() == list(range(6))


def test_random_is_a_function_of_the_seed():
    tree, counts = Tree.regular(edges=4, workers_per_edge=5), drawn(0, 20)
    orders = [assign(counts, tree, "random", seed).tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != list(range(20))
    placed = np.array([assign(counts, tree, "random", seed)[0] for seed in range(400)])
    assert np.bincount(placed, minlength=20).max() < 45  # 20 +- 4.4 each


@pytest.mark.parametrize("how", ["similar", "mixed"])
def test_the_seed_has_no_say_otherwise(how):
    tree, counts = Tree.regular(edges=4, workers_per_edge=5), drawn(1, 20)
    assert assign(counts, tree, how, 0).tolist() == assign(counts, tree, how, 1).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_the_best_of_all_divisions(seed):
    """All 35 ways to put eight workers under two edges."""
    counts, tree = drawn(seed, 8), Tree.regular(edges=2, workers_per_edge=4)
    ways = [np.isin(np.arange(8), (0, *three)).astype(int) for three in combinations(range(1, 8), 3)]
    every = [spread(counts, way) for way in ways]
    for how, best in (("similar", max(every)), ("mixed", min(every))):
        found = spread(counts[assign(counts, tree, how)], tree.parents[0])
        assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("how", "sign"), [("similar", 1), ("mixed", -1)])
def test_no_swap_of_two_makes_it_better(how, sign):
    tree = Tree.regular(edges=3, workers_per_edge=(8, 20, 12))
    counts = drawn(5, 40)
    best, found = counts[assign(counts, tree, how)], tree.parents[0]
    for i, j in combinations(range(40), 2):
        swapped = found.copy()
        swapped[[i, j]] = found[[j, i]]
        assert sign * (spread(best, swapped) - spread(best, found)) <= 1e-6 * spread(best, found)


def test_edges_of_one_size_are_in_the_order_of_their_first_parts():
    tree = Tree.regular(edges=5, workers_per_edge=(2, 3, 3, 2, 3))
    order = assign(drawn(2, 13), tree, "similar")
    assert order.tolist() != list(range(13))
    groups = [order[tree.children(1, edge)].tolist() for edge in range(5)]
    assert groups[0][0] < groups[3][0]
    assert groups[1][0] < groups[2][0] < groups[4][0]
    assert all(group == sorted(group) for group in groups)


@pytest.mark.parametrize("how", ["similar", "mixed"])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_workers_does_not_matter(how, seed):
    """Equal edges: the same workers are together, whoever comes first."""
    counts, tree = drawn(seed, 9), Tree.regular(edges=3, workers_per_edge=3)
    shuffle = np.random.default_rng(seed).permutation(9)

    def together(order):
        return {frozenset(order[3 * edge : 3 * edge + 3].tolist()) for edge in range(3)}

    assert together(assign(counts, tree, how)) == together(shuffle[assign(counts[shuffle], tree, how)])


def test_spread_within_and_between_add_up():
    """What the choice of the objective rests on, with squared distances weighted by data."""
    counts, home = drawn(3, 12), np.repeat(np.arange(3), 4)
    sizes, whole = counts.sum(1), counts.sum(0) / counts.sum()
    shares = counts / sizes[:, None]
    own = np.stack([counts[home == edge].sum(0) / counts[home == edge].sum() for edge in range(3)])[home]

    def weighted(one, other):
        return (sizes * ((one - other) ** 2).sum(1)).sum()

    assert weighted(shares, whole) == pytest.approx(weighted(shares, own) + weighted(own, whole))
    assert spread(counts, home) - counts.sum() * (whole**2).sum() == pytest.approx(weighted(own, whole))


@pytest.mark.parametrize("how", ["similar", "mixed"])
def test_hundreds_of_workers_take_a_moment(how):
    counts, tree = drawn(0, 400, classes=62, alpha=0.3), Tree.regular(edges=20, workers_per_edge=20)
    begin = process_time()
    order = assign(counts, tree, how)
    assert process_time() - begin < 5  # about half a second; other work on the machine is not counted
    better = spread(counts[order], tree.parents[0]) - spread(counts, tree.parents[0])
    assert better > 0 if how == "similar" else better < 0


@pytest.mark.parametrize(
    ("counts", "how", "words"),
    [
        (np.eye(4), "simlar", r"tree\.assign: there is no way 'simlar' to assign data; did you mean 'similar'"),
        (np.eye(3), "mixed", r"tree\.assign: counts must be \[4 workers, classes\], not \[3, 3\]"),
        (np.ones(4), "mixed", r"not \[4\]"),
        (np.diag([1, 1, 1, 0]), "mixed", "every worker must have samples"),
        (np.eye(4) - 0.1, "mixed", "no count may be negative"),
    ],
)
def test_refusals(counts, how, words):
    with pytest.raises(UserError, match=words):
        assign(counts, Tree.branching(2, 2), how)
