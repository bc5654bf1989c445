"""Convolutions with fewer multiplications, for those of a module that are of the right kind."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from hiermo.kernels.winograd import PANEL, PLACES, SIDE, functions, of_kernels

SMALLEST = 4  # pixels of an image's side: below it tiles are mostly empty
MANY = 256 * 256  # kernels, which are read once for every group of tiles


class FewerProducts(nn.Conv2d):
    """A convolution of 3 x 3 or 5 x 5 in steps of one pixel, on images with their channels last."""

    def forward(self, input: Tensor) -> Any:
        if self._takes(input):
            return _Convolution.apply(input, self.weight, self.bias, _padding(self))  # type: ignore[no-untyped-call]
        return super().forward(input)

    def _takes(self, images: Tensor) -> bool:
        """What it does not take is torch's to compute, or to refuse."""
        if images.ndim != 4 or not len(images) or images.shape[1] != self.in_channels:
            return False
        least, numbers = min(images.shape[2:]), [images, *self.parameters(recurse=False)]
        return (
            least >= SMALLEST
            and least + 2 * _padding(self) >= self.kernel_size[0]
            and images.is_contiguous(memory_format=torch.channels_last)
            and all(each.device.type == "cpu" and each.dtype == torch.float32 for each in numbers)
            and not torch.is_autocast_enabled("cpu")
        )


def fits(layer: nn.Module) -> bool:
    """Whether a layer is a convolution that `FewerProducts` computes."""
    if type(layer) is not nn.Conv2d or layer.kernel_size not in ((3, 3), (5, 5)):
        return False
    padding = _padding(layer)
    return (
        layer.padding in ("same", "valid", (padding, padding))
        and padding < layer.kernel_size[0]
        and layer.padding_mode == "zeros"
        and layer.stride == layer.dilation == (1, 1)
        and layer.groups == 1
        and not layer.in_channels % PANEL
        and not layer.out_channels % PANEL
    )


def _padding(layer: nn.Conv2d) -> int:
    """Pixels around an image, as a number."""
    if isinstance(layer.padding, str):
        return layer.kernel_size[0] // 2 if layer.padding == "same" else 0
    return layer.padding[0]


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor | None, padding: int) -> Tensor:
        ctx.save_for_backward(images, weight)
        ctx.padding, ctx.biased = padding, bias is not None
        return convolved(images, transformed(weight.permute(2, 3, 1, 0)), bias, padding, weight.shape[2])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        images, weight = ctx.saved_tensors
        size, needed = weight.shape[2], ctx.needs_input_grad
        slope = slope.contiguous(memory_format=torch.channels_last)
        below = own = None
        if needed[0]:
            mirrored = transformed(weight.permute(2, 3, 0, 1).flip(0, 1))
            below = convolved(slope, mirrored, None, size - 1 - ctx.padding, size)
        if needed[1]:
            own = kernel_slopes(images, slope, ctx.padding, size)
        return below, own, slope.sum((0, 2, 3)) if ctx.biased and needed[2] else None, None


def transformed(kernels: Tensor) -> Tensor:
    """`[size, size, in, out]` -> `[PLACES, panels of out, in, PANEL]`."""
    size, _, channels, outputs = kernels.shape
    panels = kernels.reshape(size * size, channels, outputs // PANEL, PANEL).transpose(1, 2)
    return _matrix(size) @ panels.reshape(size * size, -1)


def convolved(images: Tensor, kernels: Tensor, bias: Tensor | None, padding: int, size: int) -> Tensor:
    """Of images with channels last and transformed kernels."""
    n, channels, height, width = images.shape
    outputs = kernels.shape[1] // channels
    room_below = 2 * padding - size + 1
    sizes = (n, outputs, height + room_below, width + room_below)
    result = torch.empty(sizes, dtype=images.dtype, memory_format=torch.channels_last)
    tiles, at_once = _tiles(result, size, channels * outputs)
    elsewhere = images.new_zeros(2, max(channels, outputs))
    room = images.new_empty(PLACES * at_once * (channels + outputs))
    added = elsewhere[0] if bias is None else bias.contiguous()
    functions(size)[0](
        images.data_ptr(), height, width, channels, padding, kernels.data_ptr(), added.data_ptr(),
        result.data_ptr(), *result.shape[2:], outputs, tiles, at_once,
        room.data_ptr(), room[PLACES * at_once * channels :].data_ptr(), *(row.data_ptr() for row in elsewhere),
    )  # fmt: skip
    return result


def kernel_slopes(images: Tensor, slope: Tensor, padding: int, size: int) -> Tensor:
    """`[out, in, size, size]`."""
    _, channels, height, width = images.shape
    outputs = slope.shape[1]
    tiles, at_once = _tiles(slope, size, channels * outputs)
    room = images.new_empty(PLACES * at_once * (channels + outputs))
    found = images.new_empty(PLACES, channels * outputs)
    nothing = images.new_zeros(max(channels, outputs))
    functions(size)[1](
        images.data_ptr(), height, width, channels, padding, slope.data_ptr(), *slope.shape[2:], outputs, tiles,
        at_once, room.data_ptr(), room[PLACES * at_once * channels :].data_ptr(), found.data_ptr(), nothing.data_ptr(),
    )  # fmt: skip
    back = _matrix(size).t() @ found
    return back.view(size, size, outputs // PANEL, channels, PANEL).permute(2, 4, 3, 0, 1).flatten(0, 1)


def _tiles(images: Tensor, size: int, kernels: int) -> tuple[int, int]:
    """How many there are, and how many are computed at a time."""
    each = SIDE - size + 1
    n, _, height, width = images.shape
    return n * -(-height // each) * -(-width // each), 64 if kernels >= MANY else 24


def _matrix(size: int) -> Tensor:
    return _MATRICES.setdefault(size, torch.tensor(of_kernels(size), dtype=torch.float32))


_MATRICES: dict[int, Tensor] = {}
