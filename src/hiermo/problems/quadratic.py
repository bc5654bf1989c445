"""Quadratic losses with closed-form gradients: the test bench of every algorithm."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from hiermo.core.errors import UserError
from hiermo.core.plan import Nodes


class Quadratic:
    """F_i(x) = x'A_i x / 2 - b_i'x, with deterministic gradients in float64.

    `A` is `[n, d, d]` and symmetric, `b` is `[n, d]`, `sizes` `[n]`. Arrays of Python numbers that are not floats
    (`fractions.Fraction`) are kept as they are, and the per-node engine then computes exactly.

    >>> problem = Quadratic(A=[[[2.0]], [[4.0]]], b=[[2.0], [4.0]], sizes=[1, 3])
    >>> problem.minimiser()
    array([1.])
    """

    def __init__(self, A: Any, b: Any, sizes: Sequence[int], x0: Any = None) -> None:  # noqa: N803 - the paper's letter
        self.A, self.b, self.sizes = _numbers(A), _numbers(b), np.asarray(sizes)
        if (
            self.A.ndim != 3
            or self.b.ndim != 2
            or self.A.shape != (*self.b.shape, self.b.shape[-1])
            or len(self.sizes) != len(self.b)
        ):
            shapes = f"A {self.A.shape}, b {self.b.shape}, sizes {self.sizes.shape}"
            raise UserError(f"Quadratic needs A [n, d, d], b [n, d] and sizes [n], not {shapes}")
        if not (self.sizes > 0).all():
            raise UserError("Quadratic: every size must be positive")
        self.x0 = 0 * self.b[0] if x0 is None else _numbers(x0)
        if self.x0.shape != self.b.shape[1:]:
            raise UserError(f"Quadratic: x0 must be [{self.b.shape[1]}], not {list(self.x0.shape)}")

    def computing(self) -> AbstractContextManager[None]:
        return np.errstate(over="ignore", invalid="ignore")  # the engine says what broke, and where

    def initial(self, seed: int) -> Any:
        return self.x0

    def grad(self, seed: int, t: int, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        return self.full_grad(workers, x)

    def full_grad(self, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        chosen = list(workers)
        return np.matmul(self.A[chosen], x[:, :, None])[:, :, 0] - self.b[chosen]

    def evaluate(self, x: Any, buffers: Any = None) -> dict[str, float]:
        """The weighted loss, without the constant that the minimum would need to be zero."""
        losses = ((self.A @ x) * x).sum(-1) / 2 - (self.b * x).sum(-1)
        return {"loss": float((self.sizes * losses).sum() / self.sizes.sum())}

    def minimiser(self) -> Any:
        """x* of the weighted loss."""
        p, A, b = (self.sizes / self.sizes.sum())[:, None], self.A.astype(float), self.b.astype(float)  # noqa: N806
        return np.linalg.solve((p[:, :, None] * A).sum(0), (p * b).sum(0))


def _numbers(values: Any) -> Any:
    array = np.asarray(values)
    return array if array.dtype == object else array.astype(np.float64)
