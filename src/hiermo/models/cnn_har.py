"""A convolutional network for series, such as UCI-HAR's windows of 9 signals x 128 moments.

The paper says "CNN on UCI-HAR" and no more. This is our choice: its network for images with one dimension less.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class CnnHar:
    """Convolutions along time with `channels` outputs each, then layers of `hidden` units; PyTorch's initialisation."""

    summary: ClassVar[str] = "two convolutions along time with max-pooling, then fully connected layers"
    loss: ClassVar[str] = "cross_entropy"

    hidden: tuple[Count, ...] = (512,)
    channels: tuple[Count, ...] = (32, 64)
    kernel: Literal[3, 5, 7, 9, 11] = 5  # odd: as many moments before as after

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        if len(shape) != 2:
            raise UserError(f"model 'cnn-har' needs series [signals, moments], this data is {list(shape)}")
        layers: list[nn.Module] = []
        width, moments = shape
        for channels in self.channels:
            layers += [nn.Conv1d(width, channels, self.kernel, padding="same"), nn.ReLU(), nn.MaxPool1d(2)]
            width, moments = channels, moments // 2
        if not moments:
            raise UserError(
                f"model 'cnn-har': series of {shape[1]} moments are too short for {len(self.channels)} poolings"
            )
        layers.append(nn.Flatten())
        units = width * moments
        for hidden in self.hidden:
            layers += [nn.Linear(units, hidden), nn.ReLU()]
            units = hidden
        return nn.Sequential(*layers, nn.Linear(units, classes))
