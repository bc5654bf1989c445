"""The first layer of the small models of many workers: `[m, outputs, features]` on `batch` chosen rows each.

Every worker is computed by himself: his bits cannot depend on who else is.
"""

from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir
import torch
from torch import Tensor

from hiermo.kernels import products
from hiermo.kernels.code import SINGLE, WHOLE, Code, compiled
from hiermo.kernels.products import Shape
from hiermo.kernels.slopes import SLOPES


class Places(NamedTuple):
    """Where weight and bias begin in a model `[d]`."""

    weight: int
    bias: int | None


class Layer:
    """`rows` is all samples, `[n, features]` in one piece; `chosen` is `[m * batch]`, and must be within it."""

    def __init__(self, shape: Shape, loss: str) -> None:
        self._outputs, self._slopes, self._gradients = _functions(shape, loss)
        self._none = (_zeros(shape.outputs).data_ptr(), 0)  # no bias

    def outputs(
        self, rows: Tensor, chosen: Tensor, weight: Tensor, bias: Tensor | None, scale: float, into: Tensor
    ) -> None:
        """scale * weight * rows[chosen] + bias -> `[m, outputs, batch]`."""
        added = self._none if bias is None else _place(bias)
        self._outputs(*_begin(rows, chosen, weight), *added, *_place(into), scale)

    def slopes(self, rows: Tensor, chosen: Tensor, slope: Tensor, scale: float, into: Tensor) -> None:
        """scale * slope * rows[chosen] -> `[m, outputs, features]`; `slope` is `[m, outputs, batch]`."""
        self._slopes(*_begin(rows, chosen, slope), *_place(into), scale)

    def gradients(
        self, rows: Tensor, labels: Tensor, chosen: Tensor, x: Tensor, into: Tensor, places: Places, scale: float
    ) -> None:
        """Of the loss, where this layer is the whole model: of models `[m, d]` into others like them.

        `labels` are of all rows, and must be below `outputs`.
        """
        here, there, step = x.data_ptr(), into.data_ptr(), x.stride(0)
        bias = self._none if places.bias is None else (here + 4 * places.bias, step)
        self._gradients(
            rows.data_ptr(),
            chosen.data_ptr(),
            x.shape[0],
            here + 4 * places.weight,
            step,
            *bias,
            labels.data_ptr(),
            there + 4 * places.weight,
            step,
            0 if places.bias is None else there + 4 * places.bias,
            step,
            scale,
        )


def _begin(rows: Tensor, chosen: Tensor, of_workers: Tensor) -> tuple[int, ...]:
    return rows.data_ptr(), chosen.data_ptr(), len(of_workers), *_place(of_workers)


def _place(tensor: Tensor) -> tuple[int, int]:
    """Address, and numbers from one worker to the next."""
    return tensor.data_ptr(), tensor.stride(0)


@cache
def _zeros(n: int) -> Tensor:
    return torch.zeros(n)


@cache
def _functions(shape: Shape, loss: str) -> list[Any]:
    def write(module: ir.Module) -> list[Code]:
        forward, backward = products.outputs(module, shape), products.slopes(module, shape)
        slope = SLOPES[loss](module, shape)
        return [
            _of_all_outputs(module, shape, forward),
            _of_all_slopes(module, shape, backward),
            _of_all_gradients(module, shape, forward, slope, backward),
        ]

    return compiled(write)


def _of_all_outputs(module: ir.Module, shape: Shape, forward: Code) -> Code:
    number, chosen_by = SINGLE.as_pointer(), WHOLE.as_pointer()
    kinds = [shape.sample, chosen_by, WHOLE, number, WHOLE, number, WHOLE, number, WHOLE, SINGLE]
    code = Code(module, "outputs", kinds)
    rows, chosen, m, weight, weight_step, bias, bias_step, into, into_step, scale = code.arguments
    with code.loop(0, m) as j:
        own = code.at(chosen, code.times(j, shape.batch))
        places = [(weight, weight_step), (bias, bias_step), (into, into_step)]
        code.call(forward, rows, own, *(code.at(each, code.times(j, step)) for each, step in places), scale)
    return code.end()


def _of_all_slopes(module: ir.Module, shape: Shape, backward: Code) -> Code:
    number, chosen_by = SINGLE.as_pointer(), WHOLE.as_pointer()
    code = Code(module, "slopes", [shape.sample, chosen_by, WHOLE, number, WHOLE, number, WHOLE, SINGLE])
    rows, chosen, m, slope, slope_step, into, into_step, scale = code.arguments
    with code.loop(0, m) as j:
        own = code.at(chosen, code.times(j, shape.batch))
        places = [(slope, slope_step), (into, into_step)]
        code.call(backward, rows, own, *(code.at(each, code.times(j, step)) for each, step in places), scale)
    return code.end()


def _of_all_gradients(module: ir.Module, shape: Shape, forward: Code, slope: Code, backward: Code) -> Code:
    number, whole = SINGLE.as_pointer(), WHOLE.as_pointer()
    kinds = [shape.sample, whole, WHOLE, number, WHOLE, number, WHOLE, whole, number, WHOLE, number, WHOLE, SINGLE]
    code = Code(module, "gradients", kinds)
    rows, chosen, m, weight, weight_step, bias, bias_step, labels, *into, scale = code.arguments
    room = code.variable(SINGLE, shape.outputs * shape.batch)
    weight_into, weight_into_step, bias_into, bias_into_step = into
    with code.loop(0, m) as j:
        own = code.at(chosen, code.times(j, shape.batch))
        matrix, added = code.at(weight, code.times(j, weight_step)), code.at(bias, code.times(j, bias_step))
        code.call(forward, rows, own, matrix, added, room, scale)
        code.call(slope, labels, own, room)
        code.call(backward, rows, own, room, code.at(weight_into, code.times(j, weight_into_step)), scale)
        with code.only_if(code.there(bias_into)):
            result = code.at(bias_into, code.times(j, bias_into_step))
            with code.loop(0, shape.outputs) as output:
                line = code.at(room, code.times(output, shape.batch))
                code.builder.store(code.sum_of(line, shape.batch), code.at(result, output))
    return code.end()
