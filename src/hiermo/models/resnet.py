"""ResNet18: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", 2016 (arXiv 1512.03385).

Layers have torchvision's names, so that the usual ImageNet weights fit. `stem = "small"` is the usual variant for small
images such as Tiny-ImageNet's 64x64: a 3x3 convolution where the article has 7x7 with stride 2 and a pooling.
Both start from He's initialisation, as ResNets usually do; the last layer has PyTorch's own.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from hiermo.core.errors import UserError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class ResNet18:
    """Four stages of two residual blocks: 11,271,432 parameters for 200 classes, 11,689,512 for ImageNet."""

    summary: ClassVar[str] = "ResNet18 for small images, or for ImageNet's with stem = imagenet"
    loss: ClassVar[str] = "cross_entropy"

    stem: Literal["small", "imagenet"] = "small"

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from hiermo.models.residual import residual_network

        if len(shape) != 3:
            raise UserError(f"model 'resnet18' needs images [channels, height, width], this data is {list(shape)}")
        return residual_network(shape[0], classes, blocks=(2, 2, 2, 2), small=self.stem == "small")
