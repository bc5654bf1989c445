"""Convolutions with fewer multiplications, and what they are measured against."""

import torch
from torch import nn
from torch.autograd import grad
from torch.func import functional_call

from hiermo.problems.convolution import FewerProducts, fits


def fewer(*arguments, **options):
    layer = nn.Conv2d(*arguments, **options)
    assert fits(layer)
    layer.__class__ = FewerProducts
    return layer


def images(*shape):
    return torch.randn(shape).to(memory_format=torch.channels_last)


def has_output(layer, x):
    size = layer.kernel_size[0]
    padding = {"same": size // 2, "valid": 0}[layer.padding] if isinstance(layer.padding, str) else layer.padding[0]
    return min(x.shape[2:]) + 2 * padding >= size


def results(layer, x, slope=None, dtype=torch.float32):
    """Output, and the slopes of what it is multiplied by `slope`: of images, kernels and bias."""
    x = x.detach().to(dtype).requires_grad_()
    values = {name: each.detach().to(dtype).requires_grad_() for name, each in layer.named_parameters()}
    found = functional_call(layer, values, (x,))
    slope = torch.ones_like(found) if slope is None else slope.to(dtype)
    return found.detach(), *grad(found, [x, *values.values()], slope)


def by_torch(layer, x, slope=None, dtype=torch.float32):
    """The same of an `nn.Conv2d` with the same weights."""
    plain = nn.Conv2d(
        layer.in_channels, layer.out_channels, layer.kernel_size, padding=layer.padding, bias=layer.bias is not None
    )
    plain.load_state_dict(layer.state_dict())
    return results(plain, x, slope, dtype)
