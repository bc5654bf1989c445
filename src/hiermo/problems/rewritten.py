"""Modules with the same results and less to do, for images with their channels last."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from hiermo.problems.batched import hooked
from hiermo.problems.convolution import FewerProducts, fits


def rewritten(module: nn.Module, *, fast_convolutions: bool = True) -> nn.Module:
    """A copy, which pools before a ReLU instead of after it, and in which flattening keeps the layout of slopes.

    The larger of several numbers, or 0 where that is larger, is the same in either order, and so are the slopes; but
    after the pool there are fewer numbers to compare with 0. Convolutions that can do with fewer multiplications do
    so if they are to be fast, which rounds otherwise.
    """
    copy = deepcopy(module)
    for layer in copy.modules():
        if fast_convolutions and fits(layer) and not hooked(layer):
            layer.__class__ = FewerProducts
    for stack in stacks(copy):
        layers = list(stack)
        for k, layer in enumerate(layers):
            if hooked(layer):
                continue
            if type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1):
                stack[k] = FlattenImages()
            elif k and pools(layer) and type(layers[k - 1]) is nn.ReLU and not hooked(layers[k - 1]):
                stack[k - 1], stack[k] = layer, layers[k - 1]
    return copy


def pools(layer: nn.Module) -> bool:
    return type(layer) is nn.MaxPool2d and not layer.return_indices


def stacks(module: nn.Module) -> Iterator[nn.Sequential]:
    """Those that are called as a whole: a module of another kind could take one apart."""
    if type(module) is nn.Sequential:
        yield module
        for layer in module:
            yield from stacks(layer)


class FlattenImages(nn.Module):
    """As `nn.Flatten`; the slopes of images with their channels last come back like that, as a pool wants them."""

    def forward(self, x: Tensor) -> Any:
        last = x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
        last = last and x.requires_grad
        return _FlattenImages.apply(x) if last else x.flatten(1)  # type: ignore[no-untyped-call]


class _FlattenImages(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        return x.flatten(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> Tensor:
        return slope.view(ctx.shape).contiguous(memory_format=torch.channels_last)
