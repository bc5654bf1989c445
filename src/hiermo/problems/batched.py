"""Gradients of a block of workers as one computation: their layers as batched matrix products.

Forward and backward pass are written out: for models this small the bookkeeping of automatic differentiation costs as
much as the arithmetic. Activations are kept as `[m, features, B]`, one column per sample: then the fast direction of
every product is the long one.

A worker's gradient has the same bits whatever block it is computed in: its matrices are products of their own and begin
at multiples of `ALIGNED`, functions are applied to whole padded rows, and the loss is a mean over its own batch.
"""

from collections.abc import Callable
from math import prod
from threading import local
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, silu

from hiermo.models.flat import Flat
from hiermo.problems.losses import SLOPES

ALIGNED = 32  # numbers, two vector registers: kernels choose by the address, and loops leave the rest to other code

aten = torch.ops.aten
Forward = Callable[[Any, Tensor], Tensor]  # (layer, before) -> after
Backward = Callable[[Any, Tensor, Tensor, Tensor], Tensor]  # (layer, slope after, before, after) -> slope before
ELEMENTWISE: dict[type[nn.Module], tuple[Forward, Backward]] = {
    nn.Identity: (lambda _, h: h, lambda _, slope, before, after: slope),
    nn.ReLU: (lambda _, h: h.relu(), lambda _, slope, before, after: aten.threshold_backward(slope, after, 0)),
    nn.Tanh: (lambda _, h: h.tanh(), lambda _, slope, before, after: aten.tanh_backward(slope, after)),
    nn.Sigmoid: (lambda _, h: h.sigmoid(), lambda _, slope, before, after: aten.sigmoid_backward(slope, after)),
    nn.GELU: (
        lambda layer, h: gelu(h, approximate=layer.approximate),
        lambda layer, slope, before, after: aten.gelu_backward(slope, before, approximate=layer.approximate),
    ),
    nn.SiLU: (lambda _, h: silu(h), lambda _, slope, before, after: aten.silu_backward(slope, before)),
}


class Linear(NamedTuple):
    """A fully connected layer: the names of its parameters, and room for those of m workers."""

    weight_name: str
    bias_name: str | None
    weight: Tensor  # [m, out, in]
    gradient: Tensor  # [m, out, in]


class Padded(NamedTuple):
    """A matrix for each of m workers, in rows of one length."""

    rows: Tensor  # [m, p], p a multiple of ALIGNED
    part: Tensor  # the matrices in it, [m, features, B]


class Room:
    """Where a thread computes blocks of m workers: every array, and every view of one, is made once."""

    def __init__(self, layers: list[nn.Module], names: dict[int, str], samples: Tensor, like: Tensor) -> None:
        """Of `samples` `[m, B, features]` only the shape matters, of `like` the type and the device."""
        m, batch, features = samples.shape
        self.samples = room_for(m, (batch, features), like).part
        self.columns = self.samples.transpose(1, 2)
        self.minus_one = like.new_full((1, 1, 1), -1.0).expand(m, 1, batch)
        self.layers: list[nn.Module | Linear] = []
        self.after: list[Padded] = []  # what layer k makes, and the slope of the loss with respect to it
        self.slopes: list[Padded] = []
        for layer in layers:
            if isinstance(layer, nn.Linear):
                features, bias = layer.out_features, None if layer.bias is None else names[id(layer.bias)]
                own = (room_for(m, tuple(layer.weight.shape), like).part for _ in range(2))
                self.layers.append(Linear(names[id(layer.weight)], bias, *own))
            else:
                self.layers.append(layer)
            self.after.append(room_for(m, (features, batch), like))
            self.slopes.append(room_for(m, (features, batch), like))


