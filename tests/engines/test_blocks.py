"""Who is computed together with whom, and on how many threads, changes no bit of a run."""

import pytest
import torch

import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.engine.state import to_arrays
from hiermo.problems import supervised

TREE = hiermo.Tree.from_groups([[0, 7, 2], [1, 3, 4, 5, 6, 8, 9, 10, 11, 12], [13, 14, 15, 16]])


@pytest.fixture(scope="module")
def digits():
    return hiermo.load_data("mnist-5k", workers=TREE.n_workers, seed=1)


def final(name, digits, *, threads, model="logistic", sizes=None, **options):
    """Everything that the run's last state holds."""
    make = hiermo.make_model(model, digits, **(sizes or {}))
    problem = hiermo.Supervised(make, digits, batch=16, threads=threads, **options)
    algorithm = getattr(hiermo, name)()
    tree, periods = (TREE.flatten(), (4,)) if algorithm.tiers == 2 else (TREE, (2, 2))
    *_, last = hiermo.run(algorithm, tree, problem, periods=periods, iterations=8, seed=1)
    return to_arrays(last)[0]


def assert_same_bits(found, expected):
    for name, array in expected.items():
        assert torch.equal(found[name], array), name


@pytest.mark.parametrize("gradients", ["batched", "pooled"])
@pytest.mark.parametrize("name", ALGORITHMS.builtin)
def test_threads_change_no_bit(name, gradients, digits):
    expected = final(name, digits, threads=1, gradients=gradients)
    assert_same_bits(final(name, digits, threads=3, gradients=gradients), expected)


@pytest.mark.parametrize("name", ALGORITHMS.builtin)
def test_blocks_change_no_bit(name, digits, monkeypatch):
    expected = final(name, digits, threads=1)
    for block in (1, 2, 3, 8, 16):
        monkeypatch.setattr(supervised, "BLOCK", block)
        assert_same_bits(final(name, digits, threads=2), expected)


def test_a_shortened_gradient_has_the_same_bits_in_every_block(digits, monkeypatch):
    options = {"clip_norm": 0.5, "weight_decay": 1e-3, "normalise": True, "model": "mlp"}
    expected = final("HierMo", digits, threads=1, **options)
    for block in (1, 3, 16):
        monkeypatch.setattr(supervised, "BLOCK", block)
        assert_same_bits(final("HierMo", digits, threads=2, **options), expected)


def test_batched_and_pooled_agree_to_rounding(digits):
    batched = final("HierMo", digits, threads=2, gradients="batched", dtype="float64", model="mlp")
    pooled = final("HierMo", digits, threads=2, gradients="pooled", dtype="float64", model="mlp")
    for name, array in pooled.items():
        # sums of some thousand products of order 1 in float64, over eight iterations
        assert torch.allclose(batched[name], array, rtol=0, atol=1e-12), name


CONVOLUTIONS = {"model": "cnn", "sizes": {"channels": (32, 64), "hidden": (16,)}}  # the second one is fast


def test_threads_change_no_bit_of_a_convolution(digits):
    expected = final("HierMo", digits, threads=1, **CONVOLUTIONS)
    assert_same_bits(final("HierMo", digits, threads=3, **CONVOLUTIONS), expected)


def test_fast_and_direct_convolutions_agree_to_rounding(digits):
    fast = final("HierMo", digits, threads=2, **CONVOLUTIONS)
    direct = final("HierMo", digits, threads=2, convolutions="direct", **CONVOLUTIONS)
    assert not all(torch.equal(fast[name], array) for name, array in direct.items())
    for name, array in direct.items():
        # float32: 1e-6 of a gradient of order 1, times eta, over eight iterations
        assert torch.allclose(fast[name], array, rtol=0, atol=1e-6), name
