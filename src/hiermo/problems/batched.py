"""Gradients of a block of workers as one computation: their layers as batched matrix products.

Forward and backward pass are written out: for models this small the bookkeeping of automatic differentiation costs as
much as the arithmetic. Activations are kept as `[m, features, B]`, one column per sample: then the fast direction of
every product is the long one.

A worker's gradient has the same bits whatever block it is computed in: its matrices are products of their own, and lie
as those of every other worker do with respect to a multiple of `ALIGNED`; functions are applied to whole padded rows;
the loss is a mean over its own batch.
"""

from collections.abc import Callable
from functools import cached_property, partial
from math import prod
from threading import local
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, silu

from hiermo.kernels.layer import Layer, Places
from hiermo.kernels.products import Shape
from hiermo.models.flat import Flat
from hiermo.problems.losses import SLOPES

ALIGNED = 32  # numbers, two vector registers: kernels choose by the address, and loops leave the rest to other code
ON_THE_STACK = 1 << 16  # outputs of a batch

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
    """A fully connected layer of m workers: views of their models and of their gradients."""

    weight: Tensor  # [m, out, in]
    bias: Tensor | None  # [m, out, 1]
    weight_slope: Tensor
    bias_slope: Tensor | None  # [m, out]
    tied: tuple[bool, bool]  # weight and bias to those of a layer above, whose gradient is there already


class Padded(NamedTuple):
    """A matrix for each of m workers, in rows of one length."""

    rows: Tensor  # [m, p], p a multiple of ALIGNED
    part: Tensor  # the matrices in it, [m, features, B]


class Room:
    """Where a thread computes blocks of m workers: every array, and every view of one, is made once.

    A call of torch lets go of Python's lock and has to win it back, so with several threads fewer calls count double.
    """

    def __init__(self, block: "Block", x_of: Tensor, y_of: Tensor, m: int, batch: int) -> None:
        """`x_of` and `y_of` are all samples and targets, `[n, ...]`: only their shapes and types matter."""
        like, flat = block.like, block.flat.parameters
        self.targets = y_of.new_empty(m * batch, *y_of.shape[1:])
        self.target_columns = self.targets.view(m, batch, -1).transpose(1, 2)  # [m, 1 or k, B]
        self.batch = batch
        self._samples_like = (like, m, batch, prod(x_of.shape[1:]))
        self.minus_one = like.new_full((1, 1, 1), -1.0).expand(m, 1, batch)
        self.models, self.gradients = (room_for(m, (flat.size,), like).part for _ in range(2))  # [m, d]
        self.after: list[Padded] = []  # what layer k makes, and the slope of the loss with respect to it
        self.slopes: list[Padded] = []
        self.layers: list[nn.Module | Linear] = []
        values, slopes, features = flat.views(self.models), flat.views(self.gradients), prod(x_of.shape[1:])
        met: set[str] = set()
        for layer in reversed(block.layers):
            if isinstance(layer, nn.Linear):
                name, bias = block.names[id(layer.weight)], block.names.get(id(layer.bias), "")
                column = values[bias].unsqueeze(2) if bias else None
                own = Linear(values[name], column, slopes[name], slopes.get(bias), (name in met, bias in met))
                self.layers.insert(0, own)
                met |= {name, bias}
            else:
                self.layers.insert(0, layer)
        for layer in block.layers:
            features = layer.out_features if isinstance(layer, nn.Linear) else features
            self.after.append(room_for(m, (features, batch), like))
            self.slopes.append(room_for(m, (features, batch), like))

    @cached_property
    def samples(self) -> Tensor:
        """`[m, B, features]`, for those who do not take them from where they are stored."""
        like, m, batch, features = self._samples_like
        return room_for(m, (batch, features), like).part


