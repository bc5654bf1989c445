"""The loop of weighted sums."""

from typing import Any

from llvmlite import ir

from hiermo.kernels.code import DOUBLE, LANES, SINGLE, WHOLE, Code, compiled

COLUMNS = 1024  # whose sums stay in the fastest cache


def function(*, double: bool) -> Any:
    """(rows, numbers from one to the next; which of them are added, their shares, where those of each sum begin; first
    sum, end of the sums; into, numbers from one to the next; how many columns)."""
    (found,) = compiled(lambda module: [_written(module, DOUBLE if double else SINGLE)])
    return found


def _written(module: ir.Module, kind: Any) -> Code:
    number, whole_number = kind.as_pointer(), WHOLE.as_pointer()
    kinds = [number, WHOLE, whole_number, DOUBLE.as_pointer(), whole_number, WHOLE, WHOLE, number, WHOLE, WHOLE]
    code = Code(module, "sums", kinds)
    rows, step, chosen, shares, ends, first, end, into, into_step, columns = code.arguments
    build, sums = code.builder, code.variable(DOUBLE, COLUMNS)
    wide, narrow = ir.VectorType(DOUBLE, LANES), ir.VectorType(kind, LANES)

    def cast(value: Any, target: Any) -> Any:
        if kind is DOUBLE:
            return value
        return build.fpext(value, target) if target in (wide, DOUBLE) else build.fptrunc(value, target)

    with code.loop(first, end) as parent, code.loop(0, columns, COLUMNS) as begin:
        n = code.least(build.sub(columns, begin), COLUMNS)
        whole = build.mul(build.sdiv(n, ir.Constant(WHOLE, LANES)), ir.Constant(WHOLE, LANES))

        def add(child: Any, *, first: bool) -> None:
            row = code.at(rows, code.times(build.load(code.at(chosen, child)), step), begin)
            share = build.load(code.at(shares, child))
            everywhere = code.everywhere(share)
            with code.loop(0, whole, LANES) as k:
                part = build.fmul(cast(code.load(code.at(row, k)), wide), everywhere)
                code.store(part if first else build.fadd(code.load(code.at(sums, k)), part), code.at(sums, k))
            with code.loop(whole, n) as k:
                part = build.fmul(cast(build.load(code.at(row, k)), DOUBLE), share)
                build.store(part if first else build.fadd(build.load(code.at(sums, k)), part), code.at(sums, k))

        eldest = build.load(code.at(ends, parent))
        add(eldest, first=True)
        with code.loop(code.plus(eldest, 1), build.load(code.at(ends, parent, 1))) as child:
            add(child, first=False)
        place = code.at(into, code.times(parent, into_step), begin)
        with code.loop(0, whole, LANES) as k:
            code.store(cast(code.load(code.at(sums, k)), narrow), code.at(place, k))
        with code.loop(whole, n) as k:
            build.store(cast(build.load(code.at(sums, k)), kind), code.at(place, k))
    return code.end()
