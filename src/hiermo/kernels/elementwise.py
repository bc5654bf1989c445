"""One loop over vectors that lie side by side: what a `Form` says, number by number."""

from typing import Any

from llvmlite import ir

from hiermo.kernels.code import DOUBLE, LANES, SINGLE, WHOLE, Code, compiled
from hiermo.kernels.trace import Form


def function(form: Form, *, double: bool) -> Any:
    """(how many numbers, places of what is read, of what is made, numbers)."""
    (found,) = compiled(lambda module: [_written(module, form, DOUBLE if double else SINGLE)])
    return found


def _written(module: ir.Module, form: Form, kind: Any) -> Code:
    count, pointer = min((k for term in form.terms for k in term[1:]), default=0), kind.as_pointer()
    vectors = form.reads + len(form.makes)
    code = Code(module, "fused", [WHOLE, *[pointer] * vectors, *[kind] * max(0, -count)])
    n, *rest = code.arguments
    pointers, numbers = rest[:vectors], rest[vectors:]
    build = code.builder
    signs = {"+": build.fadd, "-": build.fsub, "*": build.fmul, "/": build.fdiv}
    spread = [code.everywhere(each) for each in numbers]

    def terms(values: list[Any], constants: list[Any]) -> list[Any]:
        for sign, *operands in form.terms:
            values.append(signs[sign](*(values[k] if k >= 0 else constants[-k - 1] for k in operands)))
        return [values[k] for k in form.makes]

    whole = build.mul(build.sdiv(n, ir.Constant(WHOLE, LANES)), ir.Constant(WHOLE, LANES))
    with code.loop(0, whole, LANES) as i:
        made = terms([code.load(code.at(each, i)) for each in pointers[: form.reads]], spread)
        for value, place in zip(made, pointers[form.reads :], strict=True):
            code.store(value, code.at(place, i))
    with code.loop(whole, n) as i:
        made = terms([build.load(code.at(each, i)) for each in pointers[: form.reads]], numbers)
        for value, place in zip(made, pointers[form.reads :], strict=True):
            build.store(value, code.at(place, i))
    return code.end()
