"""A rule for the edges, and another for the workers of each."""

from dataclasses import replace
from pathlib import Path
import warnings

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.heterogeneity import heterogeneity
from hiermo.data.partition.classes import Classes
from hiermo.data.partition.dirichlet import Dirichlet
from hiermo.data.partition.iid import Iid
from hiermo.data.partition.natural import Natural
from hiermo.data.partition.sizes import Sizes
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic
from hiermo.data.two_level import two_level

DATA = Synthetic(samples=1000, test_samples=20, features=2, classes=10).load(Path())
OWNED = Synthetic(samples=120, test_samples=40, features=2, classes=4, owners=8).load(Path())
PAIRS = [[0, 1], [2, 3], [4, 5]]


def used(held):
    return np.sort(np.concatenate(held.parts)).tolist()


def test_edges_differ_and_their_workers_are_alike():
    held = two_level(DATA, Classes(per_worker=5), Iid(), [[0, 1, 2], [3, 4, 5]])
    counts = held.counts()
    one, other = (set(np.flatnonzero(counts[group].sum(0))) for group in ([0, 1, 2], [3, 4, 5]))
    assert len(one) == len(other) == 5
    assert not one & other
    found = heterogeneity(counts, [[0, 1, 2], [3, 4, 5]])
    assert found.edge_to_all.mean == 0.5
    assert found.worker_to_edge.mean < 0.1  # 167 samples of 5 classes: chance
    assert max(held.sizes) - min(held.sizes) <= 1
    assert used(held) == list(range(1000))


def test_edges_are_alike_and_their_workers_differ():
    held = two_level(DATA, Iid(), Classes(per_worker=5), [[0, 1], [2, 3]])
    found = heterogeneity(held.counts(), [[0, 1], [2, 3]])
    assert found.edge_to_all.mean < 0.1
    assert found.worker_to_edge.low > 0.4
    assert (np.count_nonzero(held.counts(), axis=1) == 5).all()
    assert used(held) == list(range(1000))


def test_groups_need_not_be_side_by_side():
    counts = two_level(DATA, Classes(per_worker=5), Iid(), [[0, 3], [2, 1]]).counts() > 0
    assert (counts[0] == counts[3]).all()
    assert (counts[1] == counts[2]).all()
    assert not (counts[0] & counts[1]).any()


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(0, 2**32))
def test_iid_shares_are_as_large_as_edges_have_workers(workers, seed):
    ends = np.cumsum(workers).tolist()
    groups = [list(range(end - n, end)) for end, n in zip(ends, workers, strict=True)]
    held = two_level(DATA, Iid(), Iid(), groups, seed)
    assert max(held.sizes) - min(held.sizes) <= 1
    assert used(held) == list(range(1000))


def test_a_seed_says_it_all_and_edges_differ_under_it():
    rules = Iid(), Dirichlet(alpha=0.3)
    one, again, other = (two_level(DATA, *rules, PAIRS, seed).counts() for seed in (3, 3, 4))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    shares = one[[0, 2, 4]] / (one[[0, 2, 4]] + one[[1, 3, 5]])  # of the first worker of every edge, by class
    assert np.abs(shares[0] - shares[1]).max() > 0.3
    assert np.abs(shares[1] - shares[2]).max() > 0.3


