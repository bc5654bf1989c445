"""Losses by name, per sample; and their slopes for a block of workers."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

PerSample = Callable[[Tensor, Tensor], Tensor]  # (outputs [n, k], targets [n]) -> losses [n]
Mean = Callable[[Tensor, Tensor], Tensor]  # -> one number, the mean over the batch
# (outputs [m, k, B], labels [m, 1, B] or targets [m, k, B], -1 as [m, 1, B], result [m, k, B]): the slope of each
# worker's mean over its batch
Slope = Callable[[Tensor, Tensor, Tensor, Tensor], None]


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, targets, reduction="none")


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean over the outputs; labels are taken as one-hot."""
    if not targets.is_floating_point():
        targets = functional.one_hot(targets, outputs.shape[-1]).to(outputs.dtype)
    return (outputs - targets.view_as(outputs)).square().mean(-1)


LOSSES: dict[str, PerSample] = {"cross_entropy": cross_entropy, "mse": squared_error}


def cross_entropy_slope(outputs: Tensor, labels: Tensor, minus_one: Tensor, result: Tensor) -> None:
    torch.softmax(outputs, 1, out=result)
    result.scatter_add_(1, labels, minus_one).mul_(1 / outputs.shape[2])


def squared_error_slope(outputs: Tensor, targets: Tensor, minus_one: Tensor, result: Tensor) -> None:
    if targets.is_floating_point():
        torch.sub(outputs, targets, out=result)
    else:
        result.copy_(outputs).scatter_add_(1, targets, minus_one)
    result.mul_(2 / (outputs.shape[1] * outputs.shape[2]))


SLOPES: dict[str, Slope] = {"cross_entropy": cross_entropy_slope, "mse": squared_error_slope}
