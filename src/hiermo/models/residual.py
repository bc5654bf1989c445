"""Residual networks out of basic blocks; layers have torchvision's names."""

from collections import OrderedDict
from collections.abc import Sequence

from torch import Tensor, nn


class Block(nn.Module):
    """Two 3x3 convolutions beside a short cut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, inward: int, outward: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inward, outward, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outward)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(outward, outward, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outward)
        self.downsample: nn.Module = nn.Identity()
        if (inward, stride) != (outward, 1):
            self.downsample = nn.Sequential(nn.Conv2d(inward, outward, 1, stride, bias=False), nn.BatchNorm2d(outward))

    def forward(self, x: Tensor) -> Tensor:
        inside = self.relu(self.bn1(self.conv1(x)))
        added: Tensor = self.bn2(self.conv2(inside)) + self.downsample(x)
        return self.relu(added)  # type: ignore[no-any-return]


def residual_network(channels: int, classes: int, blocks: Sequence[int], *, small: bool) -> nn.Module:
    """Stages of 64, 128, 256, ... channels, each but the first at half the side of the one before."""
    stem: dict[str, nn.Module] = {
        "conv1": nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        if small
        else nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False),
        "bn1": nn.BatchNorm2d(64),
        "relu": nn.ReLU(),
    }
    if not small:
        stem["maxpool"] = nn.MaxPool2d(3, stride=2, padding=1)
    stages: dict[str, nn.Module] = {}
    inward = 64
    for k, n in enumerate(blocks):
        outward, first_stride = 64 * 2**k, 2 if k else 1
        first = Block(inward, outward, first_stride)
        stages[f"layer{k + 1}"] = nn.Sequential(first, *(Block(outward, outward, 1) for _ in range(n - 1)))
        inward = outward
    head = {"avgpool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(), "fc": nn.Linear(inward, classes)}
    module = nn.Sequential(OrderedDict({**stem, **stages, **head}))
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return module
