from fractions import Fraction

import numpy as np
import pytest

from helpers import quadratic
from hiermo import Quadratic, UserError
from hiermo.core.problem import initial_buffers

PROBLEM = quadratic(n=4, d=3)


def loss(problem, worker, x):
    return x @ problem.A[worker] @ x / 2 - problem.b[worker] @ x


def test_gradient_is_the_slope_of_the_loss():
    x, h = np.array([0.3, -1.0, 2.0]), 1e-5
    for worker in range(4):
        found = PROBLEM.full_grad([worker], x[None])[0]
        slopes = [(loss(PROBLEM, worker, x + e) - loss(PROBLEM, worker, x - e)) / (2 * h) for e in h * np.eye(3)]
        # a central difference of a quadratic has no error but rounding, 1e-16 / h
        assert np.allclose(found, slopes, rtol=0, atol=1e-9)


def test_each_worker_has_its_own_gradient_in_the_order_asked_for():
    x = np.arange(6.0).reshape(2, 3)
    both = PROBLEM.grad(0, 1, np.array([3, 1]), x)
    alone = [PROBLEM.grad(0, 1, [3], x[:1])[0], PROBLEM.grad(0, 1, [1], x[1:])[0]]
    assert np.array_equal(both, alone)
    assert not np.array_equal(both, PROBLEM.grad(0, 1, [1, 3], x))


def test_the_weighted_gradient_vanishes_at_the_minimiser():
    x = PROBLEM.minimiser()
    gradients = PROBLEM.full_grad(range(4), np.tile(x, (4, 1)))
    assert np.abs(PROBLEM.sizes @ gradients / PROBLEM.sizes.sum()).max() < 1e-14  # a solve of size 3 in float64


def test_no_model_has_a_smaller_loss_than_the_minimiser():
    x = PROBLEM.minimiser()
    near = [x + 0.01 * e for e in (*np.eye(3), *-np.eye(3))]
    assert all(PROBLEM.evaluate(x)["loss"] < PROBLEM.evaluate(other)["loss"] for other in near)


def test_evaluate_weighs_losses_with_data():
    problem = Quadratic(A=[[[2.0]], [[4.0]]], b=[[2.0], [4.0]], sizes=[1, 3])
    assert problem.evaluate(np.array([2.0])) == {"loss": (1 * (4 - 4) + 3 * (8 - 8)) / 4}
    assert problem.evaluate(np.array([1.0])) == {"loss": (1 * (1 - 2) + 3 * (2 - 4)) / 4}


def test_starts_at_zero_unless_told_otherwise():
    assert Quadratic(A=np.ones((1, 2, 2)), b=[[1.0, 2.0]], sizes=[1]).initial(seed=5).tolist() == [0.0, 0.0]
    assert Quadratic(A=np.ones((1, 2, 2)), b=[[1.0, 2.0]], sizes=[1], x0=[3, 4]).initial(seed=5).tolist() == [3.0, 4.0]


def test_whole_numbers_become_float64():
    problem = Quadratic(A=[[[2]]], b=[[1]], sizes=[1], x0=[3])
    assert {problem.A.dtype, problem.b.dtype, problem.x0.dtype} == {np.dtype(np.float64)}


def test_rationals_are_kept_exact():
    third = Fraction(1, 3)
    problem = Quadratic(A=[[[third, 0], [0, third]]], b=[[third, Fraction(1, 7)]], sizes=[1])
    x0 = problem.initial(0)
    assert [type(number) for number in x0] == [Fraction, Fraction]
    gradient = problem.full_grad([0], np.array([[Fraction(1), Fraction(2)]], dtype=object))
    assert gradient.tolist() == [[Fraction(0), Fraction(11, 21)]]


def test_has_no_running_statistics():
    assert initial_buffers(PROBLEM, 0) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"A": np.ones((2, 2))}, r"A \[n, d, d\], b \[n, d\] and sizes \[n\], not A \(2, 2\)"),
        ({"A": np.ones((2, 3, 3))}, "Quadratic needs"),
        ({"A": np.ones((3, 2, 2))}, "Quadratic needs"),
        ({"b": np.ones((3, 2))}, "Quadratic needs"),
        ({"sizes": [1]}, "Quadratic needs"),
        ({"sizes": [1, 0]}, "every size must be positive"),
        ({"x0": [1.0]}, r"x0 must be \[2\], not \[1\]"),
    ],
)
def test_refusals(values, said):
    right = {"A": np.ones((2, 2, 2)), "b": np.ones((2, 2)), "sizes": [1, 2]}
    with pytest.raises(UserError, match=said):
        Quadratic(**{**right, **values})
