"""Comparisons: to the last bit, and by the size of the difference."""

import torch

WHOLE = {torch.float32: torch.int32, torch.float64: torch.int64}


def same_bits(a, b):
    """Alike in every bit, also in the signs of zeros; what is not a number is like any other that is none."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    left, right = (torch.where(each.isnan(), 1, each.contiguous().view(WHOLE[each.dtype])) for each in (a, b))
    return torch.equal(a.isnan(), b.isnan()) and torch.equal(left, right)


def assert_same_record(found, expected):
    assert type(found) is type(expected)
    for name, one, other in zip(expected._fields, found, expected, strict=True):
        assert same_bits(one, other), name


def copied(record):
    return type(record)(*(field.clone() for field in record))


def distance(found, expected):
    """Relative to the norm of what is expected, in double precision."""
    assert found.shape == expected.shape and expected.numel()
    found, expected = found.detach().double(), expected.detach().double()
    return float((found - expected).norm() / expected.norm())
