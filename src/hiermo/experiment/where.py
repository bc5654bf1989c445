"""Which runs: an expression such as `algorithm == 'HierMo' and accuracy > 0.9`, over the columns of a table of runs.

It is read with Python's grammar and computed here: names, constants, comparisons, `and`, `or`, `not`, `in` and plain
arithmetic. There are no calls, no subscripts and no attributes of objects, so whatever it says, it can do nothing.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
import operator
import re
from typing import Any
import warnings

from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion

LONGEST = 2000  # characters; deeper nesting than this allows is refused as well
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
COMPUTE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
WORDS = {"true": True, "false": False, "none": None}  # as TOML and people write them


class Where:
    """An expression that was read, over columns that are known.

    A comparison with what a run does not have is False; `accuracy == None` asks for just that.

    >>> rows = [{"algorithm": "HierMo", "periods.tau": 10}, {"algorithm": "FedAvg", "periods.tau": 20}]
    >>> where = Where("algorithm in ['HierMo', 'CFL'] and 5 < tau <= 2 * 10", ["algorithm", "periods.tau"])
    >>> where.chosen(rows)
    [True, False]
    """

    def __init__(self, text: str, known: Iterable[str]) -> None:
        self.text = text.strip()
        self._known = list(dict.fromkeys(known))
        self._columns: dict[str, str] = {}  # name in the expression -> column
        self._fitting: set[ast.expr] = set()  # comparisons that made sense for some row
        self._unfit: dict[ast.expr, str] = {}
        try:
            self._root = self._parsed()
            self._check(self._root)
        except RecursionError:
            raise self._error("is nested too deeply") from None

    def chosen(self, rows: Sequence[Mapping[str, Any]]) -> list[bool]:
        """Whether it is true of each row; refuses a comparison that made no sense for any of them."""
        try:
            found = [bool(self._value(self._root, row)) for row in rows]
        except RecursionError:
            raise self._error("is nested too deeply") from None
        for node, what in self._unfit.items():
            if node not in self._fitting:
                raise self._error(what, node)
        return found

    def _parsed(self) -> ast.expr:
        if len(self.text) > LONGEST:
            raise self._error(f"is longer than {LONGEST} characters")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of odd escapes in texts
                return ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            hint = ": to compare, write ==" if re.search(r"(?<![=!<>])=(?!=)", self.text) else ""
            place = f" at column {error.offset}" if error.offset else " at its end"
            raise self._error(f"is not understood{place}{hint}") from None
        except (ValueError, MemoryError):
            raise self._error("is not understood") from None

    def _check(self, node: ast.expr) -> None:
        """Refuses what is not of this small language, and names that no run has."""
        if name := _dotted(node):
            self._columns[name] = self._column(name, node)
        elif isinstance(node, ast.Constant):
            if node.value is not None and not isinstance(node.value, (bool, int, float, str)):
                raise self._error(f"{ast.unparse(node)} is neither a number nor a text", node)
        elif isinstance(node, ast.Compare):
            for operation in node.ops:
                if type(operation) not in COMPARE:
                    raise self._error("compare with == != < <= > >= in, not in", node)
            self._check_all(node.left, *node.comparators)
        elif isinstance(node, ast.BoolOp):
            self._check_all(*node.values)
        elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTE:
            self._check_all(node.left, node.right)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.UAdd)):
            self._check(node.operand)
        elif isinstance(node, (ast.List, ast.Tuple)):
            self._check_all(*node.elts)
        else:
            raise self._error("only names, numbers, texts, lists, comparisons, and, or, not, + - * / are known", node)

    def _check_all(self, *nodes: ast.expr) -> None:
        for node in nodes:
            self._check(node)

    def _column(self, name: str, node: ast.expr) -> str:
        if name in WORDS and name not in self._known:
            return name
        try:
            return column(name, self._known)
        except UserError as error:
            raise self._error(str(error), node) from None

    def _value(self, node: ast.expr, row: Mapping[str, Any]) -> Any:
        """None is what is not known."""
        if name := _dotted(node):
            key = self._columns[name]
            return WORDS[key] if key in WORDS and key not in self._known else plain(row.get(key))
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Compare):
            return self._compared(node, row)
        if isinstance(node, ast.BoolOp):
            values = (self._value(each, row) for each in node.values)
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.BinOp):
            return self._computed(node, COMPUTE[type(node.op)], node.left, node.right, row)
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return not self._value(node.operand, row)
            sign = operator.neg if isinstance(node.op, ast.USub) else operator.pos
            return self._computed(node, lambda value, _: sign(value), node.operand, ast.Constant(0), row)
        assert isinstance(node, (ast.List, ast.Tuple))
        return [self._value(each, row) for each in node.elts]

    def _compared(self, node: ast.Compare, row: Mapping[str, Any]) -> bool:
        nodes = (node.left, *node.comparators)
        values = [self._value(each, row) for each in nodes]
        for k, operation in enumerate(node.ops):
            left, right = values[k], values[k + 1]
            if isinstance(operation, (ast.Eq, ast.NotEq)) and any(map(self._is_none, nodes[k : k + 2])):
                holds = ((left is None) == (right is None)) == isinstance(operation, ast.Eq)
            elif left is None or right is None:
                holds = False
            elif _alike(operation, left, right):
                self._fitting.add(node)
                holds = COMPARE[type(operation)](left, right)
            else:
                self._unfit.setdefault(node, f"{left!r} cannot be compared with {right!r}")
                holds = False
            if not holds:
                return False
        return True

    def _is_none(self, node: ast.expr) -> bool:
        """Whether it is the word None."""
        return (isinstance(node, ast.Constant) and node.value is None) or self._columns.get(_dotted(node)) == "none"

    def _computed(
        self, node: ast.expr, how: Callable[[Any, Any], Any], a: ast.expr, b: ast.expr, row: Mapping[str, Any]
    ) -> Any:
        left, right = self._value(a, row), self._value(b, row)
        if left is None or right is None:
            return None
        if not (_kind(left) == _kind(right) == "number"):
            self._unfit.setdefault(node, f"{left!r} and {right!r} are not both numbers")
            return None
        self._fitting.add(node)
        try:
            return plain(how(left, right))
        except ArithmeticError:  # a division by 0; a number beyond all bounds
            return None

    def _error(self, what: str, node: ast.expr | None = None) -> UserError:
        place = f"at column {node.col_offset + 1}: " if node is not None else ""
        text = self.text if len(self.text) <= 200 else f"{self.text[:200]}..."
        return UserError(f"--where {text}: {place}{what}")


def column(name: str, known: Sequence[str]) -> str:
    """The column that a name means: itself, or the only one that ends so, as `tau` for `periods.tau`."""
    if name in known:
        return name
    ending = [each for each in known if each.endswith(f".{name}")]
    if len(ending) > 1:
        raise UserError(f"'{name}' may be {' or '.join(ending)}: write it whole")
    if not ending:
        short = [each.rpartition(".")[2] for each in known]
        near = suggestion(name, dict.fromkeys([*known, *short]))
        told = near if near.startswith("; did") else f"; known are {', '.join(known)}" if known else ""
        raise UserError(f"no run has '{name}'{told}")
    return ending[0]


def plain(value: Any) -> Any:
    """What an expression works with: dates as texts, and what is not a number as what is not known."""
    if isinstance(value, float) and isnan(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else str(value)


def _dotted(node: ast.expr) -> str:
    """`periods.tau`; empty where it is no name."""
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def _kind(value: Any) -> str:
    return "number" if isinstance(value, (int, float)) else "text" if isinstance(value, str) else "list"


def _alike(operation: ast.cmpop, left: Any, right: Any) -> bool:
    """Whether a comparison says anything: numbers with numbers, texts with texts, something in a list."""
    if isinstance(operation, (ast.In, ast.NotIn)):
        return _kind(right) == "list" or (_kind(left) == _kind(right) == "text")
    if _kind(left) == _kind(right) == "list":
        return isinstance(operation, (ast.Eq, ast.NotEq))
    return _kind(left) == _kind(right)
