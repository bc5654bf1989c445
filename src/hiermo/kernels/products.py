"""A fully connected layer of one worker on chosen rows of a large array, forward and backward.

In one pass, without a copy of the rows: they are turned from bytes into floating point in registers, and while some are
multiplied others are on their way into the cache. How many outputs and samples share the registers changes no bit.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from hiermo.kernels.code import BYTE, LANES, SINGLE, WHOLE, Code, wide_registers, zeros

LINE = 64  # bytes that come into the cache at once
AHEAD = 8  # samples between the one that is computed and the one that is fetched


class Shape(NamedTuple):
    """Of a layer, and of the samples that it is given."""

    features: int
    outputs: int
    batch: int
    pixels: bool  # bytes instead of floating point

    @property
    def sample(self) -> Any:
        return (BYTE if self.pixels else SINGLE).as_pointer()


def outputs(module: ir.Module, shape: Shape) -> Code:
    """(rows, chosen [B], weight [out, in], bias [out], into [out, B], scale): scale * weight * rows + bias."""
    number = SINGLE.as_pointer()
    code = Code(module, "outputs_of_one", [shape.sample, WHOLE.as_pointer(), number, number, number, SINGLE], own=True)
    rows, chosen, weight, bias, into, scale = code.arguments
    build, features, batch = code.builder, shape.features, shape.batch

    def row(s: Any) -> Any:
        return code.at(rows, code.times(build.load(code.at(chosen, s)), features))

    def block(output: Any, count: int, s: Any, samples: int) -> None:
        here = [row(code.plus(s, a)) for a in range(samples)]
        for a in range(samples):
            ahead = build.bitcast(row(code.least(code.plus(s, AHEAD + a), batch - 1)), BYTE.as_pointer())
            with code.loop(0, features * (1 if shape.pixels else 4), LINE) as k:
                code.fetch(code.at(ahead, k))
        weights = [code.at(weight, code.times(code.plus(output, q), features)) for q in range(count)]
        sums = [_sums(code, samples) for _ in range(count)]

        def add(k: Any, n: int) -> None:
            values = [_floating(code, code.load(code.at(each, k), n)) for each in here]
            for q in range(count):
                factor = code.load(code.at(weights[q], k), n)
                for value, total in zip(values, sums[q], strict=True):
                    build.store(code.fused(value, factor, build.load(total)), total)

        with code.loop(0, features - features % LANES, LANES) as k:
            add(k, LANES)
        if features % LANES:
            add(features - features % LANES, features % LANES)
        for q in range(count):
            plus = build.load(code.at(bias, output, q))
            for a in range(samples):
                product = build.fmul(code.total(build.load(sums[q][a])), scale)
                place = code.at(into, code.times(code.plus(output, q), batch), s, a)
                build.store(build.fadd(product, plus), place)

    def group(output: Any, count: int) -> None:
        with code.loop(0, batch - batch % 2, 2) as s:
            block(output, count, s, 2)
        if batch % 2:
            block(output, count, batch - 1, 1)

    _in_groups(code, shape.outputs, group)
    return code.end()


def slopes(module: ir.Module, shape: Shape) -> Code:
    """(rows, chosen [B], slope [out, B], into [out, in], scale): scale * slope * rows."""
    number = SINGLE.as_pointer()
    code = Code(module, "slopes_of_one", [shape.sample, WHOLE.as_pointer(), number, number, SINGLE], own=True)
    rows, chosen, slope, into, scale = code.arguments
    build, features, batch, vectors = code.builder, shape.features, shape.batch, 2
    factor = code.everywhere(scale)

    def columns(output: Any, count: int, k: Any, lengths: Sequence[int]) -> None:
        sums = [_sums(code, len(lengths)) for _ in range(count)]
        with code.loop(0, batch) as s:
            row = code.at(rows, code.times(build.load(code.at(chosen, s)), features), k)
            values = [_floating(code, code.load(code.at(row, i * LANES), n)) for i, n in enumerate(lengths)]
            for q in range(count):
                weight = code.everywhere(build.load(code.at(slope, code.times(code.plus(output, q), batch), s)))
                for value, total in zip(values, sums[q], strict=True):
                    build.store(code.fused(weight, value, build.load(total)), total)
        for q in range(count):
            for i, n in enumerate(lengths):
                place = code.at(into, code.times(code.plus(output, q), features), k, i * LANES)
                code.store(build.fmul(build.load(sums[q][i]), factor), place, n)

    def group(output: Any, count: int) -> None:
        whole = features // (vectors * LANES) * vectors * LANES
        with code.loop(0, whole, vectors * LANES) as k:
            columns(output, count, k, [LANES] * vectors)
        if rest := [min(LANES, features - k) for k in range(whole, features, LANES)]:
            columns(output, count, whole, rest)

    _in_groups(code, shape.outputs, group)
    return code.end()


def _in_groups(code: Code, outputs: int, group: Callable[[Any, int], None]) -> None:
    """All outputs, as many at a time as there are registers for, with two vectors each."""
    at_once = 10 if wide_registers() else 3
    whole = outputs - outputs % at_once
    if whole:
        with code.loop(0, whole, at_once) as output:
            group(output, at_once)
    if outputs % at_once:
        group(whole, outputs % at_once)


def _sums(code: Code, count: int) -> list[Any]:
    found = [code.variable(ir.VectorType(SINGLE, LANES)) for _ in range(count)]
    for each in found:
        code.builder.store(zeros(SINGLE), each)
    return found


def _floating(code: Code, values: Any) -> Any:
    if values.type.element is not BYTE:
        return values
    return code.builder.uitofp(values, ir.VectorType(SINGLE, LANES))