@pytest.mark.parametrize("rule", [Classes(per_worker=1), Classes(per_worker=2), Dirichlet(alpha=0.3), Iid()], ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_rules_cope_with_the_classes_that_an_edge_lacks(rule, seed):
    """An edge has 2 of 10 classes, whichever; a rule that deals out all ten would leave workers with nothing."""
    edges = [[2 * k, 2 * k + 1] for k in range(5)]
    held = two_level(DATA, Classes(per_worker=2), rule, edges, seed)
    assert used(held) == list(range(1000))
    if isinstance(rule, Classes):
        assert (np.count_nonzero(held.counts(), axis=1) == rule.per_worker).all()


def test_owners_stay_under_their_edge_and_worker():
    held = two_level(OWNED, Natural(), Natural(), [[0, 1], [2, 3, 4]])
    assert [np.unique(OWNED.owners[part]).tolist() for part in held.parts] == [[0, 1], [2, 3], [4, 5], [6], [7]]
    assert [np.unique(OWNED.test_owners[part]).tolist() for part in held.test_parts] == [
        [0, 1], [2, 3], [4, 5], [6], [7]
    ]  # fmt: skip


def test_owners_that_are_mixed_at_the_workers_have_no_own_tests():
    held = two_level(OWNED, Natural(), Iid(), [[0, 1], [2, 3]])
    assert [np.unique(OWNED.owners[part]).tolist() for part in held.parts] == [[0, 1, 2, 3]] * 2 + [[4, 5, 6, 7]] * 2
    assert held.test_parts is None
    assert two_level(OWNED, Iid(), Natural(), [[0, 1], [2, 3]]).test_parts is None  # an owner is at two edges


def test_sizes_of_edges():
    held = two_level(DATA, Sizes(sizes=(300, 100)), Iid(), [[0, 1], [2, 3]])
    assert held.sizes == (150, 150, 50, 50)


def test_classes_that_nobody_holds_are_named_with_their_own_numbers():
    with pytest.warns(UserWarning, match="these samples are not used in training") as said:
        held = two_level(DATA, Classes(per_worker=4), Classes(per_worker=1, cover=False), [[0], [1], [2]], seed=1)
    (warning,) = said
    for edge, mine in enumerate(held.parts):
        edges = partition(DATA, Classes(per_worker=4), 3, seed=1).parts[edge]
        lost = sorted(set(DATA.train_y[edges]) - set(DATA.train_y[mine]))
        assert len(lost) == 3
        assert f"no worker of edge {edge} holds class {', '.join(map(str, lost))}" in str(warning.message)


def test_classes_that_no_edge_holds_are_named():
    with pytest.warns(UserWarning, match=r"^no edge holds class (\d, ){5}\d: these samples") as said:
        two_level(DATA, Classes(per_worker=2, cover=False), Iid(), [[0], [1]], seed=1)
    assert len(said) == 1


class Talking(Iid):
    def split(self, labels, n_workers, seed):
        warnings.warn("mine", stacklevel=2)
        return super().split(labels, n_workers, seed)


def test_other_warnings_are_heard():
    with pytest.warns(UserWarning, match="mine"):
        two_level(DATA, Iid(), Talking(), PAIRS)


def test_one_edge_divides_nothing():
    with pytest.warns(UserWarning, match=r"data\.edges divides nothing: all workers are under one node"):
        held = two_level(DATA, Dirichlet(alpha=0.1), Iid(), [[0, 1, 2]])
    assert held.sizes == (334, 333, 333)


@pytest.mark.parametrize(
    ("edges", "workers", "groups", "words"),
    [
        (
            Classes(per_worker=2), Iid(), PAIRS,
            r"^data\.edges\.per_worker = 2: 3 edges with 2 classes each cannot hold all 10 classes; set it to 4",
        ),
        (
            Iid(), Classes(per_worker=4), PAIRS,
            r"^the share of edge 0: data\.partition\.per_worker = 4: 2 workers with 4 classes",
        ),
        (Sizes(sizes=(500, 400)), Iid(), PAIRS, r"^data\.edges\.sizes has 2 entries for 3 edges; give one each"),
        (Sizes(sizes=(5, 1, 9)), Iid(), PAIRS, "^data.edges gives edge 1 1 samples for its 2 workers; use fewer"),
        (Natural(), Iid(), PAIRS, "natural needs to know whose"),
        (Iid(), Natural(), PAIRS, "natural needs to know whose"),
        (Iid, Iid(), PAIRS, r"write Iid\(...\)"),
        (Iid(), Dirichlet(alpha=-1.0), PAIRS, "Dirichlet: alpha must be"),
        (Iid(), Iid(), [[0, 1], [1, 2]], "hold each worker 0, 1, 2, ... exactly once"),
        (Iid(), Iid(), [[0, 1], []], "non-empty"),
        (Iid(), Iid(), [], "non-empty"),
        (Iid(), Iid(), [list(range(1000)), [1000]], "1001 workers cannot share 1000 training samples"),
    ],
)  # fmt: skip
def test_refusals(edges, workers, groups, words):
    with pytest.raises(UserError, match=words):
        two_level(DATA, edges, workers, groups)


class Given:
    def __init__(self, *parts):
        self.parts = parts

    def split(self, labels, n_workers, seed):
        return self.parts


@pytest.mark.parametrize(
    ("edges", "workers", "words"),
    [
        (Given([0], []), Iid(), r"^data\.edges: partition Given among 2 edges: edge 1 gets no sample"),
        (Given([0, 1], [1]), Iid(), r"^data\.edges: .*sample 1 is used 2 times"),
        (Iid(), Given([0, 1], []), "^the share of edge 0: partition Given among 2 workers: worker 2 gets no sample"),
        (Iid(), Given([0], [500]), r"worker 2 gets an index outside 0\.\.499"),
    ],
)
def test_what_is_no_division_is_refused(edges, workers, words):
    with pytest.raises(UserError, match=words):
        two_level(DATA, edges, workers, [[0, 2], [1, 3]])


def test_more_workers_under_an_edge_than_owners():
    with pytest.raises(UserError, match=r"^the share of edge 1: .* natural has 4 owners of samples for 5 workers"):
        two_level(OWNED, Natural(), Natural(), [[0, 1], [2, 3, 4, 5, 6]])


def test_a_wrong_data_set_is_refused():
    with pytest.raises(UserError, match="labels must be in"):
        two_level(replace(DATA, classes=3), Iid(), Iid(), PAIRS)
