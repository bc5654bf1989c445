"""A torch module as one flat vector of trainable parameters, its running statistics apart."""

from collections.abc import Iterable
from itertools import accumulate
from math import prod
from typing import Any

import torch
from torch import Tensor, nn


class Layout:
    """Where each named tensor lies in a flat vector."""

    def __init__(self, named: Iterable[tuple[str, Tensor]]) -> None:
        self.shapes = {name: tuple(tensor.shape) for name, tensor in named}
        self.lengths = [prod(shape) for shape in self.shapes.values()]
        self.size = sum(self.lengths)
        places = zip(self.shapes.items(), accumulate(self.lengths, initial=0), strict=False)
        self._places = {name: (shape, _strides(shape), begin) for (name, shape), begin in places}

    def flatten(self, named: dict[str, Tensor], dtype: torch.dtype) -> Tensor:
        """One vector `[d]`."""
        parts = [named[name].detach().reshape(-1).to(dtype) for name in self.shapes]
        return torch.cat(parts) if parts else torch.empty(0, dtype=dtype)

    def span(self, name: str) -> slice:
        """The numbers of one tensor."""
        shape, _, begin = self._places[name]
        return slice(begin, begin + prod(shape))

    def views(self, x: Tensor) -> dict[str, Tensor]:
        """Named views into `x`, which is `[d]` or `[n, d]`."""
        return {name: self.view(name, x) for name in self._places}

    def view(self, name: str, x: Tensor) -> Tensor:
        """One of them."""
        if x.stride(-1) != 1 or x.shape[-1] != self.size:
            raise ValueError(f"these views are of rows of {self.size} numbers, not of {list(x.shape)}")
        shape, strides, offset = self._places[name]
        return x.as_strided(x.shape[:-1] + shape, x.stride()[:-1] + strides, x.storage_offset() + offset)


class Flat:
    """Parameters and statistics of a module; frozen parameters stay in the module, the same for all."""

    def __init__(self, module: nn.Module) -> None:
        self.parameters = Layout((name, p) for name, p in module.named_parameters() if p.requires_grad)
        self.buffers = Layout(module.named_buffers())

    def vector(self, module: nn.Module, dtype: torch.dtype) -> Tensor:
        return self.parameters.flatten(dict(module.named_parameters()), dtype)

    def statistics(self, module: nn.Module, dtype: torch.dtype) -> Tensor:
        return self.buffers.flatten(dict(module.named_buffers()), dtype)

    def load(self, module: nn.Module, x: Tensor, statistics: Tensor | None = None) -> nn.Module:
        """Write a flat model into the module, as for export."""
        own: dict[str, Any] = dict(module.named_parameters()) | dict(module.named_buffers())
        views = self.parameters.views(x) | ({} if statistics is None else self.buffers.views(statistics))
        with torch.no_grad():
            for name, value in views.items():
                own[name].copy_(in_type_of(own[name], value))
        return module


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[k + 1 :]) for k in range(len(shape)))


def in_type_of(tensor: Tensor, value: Tensor) -> Tensor:
    """A copy; an average of whole numbers (BatchNorm's count of batches) is rounded, for it may lie just below one."""
    return (value if tensor.is_floating_point() else value.round()).to(tensor.dtype, copy=True)
