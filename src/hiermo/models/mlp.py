"""Fully connected layers."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

from hiermo.core.parameter import Count

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class Mlp:
    """Layers of `hidden` units with ReLU between them, for samples of any shape; PyTorch's initialisation."""

    summary: ClassVar[str] = "fully connected layers with ReLU"
    loss: ClassVar[str] = "cross_entropy"

    hidden: tuple[Count, ...] = (200,)

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        layers: list[nn.Module] = [nn.Flatten()]
        units = prod(shape)
        for hidden in self.hidden:
            layers += [nn.Linear(units, hidden), nn.ReLU()]
            units = hidden
        return nn.Sequential(*layers, nn.Linear(units, classes))
