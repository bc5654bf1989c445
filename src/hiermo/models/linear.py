"""The paper's convex models: one affine layer that starts at zero."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from torch import nn


def affine_from_zero(shape: tuple[int, ...], classes: int) -> "nn.Module":
    from torch import nn

    layer = nn.Linear(prod(shape), classes)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.Flatten(), layer)


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Least squares on one-hot labels (mean over the batch and the outputs); accuracy by arg-max."""

    summary: ClassVar[str] = "linear regression on one-hot labels, mean squared error, zero start"
    loss: ClassVar[str] = "mse"

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        return affine_from_zero(shape, classes)


@dataclass(frozen=True, kw_only=True)
class Logistic:
    """Multinomial logistic regression."""

    summary: ClassVar[str] = "logistic regression, cross-entropy, zero start"
    loss: ClassVar[str] = "cross_entropy"

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        return affine_from_zero(shape, classes)
