"""The loop that draws delays: for each node a hash of its key and of t, and out of it a number of the node's source.

The arithmetic is that of `hiermo.clock.draws` and `hiermo.clock.sources`, number by number; a test compares the bits.
"""

from functools import cache
from typing import Any

from llvmlite import ir

from hiermo.kernels.code import DOUBLE, WHOLE, Code, compiled


@cache
def function(first: int, low: float, entries: int, shift: int) -> Any:
    """(keys, groups, how many nodes, what is added to a key; of each group: whether its values are samples, each as
    likely, or else quantiles, where they begin, how many they are, factor, whether it is turned over; values; into).
    The constants are those of a table of quantiles."""
    (found,) = compiled(lambda module: [_written(module, first, low, entries, shift)])
    return found


def _written(module: ir.Module, first: int, low: float, entries: int, shift: int) -> Code:
    wholes, doubles = WHOLE.as_pointer(), DOUBLE.as_pointer()
    kinds = [wholes, wholes, WHOLE, WHOLE, wholes, wholes, wholes, doubles, wholes, doubles, doubles]
    code = Code(module, "drawn", kinds)
    keys, group, n, added, samples, offset, count, factor, turned, values, into = code.arguments
    build, place = code.builder, code.variable(DOUBLE)

    def of_samples(bits: Any, begin: Any, which: Any) -> Any:
        below = build.lshr(build.mul(build.lshr(bits, _whole(32)), build.load(code.at(count, which))), _whole(32))
        return build.load(code.at(values, begin, below))

    def of_table(bits: Any, begin: Any) -> Any:
        upper = build.lshr(bits, _whole(63))
        outside = build.sitofp(build.and_(bits, _whole(2**63 - 1)), DOUBLE)
        least = ir.Constant(DOUBLE, low)
        outside = build.select(build.fcmp_ordered("<", outside, least), least, outside)
        inside = build.bitcast(outside, WHOLE)
        entry = build.add(
            build.sub(build.lshr(inside, _whole(shift)), _whole(first)), build.mul(upper, _whole(entries))
        )
        share = build.fmul(
            build.sitofp(build.and_(inside, _whole((1 << shift) - 1)), DOUBLE), ir.Constant(DOUBLE, 2.0**-shift)
        )
        here, there = (build.load(code.at(values, begin, entry, k)) for k in (0, 1))
        return build.fadd(here, build.fmul(share, build.fsub(there, here)))

    with code.loop(0, n) as i:
        which = build.load(code.at(group, i))
        begin = build.load(code.at(offset, which))
        bits = _mixed(build, build.add(build.load(code.at(keys, i)), added))
        is_samples = build.icmp_signed("!=", build.load(code.at(samples, which)), _whole(0))
        with build.if_else(is_samples) as (then, otherwise):
            with then:
                build.store(of_samples(bits, begin, which), place)
            with otherwise:
                build.store(of_table(bits, begin), place)
        with code.only_if(build.icmp_signed("!=", build.load(code.at(turned, which)), _whole(0))):
            build.store(build.fdiv(ir.Constant(DOUBLE, 1.0), build.load(place)), place)
        build.store(build.fmul(build.load(code.at(factor, which)), build.load(place)), code.at(into, i))
    return code.end()


def _mixed(build: Any, x: Any) -> Any:
    """The finaliser of splitmix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = build.mul(build.xor(x, build.lshr(x, _whole(shift))), _whole(factor))
    return build.xor(x, build.lshr(x, _whole(31)))


def _whole(number: int) -> Any:
    return ir.Constant(WHOLE, number)
