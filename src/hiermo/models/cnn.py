"""The paper's convolutional network: two 5x5 convolutions with max-pooling, then fully connected layers.

Widths and padding are not published. One hidden layer of 512 with "same" padding (1,663,370 parameters on 28x28x1)
comes closest to the published results and is the default; `hidden=(512, 128)` is the literal reading of
"the last three layers are fully connected".
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class Cnn:
    """Convolutions with `channels` outputs each, fully connected layers of `hidden` units; initial weights are drawn as
    PyTorch does, or as Glorot and Bengio (2010) did, from +-sqrt(6 / (inputs + outputs)) with biases of zero."""

    summary: ClassVar[str] = "two 5x5 convolutions with 2x2 max-pooling, then fully connected layers"
    loss: ClassVar[str] = "cross_entropy"

    hidden: tuple[Count, ...] = (512,)
    channels: tuple[Count, ...] = (32, 64)
    start: Literal["pytorch", "xavier"] = "pytorch"

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        if len(shape) != 3:
            raise UserError(f"model 'cnn' needs images [channels, height, width], this data is {list(shape)}")
        layers: list[nn.Module] = []
        width, height, side = shape
        for channels in self.channels:
            layers += [nn.Conv2d(width, channels, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2)]
            width, height, side = channels, height // 2, side // 2
        if not height * side:
            raise UserError(
                f"model 'cnn': images of {shape[1]}x{shape[2]} are too small for {len(self.channels)} poolings"
            )
        layers.append(nn.Flatten())
        units = width * height * side
        for hidden in self.hidden:
            layers += [nn.Linear(units, hidden), nn.ReLU()]
            units = hidden
        layers.append(nn.Linear(units, classes))
        if self.start == "xavier":
            for layer in layers:
                if isinstance(layer, nn.Conv2d | nn.Linear):
                    nn.init.xavier_uniform_(layer.weight)
                    nn.init.zeros_(layer.get_parameter("bias"))
        return nn.Sequential(*layers)
