"""The two models of the comparison, in plain torch; inputs are pixels / 255, [n, 1, 28, 28]."""

import torch
from torch import nn


def logistic() -> nn.Module:
    """Multinomial logistic regression of 7,850 parameters that start at zero."""
    linear = nn.Linear(784, 10)
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return nn.Sequential(nn.Flatten(), linear)


def cnn() -> nn.Module:
    """What hiermo's `cnn` is on 28x28x1: 1,663,370 parameters with PyTorch's initialisation."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 512),
        nn.ReLU(),
        nn.Linear(512, 10),
    )


def make(case: str, seed: int) -> nn.Module:
    """The model of a case; the same start in every framework."""
    torch.manual_seed(seed)
    return {"logistic": logistic, "cnn": cnn}[case]()
