"""Writes loops over vectors of numbers as machine code, by LLVM.

What is written is what is computed, operation by operation, in `LANES` numbers side by side: nothing is contracted or
put into another order. So the bits of a result do not depend on how wide a processor's registers are. A compiled
function is called without Python's lock: threads run it side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import ctypes
from functools import cache
from threading import Lock
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

LANES = 16
BYTE, WHOLE, SINGLE, DOUBLE = ir.IntType(8), ir.IntType(64), ir.FloatType(), ir.DoubleType()
INDEX = ir.IntType(32)
SIZES = {BYTE: 1, SINGLE: 4, DOUBLE: 8}
IN_C = {BYTE: ctypes.c_uint8, WHOLE: ctypes.c_int64, SINGLE: ctypes.c_float, DOUBLE: ctypes.c_double}

_one_at_a_time = Lock()  # one compilation


class Code:
    """A function that is being written; `arguments` are the values that it gets."""

    def __init__(self, module: ir.Module, name: str, types: Sequence[Any], *, own: bool = False) -> None:
        """`own`: called from this module alone."""
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), types), name)
        self.function.linkage = "internal" if own else ""
        self.arguments = self.function.args
        self._variables = self.function.append_basic_block("variables")
        self._begin = self.function.append_basic_block("begin")
        self.builder = ir.IRBuilder(self._begin)

    def end(self) -> "Code":
        self.builder.ret_void()
        with self.builder.goto_block(self._variables):
            self.builder.branch(self._begin)
        return self

    def call(self, other: "Code", *arguments: Any) -> None:
        self.builder.call(other.function, arguments)

    def variable(self, kind: Any, count: int = 1) -> Any:
        with self.builder.goto_block(self._variables):
            return self.builder.alloca(kind, count)

    @contextmanager
    def loop(self, begin: Any, end: Any, step: Any = 1) -> Iterator[Any]:
        """For every number from `begin` to below `end`."""
        build, counter = self.builder, self.variable(WHOLE)
        build.store(whole(begin), counter)
        test, body, after = (self.function.append_basic_block(name) for name in ("test", "body", "after"))
        build.branch(test)
        build.position_at_end(test)
        now = build.load(counter)
        build.cbranch(build.icmp_signed("<", now, whole(end)), body, after)
        build.position_at_end(body)
        yield now
        build.store(build.add(now, whole(step)), counter)
        build.branch(test)
        build.position_at_end(after)

    def only_if(self, condition: Any) -> Any:
        return self.builder.if_then(condition)

    def there(self, pointer: Any) -> Any:
        """Whether a pointer points to something."""
        return self.builder.icmp_unsigned("!=", self.builder.ptrtoint(pointer, WHOLE), whole(0))

    def plus(self, *terms: Any) -> Any:
        total = whole(terms[0])
        for term in terms[1:]:
            total = self.builder.add(total, whole(term))
        return total

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.mul(whole(a), whole(b))

    def least(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", a, whole(b)), a, whole(b))

    def at(self, pointer: Any, *offsets: Any) -> Any:
        """Where the number lies that is so many after `pointer`."""
        return self.builder.gep(pointer, [self.plus(*offsets)])

    def load(self, pointer: Any, n: int = LANES) -> Any:
        """n numbers in a row, with zeros after them up to `LANES`."""
        kind = pointer.type.pointee
        size = SIZES[kind]
        found = self.builder.load(self.builder.bitcast(pointer, ir.VectorType(kind, n).as_pointer()), align=size)
        if n == LANES:
            return found
        places = [min(k, n) for k in range(LANES)]
        return self.builder.shuffle_vector(found, ir.Constant(ir.VectorType(kind, n), None), indices(places))

    def store(self, vector: Any, pointer: Any, n: int = LANES) -> None:
        """Its first n numbers."""
        if n < LANES:
            vector = self.builder.shuffle_vector(vector, vector, indices(range(n)))
        kind = vector.type
        place = self.builder.bitcast(pointer, kind.as_pointer())
        self.builder.store(vector, place, align=SIZES[kind.element])

    def everywhere(self, number: Any) -> Any:
        """One number in all lanes."""
        kind = ir.VectorType(number.type, LANES)
        first = self.builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(INDEX, 0))
        return self.builder.shuffle_vector(first, first, indices([0] * LANES))

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c, rounded once."""
        return self.intrinsic("llvm.fma.v16f32", a.type, a, b, c)

    def fetch(self, pointer: Any) -> None:
        """Ask for what lies there to be in the cache soon."""
        flags = [ir.Constant(INDEX, value) for value in (0, 3, 1)]  # to read, to keep, data
        self.intrinsic("llvm.prefetch.p0", ir.VoidType(), pointer, *flags)

    def total(self, vector: Any) -> Any:
        """Sum over the lanes, halves upon each other."""
        n = LANES
        while n > 1:
            n //= 2
            low, high = (self.builder.shuffle_vector(vector, vector, indices(range(k, k + n))) for k in (0, n))
            vector = self.builder.fadd(low, high)
        return self.builder.extract_element(vector, ir.Constant(INDEX, 0))

    def sum_of(self, pointer: Any, n: int) -> Any:
        """Of n numbers in a row, in lanes first."""
        total = self.variable(ir.VectorType(pointer.type.pointee, LANES))
        self.builder.store(zeros(pointer.type.pointee), total)

        def add(k: Any, count: int) -> None:
            self.builder.store(
                self.builder.fadd(self.builder.load(total), self.load(self.at(pointer, k), count)), total
            )

        with self.loop(0, n - n % LANES, LANES) as k:
            add(k, LANES)
        if n % LANES:
            add(n - n % LANES, n % LANES)
        return self.total(self.builder.load(total))

    def intrinsic(self, name: str, result: Any, *arguments: Any) -> Any:
        """One of LLVM's own functions."""
        kind = ir.FunctionType(result, [each.type for each in arguments])
        known = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        return self.builder.call(known, arguments)


def whole(number: Any) -> Any:
    return ir.Constant(WHOLE, number) if isinstance(number, int) else number


def indices(places: Any) -> Any:
    return ir.Constant(ir.VectorType(INDEX, len(places)), list(places))


def zeros(kind: Any) -> Any:
    return ir.Constant(ir.VectorType(kind, LANES), None)


@cache
def wide_registers() -> bool:
    """Whether a register holds all lanes, and there are 32 of them."""
    return bool(llvm.get_host_cpu_features().get("avx512f", False))


def compiled(write: Callable[[ir.Module], Sequence[Code]]) -> list[Any]:
    """The functions that `write` writes into a module, to be called with addresses and numbers."""
    with _one_at_a_time:
        module = ir.Module()
        module.triple = llvm.get_default_triple()
        written = write(module)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
        )
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        passes.getModulePassManager().run(parsed, passes)
        engine = llvm.create_mcjit_compiler(parsed, machine)
        engine.finalize_object()
        _kept.append(engine)  # the code lives as long as it
        return [_callable(engine, code) for code in written]


_kept: list[Any] = []


def _callable(engine: Any, code: Code) -> Any:
    kinds: list[Any] = [
        ctypes.c_void_p if isinstance(each.type, ir.PointerType) else IN_C[each.type] for each in code.arguments
    ]
    return ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(code.function.name))
