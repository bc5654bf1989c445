import numpy as np
import pytest
import torch

from hiermo.core.vector import clip, dot, norm, sign, sqrt, where

ONE = [3.0, -4.0]
TIER = [[3.0, -4.0], [0.0, 2.0], [0.0, 0.0]]


@pytest.fixture(params=["numpy", "torch"])
def array(request):
    return np.asarray if request.param == "numpy" else lambda v: torch.tensor(v, dtype=torch.float64)


def same(found, kind, expected):
    """Equal in value, shape and library."""
    assert type(found) is type(kind)
    assert found.dtype == kind.dtype
    assert found.tolist() == expected


@pytest.mark.parametrize(("a", "expected"), [(ONE, [25.0]), (TIER, [[25.0], [4.0], [0.0]])])
def test_dot_is_one_number_per_node(array, a, expected):
    same(dot(array(a), array(a)), array(a), expected)


def test_dot_of_two(array):
    same(dot(array(ONE), array([2.0, 1.0])), array(ONE), [2.0])


@pytest.mark.parametrize(("a", "expected"), [(ONE, [5.0]), (TIER, [[5.0], [2.0], [0.0]])])
def test_norm_is_one_number_per_node_and_divides_a_tier(array, a, expected):
    same(norm(array(a)), array(a), expected)
    assert (array(a) / (norm(array(a)) + 1)).shape == array(a).shape


@pytest.mark.parametrize(("a", "expected"), [([4.0, 9.0], [2.0, 3.0]), ([[4.0], [0.0]], [[2.0], [0.0]])])
def test_sqrt(array, a, expected):
    same(sqrt(array(a)), array(a), expected)


@pytest.mark.parametrize(("a", "expected"), [(ONE, [1.0, -1.0]), (TIER, [[1.0, -1.0], [0.0, 1.0], [0.0, 0.0]])])
def test_sign(array, a, expected):
    same(sign(array(a)), array(a), expected)


@pytest.mark.parametrize(("a", "expected"), [(ONE, [1.0, -2.0]), (TIER, [[1.0, -2.0], [0.0, 1.0], [0.0, 0.0]])])
def test_clip(array, a, expected):
    same(clip(array(a), -2.0, 1.0), array(a), expected)


@pytest.mark.parametrize(("a", "expected"), [(ONE, [3.0, 7.0]), (TIER, [[3.0, 7.0], [7.0, 2.0], [7.0, 7.0]])])
def test_where_with_a_number(array, a, expected):
    same(where(array(a) > 0, array(a), 7.0), array(a), expected)


def test_where_with_a_condition_per_node(array):
    a = array(TIER)
    same(where(norm(a) > 1, a, -a), a, [[3.0, -4.0], [0.0, 2.0], [-0.0, -0.0]])
