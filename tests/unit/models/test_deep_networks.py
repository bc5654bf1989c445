"""VGG16 and ResNet18: sizes by formula, shapes on the way, torchvision's names, and the start."""

from math import prod

import pytest
import torch
from torch import nn

from hiermo.models.resnet import ResNet18
from hiermo.models.vgg import Vgg16

CIFAR = (3, 32, 32)


def count(model):
    return sum(p.numel() for p in model.parameters())


def vgg_by_formula(classes, batch_norm, widths=(64, 64, 128, 128, 256, 256, 256, *(512,) * 6)):
    """Weights 3 x 3 and a bias per output, two numbers of BatchNorm, and one layer at the end."""
    inward = (3, *widths[:-1])
    return sum((9 * a + 1 + 2 * batch_norm) * b for a, b in zip(inward, widths, strict=True)) + 513 * classes


@pytest.mark.parametrize("batch_norm", [True, False])
def test_vgg16_by_formula(batch_norm):
    with torch.device("meta"):
        assert count(Vgg16(batch_norm=batch_norm).build(CIFAR, 10)) == vgg_by_formula(10, batch_norm)


def resnet_by_formula(classes, stem):
    """Convolutions have no bias; a stage halves the side and doubles the width, its first short cut is 1 x 1."""
    total = stem + 2 * 64
    for inward, width in ((64, 64), (64, 128), (128, 256), (256, 512)):
        total += 9 * inward * width + 3 * 9 * width * width + 4 * 2 * width
        total += (inward * width + 2 * width) * (inward != width)
    return total + 513 * classes


@pytest.mark.parametrize(("stem", "weights"), [("small", 3 * 3 * 3 * 64), ("imagenet", 7 * 7 * 3 * 64)])
def test_resnet18_by_formula(stem, weights):
    with torch.device("meta"):
        assert count(ResNet18(stem=stem).build((3, 64, 64), 200)) == resnet_by_formula(200, weights)


def test_vgg16_halves_the_image_five_times():
    model = Vgg16(batch_norm=False).build((3, 64, 32), 10)
    assert model.features(torch.rand(1, 3, 64, 32)).shape == (1, 512, 2, 1)
    assert [type(layer) for layer in model.features].count(nn.Conv2d) == 13
    assert [type(layer) for layer in model.features].count(nn.MaxPool2d) == 5


@pytest.mark.parametrize(("stem", "sides"), [("small", (64, 32, 16, 8)), ("imagenet", (16, 8, 4, 2))])
def test_resnet18_halves_the_image_by_stages(stem, sides):
    model = ResNet18(stem=stem).build((3, 64, 64), 10)
    x, found = torch.rand(1, 3, 64, 64), []
    for name, part in model.named_children():
        x = part(x)
        if name.startswith("layer"):
            found.append(x.shape[-1])
    assert tuple(found) == sides


def test_a_residual_block_adds_its_input():
    block = ResNet18().build((3, 8, 8), 10).layer1[0].eval()
    nn.init.zeros_(block.bn2.weight)
    x = torch.rand(2, 64, 4, 4)
    assert torch.equal(block(x), x)


# the names of some tensors, and shapes, in torchvision's vgg16_bn and resnet18
VGG_NAMES = {
    "features.0.weight": (64, 3, 3, 3),
    "features.0.bias": (64,),
    "features.1.running_var": (64,),
    "features.7.weight": (128, 64, 3, 3),
    "features.24.weight": (512, 256, 3, 3),
    "features.41.num_batches_tracked": (),
    "features.40.weight": (512, 512, 3, 3),
    "classifier.0.weight": (4096, 25088),
    "classifier.3.bias": (4096,),
    "classifier.6.weight": (1000, 4096),
}
RESNET_NAMES = {
    "conv1.weight": (64, 3, 7, 7),
    "bn1.running_mean": (64,),
    "layer1.0.conv1.weight": (64, 64, 3, 3),
    "layer1.1.bn2.num_batches_tracked": (),
    "layer2.0.downsample.0.weight": (128, 64, 1, 1),
    "layer2.0.downsample.1.running_var": (128,),
    "layer4.0.conv1.weight": (512, 256, 3, 3),
    "layer4.1.conv2.weight": (512, 512, 3, 3),
    "layer4.1.bn2.bias": (512,),
    "fc.weight": (1000, 512),
    "fc.bias": (1000,),
}


@pytest.mark.parametrize(
    ("spec", "names", "tensors"),
    [
        (Vgg16(hidden=(4096, 4096)), VGG_NAMES, 13 * 7 + 3 * 2),
        # 20 convolutions, 20 BatchNorms of 5 tensors, the last layer
        (ResNet18(stem="imagenet"), RESNET_NAMES, 20 + 20 * 5 + 2),
    ],
)
def test_names_are_torchvisions(spec, names, tensors):
    with torch.device("meta"):
        state = spec.build((3, 224, 224), 1000).state_dict()
    assert len(state) == tensors
    assert names == {name: tuple(state[name].shape) for name in names if name in state}


def test_the_layers_of_one_classifier_have_no_number():
    with torch.device("meta"):
        assert "classifier.weight" in Vgg16().build(CIFAR, 10).state_dict()


@pytest.mark.parametrize("spec", [Vgg16(), ResNet18()])
def test_deep_networks_start_as_they_usually_do(spec):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = spec.build((3, 32, 32), 10)
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = prod(layer.kernel_size) * layer.out_channels
            # the deviation of n normal draws is off by 1 / sqrt(2 n), of the smallest layer (1728) by 1.7 %: four times
            off = 4 / (2 * layer.weight.numel()) ** 0.5
            assert layer.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=off), name
            assert layer.bias is None or not layer.bias.any()
        if isinstance(layer, nn.BatchNorm2d):
            assert (layer.weight == 1).all()
            assert not layer.bias.any()


def test_dropout_of_nothing_draws_nothing():
    model = Vgg16(hidden=(4,), batch_norm=False).build(CIFAR, 3).train()
    before = torch.get_rng_state()
    model(torch.zeros(2, *CIFAR))
    assert torch.equal(torch.get_rng_state(), before)