class Block:
    """Gradients of small stacks of fully connected layers, for several workers at a time and from several threads."""

    def __init__(self, module: nn.Module, flat: Flat, loss: str) -> None:
        self.flat, self.loss, self.slope = flat, loss, SLOPES[loss]
        self.layers = [layer for layer in layers_of(module) if not isinstance(layer, nn.Flatten)]
        self.names = {id(tensor): name for name, tensor in module.named_parameters()}  # a tied one has one name
        self.like = next(module.parameters()).detach()
        self._here = local()
        first: Any = self.layers[0]
        name, bias = self.names[id(first.weight)], self.names.get(id(first.bias))
        span = flat.parameters.span(name)
        self._weight = partial(flat.parameters.view, name)
        self._places = Places(span.start, None if bias is None else flat.parameters.span(bias).start)
        self._alone = len(self.layers) == 1
        self._rest = [part for part in (slice(0, span.start), slice(span.stop, flat.parameters.size)) if spans(part)]
        tied = sum(getattr(layer, "weight", None) is first.weight for layer in self.layers) > 1
        self._plain = self.like.device.type == "cpu" and self.like.dtype == torch.float32 and not tied

    @property
    def outputs(self) -> int:
        """Of the last layer."""
        return [layer.out_features for layer in self.layers if isinstance(layer, nn.Linear)][-1]

    def _first_of(self, room: Room) -> tuple[Tensor, Tensor | None]:
        layer = room.layers[0]
        assert isinstance(layer, Linear)
        return layer.weight, layer.bias

    def _room(self, x_of: Tensor, y_of: Tensor, m: int, batch: int) -> Room:
        """This thread's room for m workers."""
        rooms: dict[Any, Room] = self._here.__dict__
        key = (m, batch, x_of.shape[1:], x_of.dtype)
        if key not in rooms:
            rooms[key] = Room(self, x_of, y_of, m, batch)
        return rooms[key]

    def gradients(self, x: Tensor, rows: Tensor, targets: Tensor, chosen: Tensor, scale: float = 1.0) -> Tensor:
        """Of the models `[m, d]` on chosen rows of all samples, which mean themselves times `scale`, one after another.

        `chosen` and labels must be within their bounds: not every way to compute looks.
        """
        m, chosen = x.shape[0], chosen.contiguous()
        batch = chosen.shape[0] // m
        if not (self._plain and rows.is_contiguous() and rows.dtype in (torch.uint8, torch.float32)):
            room = self._room(rows, targets, m, batch)
            torch.index_select(targets, 0, chosen, out=room.targets)
            room.models.copy_(x)
            room.samples.copy_(rows.index_select(0, chosen).view(room.samples.shape))
            self._multiplied(room, 0, room.samples.transpose(1, 2), scale)
            self._all_but_the_first(room)
            self._multiplied_back(room, 0, room.samples, scale)
            return room.gradients.clone(memory_format=torch.contiguous_format)
        # the first layer is most of the work: no copies of samples and gradients there
        first: Any = self.layers[0]
        pixels = rows.dtype == torch.uint8
        layer = Layer(Shape(first.in_features, first.out_features, batch, pixels), self.loss)
        result, x = torch.empty_like(x, memory_format=torch.contiguous_format), x.contiguous()
        if self._alone and not targets.is_floating_point() and first.out_features * batch <= ON_THE_STACK:
            layer.gradients(rows, targets.contiguous(), chosen, x, result, self._places, scale)
            return result
        room = self._room(rows, targets, m, batch)
        torch.index_select(targets, 0, chosen, out=room.targets)
        room.models.copy_(x)
        layer.outputs(rows, chosen, *self._first_of(room), scale, room.after[0].part)
        self._all_but_the_first(room)
        layer.slopes(rows, chosen, room.slopes[0].part, scale, self._weight(result))
        for columns in self._rest:
            result[:, columns] = room.gradients[:, columns]
        return result

    def _all_but_the_first(self, room: Room) -> None:
        """From the first layer's outputs to their slopes, with the gradients of its bias and of the layers above."""
        for k, layer in enumerate(room.layers[1:], 1):
            before = room.after[k - 1]
            if isinstance(layer, Linear):
                self._multiplied(room, k, before.part)
            else:
                room.after[k].rows.copy_(ELEMENTWISE[type(layer)][0](layer, before.rows))
        self.slope(room.after[-1].part, room.target_columns, room.minus_one, room.slopes[-1].part)
        for k in range(len(room.layers) - 1, -1, -1):
            layer, slope = room.layers[k], room.slopes[k]
            if not isinstance(layer, Linear):
                before, after = room.after[k - 1], room.after[k]
                changed = ELEMENTWISE[type(layer)][1](layer, slope.rows, before.rows, after.rows)
                room.slopes[k - 1].rows.copy_(changed)
                continue
            if layer.bias_slope is not None and layer.tied[1]:
                layer.bias_slope.add_(slope.part.sum(2))
            elif layer.bias_slope is not None:
                torch.sum(slope.part, 2, out=layer.bias_slope)
            if k:
                torch.bmm(layer.weight.transpose(1, 2), slope.part, out=room.slopes[k - 1].part)
                self._multiplied_back(room, k, room.after[k - 1].part.transpose(1, 2))

    def _multiplied(self, room: Room, k: int, right: Tensor, scale: float = 1.0) -> None:
        layer, into = room.layers[k], room.after[k].part
        assert isinstance(layer, Linear)
        if layer.bias is None:
            torch.baddbmm(into, layer.weight, right, beta=0, alpha=scale, out=into)
        else:
            torch.baddbmm(layer.bias, layer.weight, right, alpha=scale, out=into)

    def _multiplied_back(self, room: Room, k: int, right: Tensor, scale: float = 1.0) -> None:
        layer = room.layers[k]
        assert isinstance(layer, Linear)
        into, kept = layer.weight_slope, 1 if layer.tied[0] else 0
        torch.baddbmm(into, room.slopes[k].part, right, beta=kept, alpha=scale, out=into)


def spans(part: slice) -> bool:
    return bool(part.start < part.stop)


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
    hooks = layer._forward_pre_hooks, layer._forward_hooks, layer._backward_pre_hooks, layer._backward_hooks
    return any(map(bool, hooks))
