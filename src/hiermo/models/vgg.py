"""VGG16 for small images: Simonyan, Zisserman, "Very Deep Convolutional Networks ...", 2015 (arXiv 1409.1556).

The usual CIFAR variant: its 13 convolutions with BatchNorm and one fully connected layer, 14,728,266 parameters for
10 classes of 32x32x3. `hidden = [4096, 4096]` is the classifier of the article. The layers of `features` are numbered
as torchvision's are, and with two hidden layers those of `classifier` too, so that its weights fit.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count, Portion

if TYPE_CHECKING:
    from torch import nn

WIDTHS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))  # a pooling after each group


@dataclass(frozen=True, kw_only=True)
class Vgg16:
    """Configuration D; the usual start: He's for the convolutions, N(0, 0.01) for what is fully connected."""

    summary: ClassVar[str] = "VGG16 for small images, with BatchNorm and one fully connected layer"
    loss: ClassVar[str] = "cross_entropy"

    batch_norm: bool = True
    hidden: tuple[Count, ...] = ()
    dropout: Portion = 0.0  # after each hidden layer

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        if len(shape) != 3:
            raise UserError(f"model 'vgg16' needs images [channels, height, width], this data is {list(shape)}")
        width, height, side = shape
        units = WIDTHS[-1][-1] * (height // 32) * (side // 32)
        if not units:
            raise UserError(
                f"model 'vgg16': images of {height}x{side} are too small for 5 poolings: 32x32 is the least"
            )
        features: list[nn.Module] = []
        for group in WIDTHS:
            for channels in group:
                norm = [nn.BatchNorm2d(channels)] if self.batch_norm else []
                features += [nn.Conv2d(width, channels, 3, padding=1), *norm, nn.ReLU()]
                width = channels
            features.append(nn.MaxPool2d(2))
        fully: list[nn.Module] = []
        for hidden in self.hidden:
            fully += [nn.Linear(units, hidden), nn.ReLU(), nn.Dropout(self.dropout)]
            units = hidden
        fully.append(nn.Linear(units, classes))
        classifier = nn.Sequential(*fully) if self.hidden else fully[0]
        parts = {"features": nn.Sequential(*features), "flatten": nn.Flatten(), "classifier": classifier}
        return started(nn.Sequential(OrderedDict(parts)))


def started(module: "nn.Module") -> "nn.Module":
    """The module with the weights that VGG nets usually start from."""
    from torch import nn

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=0.01)
        if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return module
