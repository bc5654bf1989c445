"""Random trees and quadratic losses, and comparisons, for the tests."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
import numpy as np

import hiermo

ENGINES = ("stacked", "pernode")

# A run of some hundred additions and products of float64 (1.1e-16 each) on a contracting problem: rounding adds up to
# about 1e-14 of the size of the model, and a wrong weight or a missed merge shows at 1e-3.
ROUNDING = 1e-12


@st.composite
def trees(draw: Any, tiers: st.SearchStrategy[int] = st.integers(2, 4)) -> hiermo.Tree:  # noqa: B008 - immutable
    """Trees with one to three children per node, siblings not necessarily side by side."""
    parents: list[list[int]] = []
    n = 1
    for _ in range(draw(tiers) - 1):
        children = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
        parents.insert(0, draw(st.permutations(np.repeat(np.arange(n), children).tolist())))
        n = len(parents[0])
    return hiermo.Tree(*parents)


def quadratic(n: int, d: int = 3, seed: int = 0, sizes: Sequence[int] | None = None) -> hiermo.Quadratic:
    """Heterogeneous losses with curvatures from 0.5 to 2 and unequal data, not started at the minimum."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
    A = turn * rng.uniform(0.5, 2.0, size=(n, 1, d)) @ turn.transpose(0, 2, 1)
    some = rng.integers(1, 20, size=n) if sizes is None else sizes
    return hiermo.Quadratic(A=A, b=rng.normal(size=(n, d)), sizes=some, x0=rng.normal(size=d))


def models(states: Iterable[hiermo.State]) -> Any:
    """The cloud models of a run, `[rounds, d]`."""
    return np.array([state.model for state in states])


def difference(a: Any, b: Any) -> float:
    """Largest difference, relative to the size of what is compared."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert a.shape == b.shape and a.size
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


def fields(state: hiermo.State) -> dict[str, Any]:
    """Every array of a state, by name."""
    records = {f"tier {k}": record for k, record in enumerate(state.tiers)} | {"down": state.down}
    arrays = {f"{place} {name}": v for place, record in records.items() for name, v in record._asdict().items()}
    return arrays | {f"buffers {k}": v for k, v in enumerate(state.buffers or ())}


def assert_same_bits(a: hiermo.State, b: hiermo.State) -> None:
    """Two states that no later iteration could tell apart."""
    place = ("t", "rounds", "position", "start", "periods", "seed")
    assert [getattr(a, name) for name in place] == [getattr(b, name) for name in place]
    left, right = fields(a), fields(b)
    assert left.keys() == right.keys()
    for name in left:
        assert np.array_equal(np.asarray(left[name]), np.asarray(right[name])), f"{name} at t = {a.t}"


def hiermo_by_hand(
    problem: hiermo.Quadratic,
    groups: Sequence[Sequence[int]],
    *,
    eta: Callable[[int], float],
    gamma: float,
    gamma_a: float,
    edges_at: Sequence[int],
    cloud_at: Sequence[int],
) -> Any:
    """HierMo's velocity form as a plain loop over workers and edges; the cloud models `[rounds, d]`."""
    D, n = problem.sizes, len(problem.sizes)
    x, v = [problem.x0] * n, [0 * problem.x0] * n
    y_edge, found = [problem.x0] * len(groups), []
    for t in range(1, cloud_at[-1] + 1):
        for i in range(n):
            g = problem.A[i] @ x[i] - problem.b[i]
            v[i] = gamma * v[i] - eta(t) * g
            x[i] = x[i] + gamma * v[i] - eta(t) * g
        if t in edges_at:
            for edge, group in enumerate(groups):
                total = sum(D[i] for i in group)
                v_edge = sum(D[i] / total * v[i] for i in group)
                mean = sum(D[i] / total * x[i] for i in group)
                x_edge = mean + gamma_a * (mean - y_edge[edge])
                y_edge[edge] = mean
                for i in group:
                    x[i], v[i] = x_edge, v_edge
        if t in cloud_at:  # workers hold their edge's values, so their data weights are the edges'
            x = [sum(D[i] * x[i] for i in range(n)) / sum(D)] * n
            v = [sum(D[i] * v[i] for i in range(n)) / sum(D)] * n
            found.append(x[0])
    return np.array(found)
