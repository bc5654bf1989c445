import pickle

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from helpers import trees
from hiermo import Tree, UserError

UNEQUAL = Tree.from_groups([[0, 3], [1], [2, 4, 5]])
DEEP = Tree.from_parents((0, 0, 1, 1, 2), (0, 0, 1), (0, 0))


def parents(tree):
    return [tier.tolist() for tier in tree.parents]


def test_regular():
    tree = Tree.regular(edges=2, workers_per_edge=3)
    assert parents(tree) == [[0, 0, 0, 1, 1, 1], [0, 0]]
    assert (tree.counts, tree.tiers, tree.n_workers) == ((6, 2, 1), 3, 6)


def test_regular_with_a_number_of_workers_for_each_edge():
    assert parents(Tree.regular(edges=3, workers_per_edge=[1, 3, 2])) == [[0, 1, 1, 1, 2, 2], [0, 0, 0]]


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        ((3,), [[0, 0, 0]]),
        ((2, 2), [[0, 0, 1, 1], [0, 0]]),
        ((2, 1, 3), [[0, 0, 0, 1, 1, 1], [0, 1], [0, 0]]),
    ],
)
def test_branching_counts_from_the_cloud_downwards(children, expected):
    assert parents(Tree.branching(*children)) == expected


def test_from_groups_whose_members_are_not_side_by_side():
    assert parents(UNEQUAL) == [[0, 1, 2, 0, 2, 2], [0, 0, 0]]


def test_from_parents():
    assert parents(DEEP) == [[0, 0, 1, 1, 2], [0, 0, 1], [0, 0]]
    assert DEEP.counts == (5, 3, 2, 1)


def test_flatten_keeps_the_workers():
    assert parents(DEEP.flatten()) == [[0, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("tier", "nodes", "expected"), [(1, 1, [2, 3]), (1, [0, 2], [0, 1, 4]), (2, [0], [0, 1]), (3, 0, [0, 1])]
)
def test_children(tier, nodes, expected):
    assert DEEP.children(tier, nodes).tolist() == expected


def test_children_that_are_not_side_by_side():
    assert UNEQUAL.children(1, 0).tolist() == [0, 3]


def test_sizes_add_up_tier_by_tier():
    assert [tier.tolist() for tier in DEEP.sizes([1, 2, 3, 4, 5])] == [[1, 2, 3, 4, 5], [3, 7, 5], [10, 5], [15]]


def test_weights_are_shares_of_the_parents_data():
    workers, edges = UNEQUAL.weights([1, 5, 2, 3, 1, 1])
    assert workers.tolist() == [0.25, 1.0, 0.5, 0.75, 0.25, 0.25]
    assert edges.tolist() == [4 / 13, 5 / 13, 4 / 13]


@given(trees(), st.data())
def test_weights_sum_to_one_under_every_parent(tree, data):
    sizes = data.draw(st.lists(st.integers(1, 1000), min_size=tree.n_workers, max_size=tree.n_workers))
    for k, shares in enumerate(tree.weights(sizes), start=1):
        totals = [shares[tree.children(k, node)].sum() for node in range(tree.counts[k])]
        assert np.allclose(totals, 1, rtol=0, atol=1e-15 * tree.n_workers)  # one rounding per child


@given(trees())
def test_every_node_is_a_child_of_its_parent_alone(tree):
    for k in range(1, tree.tiers):
        for node in range(tree.counts[k]):
            assert (tree.parents[k - 1][tree.children(k, node)] == node).all()
        assert tree.children(k, range(tree.counts[k])).tolist() == list(range(tree.counts[k - 1]))


def test_equal_trees_are_equal_however_they_were_made():
    same = [
        Tree.regular(edges=2, workers_per_edge=2),
        Tree.branching(2, 2),
        Tree.from_groups([[0, 1], [2, 3]]),
        Tree(np.array([0, 0, 1, 1]), [0, 0]),
    ]
    assert len(set(same)) == 1
    assert pickle.loads(pickle.dumps(same[0])) == same[0]  # noqa: S301 - our own bytes


def test_trees_with_other_parents_differ():
    assert Tree.from_groups([[0, 1], [2, 3]]) != Tree.from_groups([[0, 2], [1, 3]])
    assert Tree.branching(4) != Tree.branching(1, 4)
    assert Tree.branching(4) != "tree"


def test_parents_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        UNEQUAL.parents[0][0] = 1


def test_parents_are_copied():
    mine = np.array([0, 0, 0])
    tree = Tree(mine)
    mine[0] = 5
    assert tree.parents[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("tree", "shown"),
    [
        (Tree.branching(4), "Tree(4 workers, cloud)"),
        (UNEQUAL, "Tree(6 workers, 3 edges, cloud)"),
        (DEEP, "Tree(5 workers, 3 edges, 2 nodes, cloud)"),
    ],
)
def test_repr(tree, shown):
    assert repr(tree) == shown


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Tree, "at least one worker"),
        (lambda: Tree([]), "non-empty lists of whole numbers"),
        (lambda: Tree([0.0, 0.0]), "whole numbers"),
        (lambda: Tree([[0, 0]]), "one list per tier"),
        (lambda: Tree([0, 1]), r"tier 0 must name as parents exactly the cloud, node 0, not \[0, 1\]"),
        (lambda: Tree([0, 2], [0, 0]), r"tier 0 must name as parents exactly the nodes 0 to 1, not \[0, 2\]"),
        (lambda: Tree([0, 0], [0, 0]), r"tier 0 must name as parents exactly the nodes 0 to 1, not \[0\]"),
        (lambda: Tree([0, -1]), "tier 0 must name as parents"),
        (lambda: Tree.regular(edges=0, workers_per_edge=2), "at least one edge"),
        (lambda: Tree.regular(edges=2, workers_per_edge=0), "one worker per edge"),
        (lambda: Tree.regular(edges=2, workers_per_edge=[1, 2, 3]), "2 edges with"),
        (Tree.branching, "at least one child"),
        (lambda: Tree.branching(2, 0), "at least one child"),
        (lambda: Tree.from_groups([]), "non-empty"),
        (lambda: Tree.from_groups([[0], []]), "non-empty"),
        (lambda: Tree.from_groups([[0, 1], [1]]), "exactly once"),
        (lambda: Tree.from_groups([[0, 1], [3]]), "exactly once"),
        (lambda: UNEQUAL.sizes([1, 2]), "2 sizes of data for 6 workers"),
    ],
)
def test_refusals(make, said):
    with pytest.raises(UserError, match=said):
        make()


def test_groups_are_the_workers_of_each_edge():
    groups = [[0, 2], [1, 3, 4]]
    assert Tree.from_groups(groups).groups == groups
    assert Tree.branching(3).groups == [[0, 1, 2]]