class Block:
    """Gradients of small stacks of fully connected layers, for several workers at a time and from several threads."""

    def __init__(self, module: nn.Module, flat: Flat, loss: str) -> None:
        self.flat, self.slope = flat, SLOPES[loss]
        self.layers = [layer for layer in layers_of(module) if not isinstance(layer, nn.Flatten)]
        self.names = {id(tensor): name for name, tensor in module.named_parameters()}  # a tied one has one name
        self._here = local()

    def __call__(self, samples: Tensor, targets: Tensor, x: Tensor, result: Tensor, scale: float = 1.0) -> None:
        """samples `[m, B, ...]`, which mean themselves times `scale`, targets `[m, B, ...]`, x and result `[m, d]`."""
        samples = samples.reshape(*targets.shape[:2], -1)
        room = self._room(samples, x)
        room.samples.copy_(samples)
        self._forward(room, self.flat.parameters.views(x), scale)
        self.slope(room.after[-1].part, targets, room.minus_one, room.slopes[-1].part)
        self._backward(room, self.flat.parameters.views(result), scale)

    def _room(self, samples: Tensor, like: Tensor) -> Room:
        rooms: dict[Any, Room] = self._here.__dict__
        key = (*samples.shape, like.dtype)
        if key not in rooms:
            rooms[key] = Room(self.layers, self.names, samples, like)
        return rooms[key]

    def _forward(self, room: Room, values: dict[str, Tensor], scale: float) -> None:
        for k, layer in enumerate(room.layers):
            if not isinstance(layer, Linear):
                room.after[k].rows.copy_(ELEMENTWISE[type(layer)][0](layer, room.after[k - 1].rows))
                continue
            layer.weight.copy_(values[layer.weight_name])
            right, factor = (room.after[k - 1].part, 1.0) if k else (room.columns, scale)
            after = room.after[k].part
            bias = after if layer.bias_name is None else values[layer.bias_name].unsqueeze(2)
            beta = 0 if layer.bias_name is None else 1
            torch.baddbmm(bias, layer.weight, right, beta=beta, alpha=factor, out=after)

    def _backward(self, room: Room, result: dict[str, Tensor], scale: float) -> None:
        met: set[str] = set()
        for k in range(len(room.layers) - 1, -1, -1):
            layer, slope = room.layers[k], room.slopes[k]
            if not isinstance(layer, Linear):
                before, after = room.after[k - 1].rows, room.after[k].rows
                room.slopes[k - 1].rows.copy_(ELEMENTWISE[type(layer)][1](layer, slope.rows, before, after))
                continue
            right, factor = (room.after[k - 1].part.transpose(1, 2), 1.0) if k else (room.samples, scale)
            torch.bmm(slope.part, right, out=layer.gradient)
            if layer.weight_name in met:  # tied to one above
                result[layer.weight_name].add_(layer.gradient, alpha=factor)
            else:
                torch.mul(layer.gradient, factor, out=result[layer.weight_name])
            if layer.bias_name is not None and layer.bias_name in met:
                result[layer.bias_name].add_(slope.part.sum(2))
            elif layer.bias_name is not None:
                torch.sum(slope.part, 2, out=result[layer.bias_name])
            met |= {layer.weight_name, layer.bias_name or ""}
            if k:
                torch.bmm(layer.weight.transpose(1, 2), slope.part, out=room.slopes[k - 1].part)


def room_for(m: int, shape: tuple[int, ...], like: Tensor) -> Padded:
    rows = like.new_zeros(m, -(-prod(shape) // ALIGNED) * ALIGNED)
    return Padded(rows, rows[:, : prod(shape)].view(m, *shape))


def misfit(module: nn.Module, sample: tuple[int, ...], batch: int) -> str | None:
    """Why a module cannot be computed in blocks, or None where it can: a stack of fully connected layers."""
    layers = layers_of(module)
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    for layer in layers:
        if type(layer) not in (nn.Linear, nn.Flatten, *ELEMENTWISE):
            return f"it has a {type(layer).__name__}"
        if hooked(layer):
            return f"its {type(layer).__name__} has hooks"
        if isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) != (1, -1):
            return "it flattens some dimensions only"
    if not linear or not isinstance(next(each for each in layers if not isinstance(each, nn.Flatten)), nn.Linear):
        return "it does not begin with a fully connected layer"
    if len(sample) != 1 and not isinstance(layers[0], nn.Flatten):
        return "it does not flatten its samples"
    if batch == 1 or min(min(each.in_features, each.out_features) for each in linear) == 1:
        return "products with a vector mind where they begin in memory"  # so bits would depend on the block
    if not all(parameter.requires_grad for parameter in module.parameters()):
        return "it has frozen parameters"
    return None


def layers_of(module: nn.Module) -> list[nn.Module]:
    """In their order, those used twice twice."""
    everything = module.named_modules(remove_duplicate=False)
    return [layer for _, layer in everything if type(layer) is not nn.Sequential]


def hooked(layer: nn.Module) -> bool:
    """Whether something happens beside the layer's own computation, as with `torch.nn.utils.spectral_norm`."""
    return bool(layer._forward_pre_hooks or layer._forward_hooks)
