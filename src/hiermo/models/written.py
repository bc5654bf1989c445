"""A plain stack of layers as the Python text that makes it: whoever loads exported weights needs torch alone."""

from inspect import Parameter, signature
from typing import Any

from torch import nn

LAYERS = (nn.Flatten, nn.Linear, nn.Conv1d, nn.Conv2d, nn.MaxPool1d, nn.MaxPool2d, nn.ReLU)
WIDE = 100  # columns


def written(module: nn.Module) -> str | None:
    """`torch.nn.Sequential(...)`, or None for what is not a plain stack of such layers.

    >>> written(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)))
    'torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))'
    """
    layers = dict(module.named_children())
    plain = type(module) is nn.Sequential and all(type(layer) in LAYERS for layer in layers.values())
    if not plain or list(layers) != [str(k) for k in range(len(layers))]:
        return None
    calls = [_call(layer) for layer in layers.values()]
    short = f"torch.nn.Sequential({', '.join(calls)})"
    return short if len(short) <= WIDE else "torch.nn.Sequential(\n" + "".join(f"    {call},\n" for call in calls) + ")"


def _call(layer: nn.Module) -> str:
    """The constructor's arguments are attributes of the layer; those that are as by default are left out."""
    words = []
    for name, parameter in signature(type(layer)).parameters.items():
        if name in ("device", "dtype"):
            continue
        value = layer.bias is not None if name == "bias" else _plain(getattr(layer, name))
        if parameter.default is Parameter.empty:
            words.append(_quoted(value))
        elif value != parameter.default:
            words.append(f"{name}={_quoted(value)}")
    return f"torch.nn.{type(layer).__name__}({', '.join(words)})"


def _plain(value: Any) -> Any:
    """`5` for `(5, 5)`, as one would write it."""
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
