"""Slopes of a mean loss over one worker's batch, in the place of the outputs that they are taken at."""

from collections.abc import Callable
from math import e, factorial, log, log2
from typing import Any

from llvmlite import ir

from hiermo.kernels.code import INDEX, LANES, SINGLE, WHOLE, Code
from hiermo.kernels.products import Shape

VECTOR = ir.VectorType(SINGLE, LANES)
WHOLES = ir.VectorType(INDEX, LANES)
LEAST = -87.0  # below it an exponential is no normal number any more


def cross_entropy(module: ir.Module, shape: Shape) -> Code:
    """(labels, chosen [B], outputs [out, B], which become slopes)."""
    code = _begun(module, "cross_entropy")
    _, _, outputs = code.arguments
    build = code.builder

    def place(output: Any, s: Any) -> Any:
        return code.at(outputs, code.times(output, shape.batch), s)

    def samples(s: Any, n: int) -> None:
        greatest, total = code.variable(VECTOR), code.variable(VECTOR)
        build.store(code.load(place(0, s), n), greatest)
        with code.loop(1, shape.outputs) as output:
            value, most = code.load(place(output, s), n), build.load(greatest)
            build.store(build.select(build.fcmp_ordered(">", value, most), value, most), greatest)
        build.store(ir.Constant(VECTOR, None), total)
        with code.loop(0, shape.outputs) as output:
            power = _exponential(code, build.fsub(code.load(place(output, s), n), build.load(greatest)))
            code.store(power, place(output, s), n)
            build.store(build.fadd(build.load(total), power), total)
        with code.loop(0, shape.outputs) as output:
            code.store(build.fdiv(code.load(place(output, s), n), build.load(total)), place(output, s), n)

    _in_vectors(code, shape.batch, samples)
    return _ended(code, shape, 1 / shape.batch)


def squared_error(module: ir.Module, shape: Shape) -> Code:
    """The same for the squared distance to the label as one-hot, a mean over the outputs."""
    return _ended(_begun(module, "squared_error"), shape, 2 / (shape.outputs * shape.batch))


SLOPES: dict[str, Callable[[ir.Module, Shape], Code]] = {"cross_entropy": cross_entropy, "mse": squared_error}


def _begun(module: ir.Module, name: str) -> Code:
    return Code(module, name, [WHOLE.as_pointer(), WHOLE.as_pointer(), SINGLE.as_pointer()], own=True)


def _ended(code: Code, shape: Shape, factor: float) -> Code:
    """Less one where the label is, and all times a factor."""
    labels, chosen, outputs = code.arguments
    build, size = code.builder, shape.outputs * shape.batch
    with code.loop(0, shape.batch) as s:
        label = build.load(code.at(labels, build.load(code.at(chosen, s))))
        place = code.at(outputs, code.times(label, shape.batch), s)
        build.store(build.fsub(build.load(place), ir.Constant(SINGLE, 1.0)), place)
    everywhere = code.everywhere(ir.Constant(SINGLE, factor))

    def some(k: Any, n: int) -> None:
        place = code.at(outputs, k)
        code.store(build.fmul(code.load(place, n), everywhere), place, n)

    _in_vectors(code, size, some)
    return code.end()


def _in_vectors(code: Code, count: int, some: Callable[[Any, int], None]) -> None:
    with code.loop(0, count - count % LANES, LANES) as k:
        some(k, LANES)
    if count % LANES:
        some(count - count % LANES, count % LANES)


def _exponential(code: Code, x: Any) -> Any:
    """Of numbers not above 0: 2^n exp(r), with |r| up to log(2) / 2, for which a series of eight terms is enough."""
    build = code.builder
    low = _all(LEAST)
    x = build.select(build.fcmp_ordered("<", x, low), low, x)  # what is not a number stays so
    n = code.intrinsic("llvm.rint.v16f32", VECTOR, build.fmul(x, _all(log2(e))))
    high = float.fromhex("0x1.62e4p-1")  # log(2) in two parts: products of the first with n are exact
    r = code.fused(n, _all(-high), x)
    r = code.fused(n, _all(high - log(2)), r)
    series = _all(1 / factorial(7))
    for k in range(6, -1, -1):
        series = code.fused(series, r, _all(1 / factorial(k)))
    exponent = code.intrinsic("llvm.fptosi.sat.v16i32.v16f32", WHOLES, n)
    shifted = build.shl(build.add(exponent, _wholes(127)), _wholes(23))  # the bits of 2^n
    return build.fmul(series, build.bitcast(shifted, VECTOR))


def _all(value: float) -> Any:
    return ir.Constant(VECTOR, [ir.Constant(SINGLE, value)] * LANES)


def _wholes(value: int) -> Any:
    return ir.Constant(WHOLES, [ir.Constant(INDEX, value)] * LANES)
