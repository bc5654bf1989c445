"""How wide a processor's registers are changes how much is computed side by side, and not a bit."""

from bits import same_bits
from convolving import fewer, images, results
import pytest
import torch

from hiermo.kernels import layer, products, winograd
from hiermo.kernels.layer import Layer, Places
from hiermo.kernels.products import Shape


def forget():
    """What was compiled."""
    layer._functions.cache_clear()
    winograd.functions.cache_clear()


@pytest.fixture
def registers(monkeypatch):
    """Sets whether they are wide; gives who asked."""
    asked = []

    def wide(answer):
        forget()
        for module in (products, winograd):
            monkeypatch.setattr(module, "wide_registers", lambda module=module: asked.append(module) or answer)
        return asked

    yield wide
    forget()


@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
@pytest.mark.parametrize(
    "shape",
    [
        Shape(784, 10, 16, True),
        Shape(31, 13, 17, False),  # nothing is a multiple of a register, nor of how many outputs share them
        Shape(5, 3, 3, True),
        Shape(33, 40, 2, False),
        Shape(48, 2, 5, True),
    ],
    ids=str,
)
def test_the_layer_has_the_same_bits(registers, shape, loss):
    m, n, d = 3, 30, shape.outputs * (shape.features + 1)
    rows = torch.randint(0, 256, (n, shape.features), dtype=torch.uint8)
    rows = rows if shape.pixels else torch.randn(n, shape.features)
    labels, chosen = torch.randint(0, shape.outputs, (n,)), torch.randint(0, n, (m * shape.batch,))
    x, slope = torch.randn(m, d) / 8, torch.randn(m, shape.outputs, shape.batch)
    weight = x[:, : -shape.outputs].view(m, shape.outputs, shape.features)
    bias = x[:, -shape.outputs :].unsqueeze(2)
    found = []
    for wide in (False, True):
        asked = registers(wide)
        own = Layer(shape, loss)
        outputs, slopes, gradients = torch.empty_like(slope), torch.empty_like(weight).contiguous(), torch.empty_like(x)
        own.outputs(rows, chosen, weight, bias, 0.1, outputs)
        own.slopes(rows, chosen, slope, 0.1, slopes)
        own.gradients(rows, labels, chosen, x, gradients, Places(0, d - shape.outputs), 0.1)
        found.append((outputs, slopes, gradients))
        assert products in asked
        asked.clear()
    assert all(same_bits(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("size", [3, 5])
def test_convolutions_have_the_same_bits(registers, size):
    cases = [
        (fewer(*channels, size, padding=1, bias=bias), images(3, channels[0], 11, 6))
        for channels, bias in [((32, 32), True), ((64, 32), False), ((32, 96), True)]
    ]
    found = []
    for wide in (False, True):
        asked = registers(wide)
        found.append([each for case in cases for each in results(*case)])
        assert winograd in asked
        asked.clear()
    assert all(same_bits(one, other) for one, other in zip(*found, strict=True))
