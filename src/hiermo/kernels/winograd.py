"""Convolutions of 3 x 3 and of 5 x 5 with a quarter, and a third, of the multiplications: Winograd's minimal filtering.

An image is taken apart into tiles of 6 x 6 that overlap. Tiles and kernels are transformed so that a convolution is a
product number by number: over many channels, 36 products of matrices. What comes of them is transformed back. See
A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv 1509.09308.

All is done for some tiles at a time, which stay in cache; every number is a sum in one order, whatever the registers.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any

from llvmlite import ir
import numpy as np
from numpy.typing import NDArray

from hiermo.kernels.code import LANES, SINGLE, WHOLE, Code, compiled, whole, wide_registers, zeros

SIDE = 6  # of a tile
PLACES = SIDE * SIDE
PANEL = 2 * LANES  # channels of one panel of transformed kernels
POINTS = tuple(map(Fraction, ("0", "1", "-1", "1/2", "-2")))  # of all simple ones those with the smallest errors

NUMBERS = SINGLE.as_pointer()
Matrix = list[list[Fraction]]


def of_kernels(size: int) -> NDArray[np.float64]:
    """What makes transformed kernels, `[PLACES]`, of kernels `[size * size]`; its transpose makes slopes of slopes."""
    scales = [prod(p - q for q in POINTS if q != p) for p in POINTS]
    rows = [[p**k / scale for k in range(size)] for p, scale in zip(POINTS, scales, strict=True)]
    at_infinity = [[Fraction(0)] * (size - 1) + [Fraction(1)]]
    single = np.array(rows + at_infinity, float)
    return np.kron(single, single)


def _of_images() -> Matrix:
    """Values of six numbers of an image, as the coefficients of polynomials that vanish at all points but one."""
    return [[*_with_roots([q for q in POINTS if q != p]), Fraction(0)] for p in POINTS] + [_with_roots(POINTS)]


def _of_products(size: int) -> Matrix:
    """Back to SIDE - size + 1 numbers of a convolution."""
    n = SIDE - size + 1
    return [[*(p**i for p in POINTS), Fraction(int(i == n - 1))] for i in range(n)]


def _with_roots(roots: Any) -> list[Fraction]:
    """Coefficients of a polynomial, lowest power first."""
    found = [Fraction(1)]
    for root in roots:
        found = [a - root * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return found


@cache
def functions(size: int) -> list[Any]:
    """`convolve` and `slopes` for kernels of size x size; see there for what they are given."""
    return compiled(lambda module: [_convolve(module, size), _slopes(module, size)])


def _convolve(module: ir.Module, size: int) -> Code:
    """(images; height, width, channels; padding; kernels; bias; into; its height, width, channels; tiles; tiles at a
    time; room for transformed tiles, for their products; zeros, rubbish).

    Kernels are `[PLACES, panels of channels that come out, channels that go in, PANEL]`, zeros and rubbish as many
    numbers as there are channels, tiles at a time a multiple of 8.
    """
    kinds = [NUMBERS, WHOLE, WHOLE, WHOLE, WHOLE, NUMBERS, NUMBERS, NUMBERS, *[WHOLE] * 5, *[NUMBERS] * 4]
    code = Code(module, f"convolve_{size}", kinds)
    images, height, width, channels, padding, kernels, bias, into, *rest = code.arguments
    into_height, into_width, into_channels, tiles, at_once, room, products, nothing, rubbish = rest
    build, each = code.builder, SIDE - size + 1
    across, down = _tiles(code, into_width, each), _tiles(code, into_height, each)
    taken = _Tile(code, SIDE, images, (height, width, channels), nothing)
    given = _Tile(code, each, into, (into_height, into_width, into_channels), rubbish)
    step = code.times(at_once, into_channels)
    negative = build.sub(whole(0), padding)
    with code.loop(0, tiles, at_once) as first:
        with code.loop(0, at_once) as t:
            taken.look(code.plus(first, t), tiles, (down, across), each, negative)
            taken.transform(_of_images(), room, t, at_once)
        _multiply(code, room, kernels, products, at_once, channels, into_channels)
        with code.loop(0, at_once) as t:
            given.look(code.plus(first, t), tiles, (down, across), each, whole(0))
            with code.loop(0, into_channels, LANES) as c:
                place = code.at(products, code.times(t, into_channels), c)
                plus = code.load(code.at(bias, c))
                found = _both_ways(code, _of_products(size), _collect(code, place, step))
                given.write(c, [[build.fadd(value, plus) for value in row] for row in found])
    return code.end()


def _slopes(module: ir.Module, size: int) -> Code:
    """(images; height, width, channels; padding; slopes of what comes out; its height, width, channels; tiles; tiles at
    a time; room for transformed images, for transformed slopes; into; zeros).

    `into` is laid out as transformed kernels.
    """
    kinds = [NUMBERS, WHOLE, WHOLE, WHOLE, WHOLE, NUMBERS, *[WHOLE] * 5, *[NUMBERS] * 4]
    code = Code(module, f"slopes_{size}", kinds)
    images, height, width, channels, padding, above, *rest = code.arguments
    above_height, above_width, above_channels, tiles, at_once, room, other_room, into, nothing = rest
    each = SIDE - size + 1
    across, down = _tiles(code, above_width, each), _tiles(code, above_height, each)
    taken = _Tile(code, SIDE, images, (height, width, channels), nothing)
    slope = _Tile(code, each, above, (above_height, above_width, above_channels), nothing)
    negative = code.builder.sub(whole(0), padding)
    back = [list(column) for column in zip(*_of_products(size), strict=True)]
    with code.loop(0, tiles, at_once) as first:
        with code.loop(0, at_once) as t:
            taken.look(code.plus(first, t), tiles, (down, across), each, negative)
            taken.transform(_of_images(), room, t, at_once)
            slope.look(code.plus(first, t), tiles, (down, across), each, whole(0))
            slope.transform(back, other_room, t, at_once)
        begun = code.builder.icmp_signed(">", first, whole(0))
        _multiply_back(code, room, other_room, into, at_once, channels, above_channels, begun)
    return code.end()


def _tiles(code: Code, length: Any, each: int) -> Any:
    return code.builder.sdiv(code.plus(length, each - 1), whole(each))


class _Tile:
    """Where the side x side pixels of a tile lie; those outside of the image, or of a tile that is not, lie elsewhere.

    Images are `[image, height, width, channel]`.
    """

    def __init__(self, code: Code, side: int, images: Any, sizes: tuple[Any, Any, Any], elsewhere: Any) -> None:
        self.code, self.side, self.images, self.sizes, self.elsewhere = code, side, images, sizes, elsewhere
        self.table = code.variable(NUMBERS, side * side)

    def look(self, tile: Any, tiles: Any, grid: tuple[Any, Any], each: int, offset: Any) -> None:
        """Finds the pixels of a tile, numbered row by row and image by image; tiles begin `each` pixels apart."""
        code, build = self.code, self.code.builder
        height, width, channels = self.sizes
        rows, columns = grid
        image = build.sdiv(tile, code.times(rows, columns))
        own = build.srem(tile, code.times(rows, columns))
        top = code.plus(code.times(build.sdiv(own, columns), each), offset)
        left = code.plus(code.times(build.srem(own, columns), each), offset)
        there = build.icmp_signed("<", tile, tiles)
        vertical = [self._inside(code.plus(top, i), height, there) for i in range(self.side)]
        horizontal = [self._inside(code.plus(left, j), width, there) for j in range(self.side)]
        for i in range(self.side):
            line = code.times(code.plus(code.times(image, height), top, i), width)
            for j in range(self.side):
                place = code.at(self.images, code.times(code.plus(line, left, j), channels))
                found = build.select(build.and_(vertical[i], horizontal[j]), place, self.elsewhere)
                build.store(found, code.at(self.table, i * self.side + j))

    def _inside(self, k: Any, length: Any, there: Any) -> Any:
        return self.code.builder.and_(there, self.code.builder.icmp_unsigned("<", k, length))

    def transform(self, matrix: Matrix, into: Any, t: Any, at_once: Any) -> None:
        """Its numbers, as the t-th tile, into each of 36 matrices `[at_once, channels]`."""
        code, channels = self.code, self.sizes[2]
        step = code.times(at_once, channels)
        with code.loop(0, channels, LANES) as c:
            place = code.at(into, code.times(t, channels), c)
            values = _both_ways(code, matrix, self.read(c))
            for k, value in enumerate(value for row in values for value in row):
                code.store(value, code.at(place, code.times(step, k)))

    def read(self, channel: Any) -> list[list[Any]]:
        return [[self.code.load(self._place(i, j, channel)) for j in range(self.side)] for i in range(self.side)]

    def write(self, channel: Any, values: list[list[Any]]) -> None:
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                self.code.store(value, self._place(i, j, channel))

    def _place(self, i: int, j: int, channel: Any) -> Any:
        return self.code.at(self.code.builder.load(self.code.at(self.table, i * self.side + j)), channel)


def _both_ways(code: Code, matrix: Matrix, values: list[list[Any]]) -> list[list[Any]]:
    """matrix * values * matrix^T"""
    columns = [_combined(code, matrix, list(column)) for column in zip(*values, strict=True)]
    return [_combined(code, matrix, list(row)) for row in zip(*columns, strict=True)]


def _combined(code: Code, matrix: Matrix, values: list[Any]) -> list[Any]:
    """Each row: a sum of values, each times a number."""
    build = code.builder

    def times(factor: Fraction, value: Any, total: Any) -> Any:
        if abs(factor) == 1:
            return (build.fadd if factor > 0 else build.fsub)(total, value)
        return code.fused(_all(factor), value, total)

    found = []
    for row in matrix:
        terms = sorted(((c, v) for c, v in zip(row, values, strict=True) if c), key=lambda term: term[0] != 1)
        (first, value), *rest = terms
        total = value if first == 1 else build.fmul(_all(first), value)
        for factor, value in rest:
            total = times(factor, value, total)
        found.append(total)
    return found


def _all(value: Fraction) -> Any:
    return ir.Constant(ir.VectorType(SINGLE, LANES), [ir.Constant(SINGLE, float(value))] * LANES)


def _collect(code: Code, place: Any, step: Any) -> list[list[Any]]:
    return [[code.load(code.at(place, code.times(step, i * SIDE + j))) for j in range(SIDE)] for i in range(SIDE)]


def _multiply(code: Code, left: Any, right: Any, into: Any, rows: Any, inner: Any, columns: Any) -> None:
    """Of every place: `[rows, inner]` times `[panels, inner, PANEL]` into `[rows, columns]`."""
    panels = code.builder.sdiv(columns, whole(PANEL))

    def block(place: Any, panel: Any, row: Any) -> None:
        own = code.at(left, code.times(code.plus(code.times(place, rows), row), inner))
        other = code.at(right, code.times(code.times(code.plus(code.times(place, panels), panel), inner), PANEL))
        result = code.at(into, code.times(code.plus(code.times(place, rows), row), columns), code.times(panel, PANEL))
        sums = _products(
            code,
            inner,
            lambda k, j: code.at(own, code.times(inner, j), k),
            lambda k, part: code.at(other, code.times(k, PANEL), part),
        )
        for j, parts in enumerate(sums):
            for part, value in parts.items():
                code.store(value, code.at(result, code.times(columns, j), part))

    _in_blocks(code, panels, rows, block)


def _multiply_back(
    code: Code, left: Any, right: Any, into: Any, inner: Any, rows: Any, columns: Any, begun: Any
) -> None:
    """Of every place: `[inner, rows]`, transposed, times `[inner, columns]`, into `[panels, rows, PANEL]`.

    Added to what is there, if that was `begun`.
    """
    panels = code.builder.sdiv(columns, whole(PANEL))

    def block(place: Any, panel: Any, row: Any) -> None:
        own = code.at(left, code.times(code.times(place, inner), rows), row)
        other = code.at(right, code.times(code.times(place, inner), columns), code.times(panel, PANEL))
        line = code.plus(code.times(code.plus(code.times(place, panels), panel), rows), row)
        result = code.at(into, code.times(line, PANEL))
        sums = _products(
            code,
            inner,
            lambda k, j: code.at(own, code.times(k, rows), j),
            lambda k, part: code.at(other, code.times(k, columns), part),
        )
        for j, parts in enumerate(sums):
            for part, value in parts.items():
                at = code.at(result, j * PANEL, part)
                before = code.builder.select(begun, code.load(at), zeros(SINGLE))
                code.store(code.builder.fadd(before, value), at)

    _in_blocks(code, panels, rows, block)


def _in_blocks(code: Code, panels: Any, rows: Any, block: Callable[[Any, Any, Any], None]) -> None:
    with code.loop(0, PLACES) as place, code.loop(0, panels) as panel, code.loop(0, rows, _rows()) as row:
        block(place, panel, row)


def _rows() -> int:
    """Whose sums with one panel fit into the registers."""
    return 8 if wide_registers() else 2


def _products(
    code: Code, inner: Any, left: Callable[[Any, int], Any], right: Callable[[Any, int], Any]
) -> list[dict[int, Any]]:
    """Sums over `inner` of numbers at `left(k, row)` times the panel at `right(k, 0)`: for each row, its parts."""
    build, parts = code.builder, range(0, PANEL, LANES)
    sums = [{part: code.variable(ir.VectorType(SINGLE, LANES)) for part in parts} for _ in range(_rows())]
    for row in sums:
        for total in row.values():
            build.store(zeros(SINGLE), total)
    with code.loop(0, inner) as k:
        values = {part: code.load(right(k, part)) for part in parts}
        for j, row in enumerate(sums):
            factor = code.everywhere(build.load(left(k, j)))
            for part, total in row.items():
                build.store(code.fused(factor, values[part], build.load(total)), total)
    return [{part: build.load(total) for part, total in row.items()} for row in sums]
