"""Which worker of the tree gets which part of the data: workers alike under one edge, or every edge a cross-section.

With C_l the label counts and D_l the data of edge l, J = sum of |C_l|^2 / D_l is, up to a constant, the spread of the
edges' label distributions around that of all data, weighted by data. The spread of all workers around the whole is that
of edges around the whole plus that of workers around their edge, and the sum does not depend on who goes where: with
the largest J edges are as different, and workers under one edge as alike, as can be; with the smallest the reverse.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion
from hiermo.topology.tree import Index, Tree

How = Literal["given", "similar", "mixed", "random"]
Counts = NDArray[np.float64]  # [workers, classes]
NOTHING = 1e-9  # of J: less is rounding, and swaps for it could go round in circles
STARTS, STARTED = 40, 600  # most random starts, and most of them times workers: they make small trees exact


def assign(counts: NDArray[Any], tree: Tree, how: str, seed: int = 0) -> Index:
    """An order of the parts with label counts `[n_workers, classes]`: worker i of the tree gets part `order[i]`.

    `given` leaves them as they are, `similar` puts parts that are alike under one edge, `mixed` makes each edge a
    cross-section of the whole, `random` shuffles by the seed. What is above the edges has no say.

    >>> one_class_each = np.eye(4, dtype=int)[[0, 1, 0, 1]]
    >>> tree = Tree.regular(edges=2, workers_per_edge=2)
    >>> assign(one_class_each, tree, "similar").tolist()
    [0, 2, 1, 3]
    >>> assign(one_class_each, tree, "mixed").tolist()
    [0, 1, 2, 3]
    """
    counts = np.asarray(counts, float)
    _check(counts, tree, how)
    given = np.arange(tree.n_workers)
    if how == "given":
        return given
    if how == "random":
        return _shuffled(seed, given.size)
    sign = 1.0 if how == "similar" else -1.0
    before = tree.parents[0]
    starts = [(_alike if how == "similar" else _crossed)(counts, tree)]
    starts += [before[_shuffled(k, before.size)] for k in range(min(STARTS, STARTED // before.size))]
    ends = [_swapped(counts, start, tree.counts[1], sign) for start in starts]
    after = max(ends, key=lambda edges: sign * spread(counts, edges))
    if sign * (spread(counts, after) - spread(counts, before)) <= NOTHING * spread(counts, before):
        return given
    order = np.empty_like(given)
    for edge, home in enumerate(_homes(after, tree)):
        order[tree.children(1, home)] = np.flatnonzero(after == edge)
    return order


def _shuffled(seed: int, n: int) -> Index:
    """A permutation; raw draws are the same in all versions of numpy, and the word keeps them from other streams."""
    path = np.random.SeedSequence([seed, *b"assign"])
    return np.argsort(np.asarray(np.random.Philox(path).random_raw(n)), kind="stable")


def spread(counts: NDArray[Any], edges: NDArray[Any]) -> float:
    """J of the parts with `counts` under `edges`; only differences of it say something."""
    total = np.zeros((edges.max() + 1, counts.shape[1]))
    np.add.at(total, edges, counts)
    return float(((total**2).sum(1) / total.sum(1)).sum())


def _check(counts: Counts, tree: Tree, how: str) -> None:
    if how not in get_args(How):
        raise UserError(f"tree.assign: there is no way '{how}' to assign data{suggestion(how, get_args(How))}")
    if counts.ndim != 2 or len(counts) != tree.n_workers:
        raise UserError(f"tree.assign: counts must be [{tree.n_workers} workers, classes], not {list(counts.shape)}")
    if (counts < 0).any() or (counts.sum(1) <= 0).any():
        raise UserError("tree.assign: every worker must have samples, and no count may be negative")


def _alike(counts: Counts, tree: Tree) -> Index:
    """A start for `similar`: each edge begins with the part that is oddest among those left, and takes its nearest."""
    shares = counts / counts.sum(1, keepdims=True)
    free = np.bincount(tree.parents[0])
    edges = np.full(len(counts), -1)
    for edge in np.argsort(-free, kind="stable"):
        left = np.flatnonzero(edges < 0)
        middle = counts[left].sum(0) / counts[left].sum()
        chosen = [left[np.argmax(((shares[left] - middle) ** 2).sum(1))]]
        edges[chosen] = edge
        while len(chosen) < free[edge]:
            left = left[edges[left] < 0]
            middle = counts[chosen].sum(0) / counts[chosen].sum()
            chosen.append(left[np.argmin(((shares[left] - middle) ** 2).sum(1))])
            edges[chosen[-1]] = edge
    return edges


def _crossed(counts: Counts, tree: Tree) -> Index:
    """A start for `mixed`: part by part, the largest first, to the edge whose lacks it fills best."""
    off = counts - counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()  # what a part has too much of
    room = np.bincount(tree.parents[0])
    excess, free = np.zeros((room.size, counts.shape[1])), room.copy()
    edges = np.empty(len(counts), np.intp)
    for part in np.argsort(-(off**2).sum(1), kind="stable"):
        cost = np.where(free > 0, excess @ off[part], np.inf)
        edge = np.lexsort((-free / room, cost))[0]  # among equals the emptiest
        edges[part] = edge
        excess[edge] += off[part]
        free[edge] -= 1
    return edges


def _swapped(counts: Counts, start: Index, n_edges: int, sign: float) -> Index:
    """The edges of the parts after swaps of two parts, each the best for one of them, until none makes J better.

    Everything that a swap changes is a product of two rows of counts, so that the number of classes does not matter.
    """
    edges, sizes, products = start.copy(), counts.sum(1), counts @ counts.T
    member = np.eye(n_edges)[edges]
    with_edge, data = products @ member, sizes @ member  # C_i . C_l and D_l
    square = np.einsum("il,il->l", with_edge, member)  # |C_l|^2
    squares, least = np.diag(products).copy(), NOTHING * (square / data).sum()
    quiet = 0
    while quiet < len(edges):
        for i in range(len(edges)):
            a, b = edges[i], edges
            step = with_edge - with_edge[i]  # (C_j - C_i) . C_l
            apart = squares + squares[i] - 2 * products[i]
            at_a = (square[a] + 2 * step[:, a] + apart) / (data[a] + sizes - sizes[i])
            at_b = (square[b] - 2 * step[np.arange(len(b)), b] + apart) / (data[b] - sizes + sizes[i])
            gain = sign * (at_a + at_b - square[a] / data[a] - square[b] / data[b])
            gain[b == a] = 0
            j = int(gain.argmax())
            quiet += 1
            if gain[j] > least:
                quiet, b = 0, edges[j]
                for edge, out, into in ((a, i, j), (b, j, i)):
                    square[edge] += 2 * (with_edge[into, edge] - with_edge[out, edge]) + apart[j]
                    data[edge] += sizes[into] - sizes[out]
                    with_edge[:, edge] += products[:, into] - products[:, out]
                edges[i], edges[j] = b, a
    return edges


def _homes(edges: Index, tree: Tree) -> Sequence[int]:
    """For each group of parts the edge that it goes to: groups of one size in the order of their first parts."""
    room = np.bincount(tree.parents[0])
    homes = np.arange(room.size)
    first = np.array([np.flatnonzero(edges == edge)[0] for edge in homes])
    for size in np.unique(room):
        same = np.flatnonzero(room == size)
        homes[same[np.argsort(first[same])]] = same
    return homes.tolist()
