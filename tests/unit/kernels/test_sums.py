"""Weighted sums of rows: added in double precision in the order that is given, rounded once."""

from bits import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
import torch

from hiermo.engine.families import Families
from hiermo.engine.stacked import COLUMNS, Stacked
from hiermo.kernels import sums

DTYPES = [torch.float32, torch.float64]
COUNTS = [1, 15, 16, 17, 1023, 1024, 1025, 5000]
EDGE = 7.0  # around where results are to be


def added(rows, children, shares):
    """One sum, in a plain loop."""
    total = None
    for child, share in zip(children, shares, strict=True):
        part = rows[int(child)].numpy().astype(np.float64) * share
        total = part if total is None else total + part
    return torch.from_numpy(total).to(rows.dtype)


def plan(*families):
    """Each of them children and shares."""
    children, shares = zip(*families, strict=True)
    ends = np.cumsum([0, *map(len, children)], dtype=np.int64)
    return sums.Plan(np.concatenate(children).astype(np.int64), np.concatenate(shares).astype(np.float64), ends)


def weighted(rows, *families, which=None, columns=None):
    """What the kernel makes; it must write nowhere else."""
    n, d = len(families), rows.shape[1]
    which = range(n) if which is None else which
    columns = slice(0, d) if columns is None else columns
    room = torch.full((n + 2, d + 2), EDGE, dtype=rows.dtype)
    inside = room[1:-1, 1:-1]
    sums.weighted_sums(rows, plan(*families), which, columns, inside)
    found = inside[which.start : which.stop, columns].clone()
    inside[which.start : which.stop, columns] = EDGE
    assert bool((room == EDGE).all())
    return found


def family(count, n_rows, seed=0):
    """Some children in some order, with shares that are no short numbers in binary."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 1000, count)
    return rng.permutation(n_rows)[:count], sizes / sizes.sum()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("columns", COUNTS)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_sum_is_a_plain_loop_to_the_last_bit(columns, count, dtype):
    rows = torch.randn(9, columns, dtype=dtype)
    before, own = rows.clone(), family(count, len(rows))
    (found,) = weighted(rows, own)
    assert same_bits(found, added(rows, *own))
    assert torch.equal(rows, before)


@pytest.mark.parametrize("columns", [slice(0, 1), slice(3, 20), slice(1000, 2060), slice(0, 2100)])
@pytest.mark.parametrize("which", [range(0, 4), range(1, 3), range(3, 4), range(2, 2)])
def test_some_of_the_sums_and_some_of_the_columns(which, columns):
    rows = torch.randn(9, 2100)
    families = [family(count, len(rows), seed=count) for count in (3, 1, 9, 4)]
    found = weighted(rows, *families, which=which, columns=columns)
    assert len(found) == len(which)
    for parent, one in zip(which, found, strict=True):
        assert same_bits(one, added(rows, *families[parent])[columns])


def beginning_in_the_middle(rows):
    return torch.cat([rows] * 5, 1)[:, 3 : 3 + rows.shape[1]]


def every_other(rows):
    return torch.cat([rows, rows])[::2]


def one_row_many_times(rows):
    return rows[:1].expand(len(rows), -1)


def overlapping(rows):
    return torch.randn(rows.shape[1] + len(rows), dtype=rows.dtype).as_strided(rows.shape, (1, 1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("columns", [1, 17, 1025])
@pytest.mark.parametrize("view", [beginning_in_the_middle, every_other, one_row_many_times, overlapping])
def test_rows_that_are_views(view, columns, dtype):
    rows = view(torch.randn(6, columns, dtype=dtype))
    assert sums.fits(rows)
    families = [family(5, 6), family(2, 6, seed=1)]
    for one, own in zip(weighted(rows, *families), families, strict=True):
        assert same_bits(one, added(rows, *own))


@settings(max_examples=50)
@given(st.data())
def test_any_numbers_in_any_order(data):
    """Also children twice, shares that are not a mean's, and numbers of all sizes."""
    width, dtype = data.draw(st.sampled_from([(32, torch.float32), (64, torch.float64)]))
    row = st.lists(st.floats(width=width), min_size=18, max_size=18)  # a vector and some more
    rows = torch.tensor([data.draw(row) for _ in range(3)], dtype=dtype)
    children = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=5))
    shares = [data.draw(st.floats(0, 1)) for _ in children]
    (found,) = weighted(rows, (children, shares))
    with np.errstate(all="ignore"):
        assert same_bits(found, added(rows, children, shares))


def test_the_order_of_children_is_the_order_of_additions():
    rows = torch.tensor([[1e17], [1.0], [-1e17]], dtype=torch.float64)
    found = weighted(rows, ([0, 1, 2], [1, 1, 1]), ([0, 2, 1], [1, 1, 1]))
    assert found.tolist() == [[0.0], [1.0]]  # 1e17 + 1 is 1e17


def test_single_numbers_are_added_in_double_precision():
    rows = torch.tensor([[2.0**24], [1.0], [1.0]])
    assert weighted(rows, ([0, 1, 2], [1, 1, 1])).item() == 2**24 + 2  # 2^24 + 1 is no single number


def test_a_share_is_a_double_number():
    share = 1 + 2.0**-30
    rows = torch.tensor([[2.0**30]])
    assert weighted(rows, ([0, 0], [share, -1])).item() == 1.0


@pytest.mark.parametrize(
    ("rows", "fits"),
    [
        (torch.zeros(3, 4), True),
        (torch.zeros(3, 4, dtype=torch.float64), True),
        (torch.zeros(6, 8)[::2, 1:5], True),
        (torch.zeros(4, 3).t(), False),
        (torch.zeros(3, 8)[:, ::2], False),
        (torch.zeros(3, 4, dtype=torch.float16), False),
        (torch.zeros(3, 4, dtype=torch.int64), False),
        (torch.zeros(3, 4, device="meta"), False),
        (np.zeros((3, 4)), False),
    ],
)
def test_which_rows_fit(rows, fits):
    assert sums.fits(rows) == fits


def laid_out_by_columns(rows):
    return rows.t().contiguous().t()  # does not fit: torch adds it up


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", [torch.clone, laid_out_by_columns])
@pytest.mark.parametrize("columns", [5, COLUMNS + 9])  # in one task, in several
def test_the_engine_averages_families_likewise(columns, layout, dtype):
    sizes = np.array([3, 1, 4, 1, 5, 9])
    rows = torch.randn(6, columns, dtype=dtype)
    found = Stacked().average(layout(rows), Families(sizes, np.array([1, 0, 1, 1, 0, 1]), 2))
    for one, children in zip(found, ([1, 4], [0, 2, 3, 5]), strict=True):
        assert same_bits(one, added(rows, children, sizes[children] / sizes[children].sum()))


def test_bits_do_not_depend_on_who_does_what():
    """Many parents, so that there are several groups of them, in any order."""
    counts = []

    def backwards(tasks):
        counts.append(len(tasks))
        for task in tasks[::-1]:
            task()

    n = 600
    families = Families(np.arange(1, n + 1), np.arange(n) % (n // 2), n // 2)
    rows = torch.randn(n, 8000)
    assert same_bits(Stacked(backwards).average(rows, families), Stacked().average(rows, families))
    assert counts[0] > 1
