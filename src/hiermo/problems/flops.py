"""Floating-point operations of a gradient, counted on a model without numbers."""

from copy import deepcopy

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

BACKWARD = 2  # the way back takes about twice the way there: the slopes of inputs, and those of weights


def gradient_flops(module: nn.Module, shape: tuple[int, ...], batch: int) -> float:
    """Of one batch of inputs of this shape: products and sums of matrix products and convolutions.

    A module that cannot be run without numbers is taken for fully connected: two operations per weight and sample.
    """
    try:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            deepcopy(module).to("meta").eval()(torch.empty(1, *shape, device="meta"))
        forward = float(counter.get_total_flops())
    except Exception:  # anyone's module, anyone's error
        forward = 0.0
    return (1 + BACKWARD) * batch * (forward or 2.0 * sum(each.numel() for each in module.parameters()))
