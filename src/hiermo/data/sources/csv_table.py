"""A table of one's own, from .csv files."""

from collections.abc import Sequence
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import Location, check_values, suggestion
from hiermo.data.dataset import Dataset
from hiermo.data.reading.own import Piece, Share, assembled, first, number, read_all, read_tests

Column = str | int
LARGEST = float(np.finfo(np.float32).max)


class Table(NamedTuple):
    """The rows of a file, all of one length, the line where each ends, and the names of the columns, if it has them."""

    file: Path
    names: tuple[str, ...]
    lines: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class CsvTable:
    """A row per sample: the column `label` says its class, `owner` whose it is, all others are features.

    Columns are named as in the first line, or counted from 0 (-1 is the last); those in `ignore` are left out. The
    first line is a header if there is no number in it; `header` says so where that is not clear. A `*` in the path
    stands for one file per worker. Without a `test` file, `test_share` of the rows becomes the test part: always the
    same ones, whatever the seed of the run.
    """

    summary: ClassVar[str] = "your own table, a row per sample; with a * in the path, a file per worker"
    path: Location
    label: Column = -1
    owner: Column | None = None
    ignore: tuple[Column, ...] = ()
    header: bool | None = None
    separator: str = ","
    test: Location | None = None
    test_share: Share = 0.2

    def find(self, directory: Path) -> Path | None:
        return first(self.path)

    def load(self, directory: Path) -> Dataset:
        check_values(self)
        if len(self.separator) != 1 or self.separator in '"\r\n':
            raise UserError(f"data.separator must be a single character such as ',' or ';', not {self.separator!r}")
        if self.owner is not None and "*" in f"{self.path}{self.test}":
            raise UserError("data.owner and a * in data.path or data.test both say whose a sample is; choose one")
        tables: list[Table] = []

        def read(file: Path) -> Piece:
            table = self._table(file)
            _check_same_columns([*tables[:1], table])
            tables.append(table)
            return self._piece(table)

        return assembled(
            Path(self.path).name, read_all(read, self.path), read_tests(read, self.path, self.test), self.test_share
        )

    def _piece(self, table: Table) -> Piece:
        label = _place(table, self.label, "label")
        owner = None if self.owner is None else _place(table, self.owner, "owner")
        left_out = {label, owner, *(_place(table, each, "ignore") for each in self.ignore)}
        features = [k for k in range(len(table.columns)) if k not in left_out]
        if not features:
            raise UserError(f"{table.file} has no column left to learn from beside {_name(table, label)}")
        if unnamed := [k for k in features if table.names and not table.names[k]]:
            k = unnamed[0]  # usually the row numbers of whoever wrote the file: nothing to learn from by accident
            raise UserError(f"{table.file}: column {k} has no name; name it, or leave it out with data.ignore = [{k}]")
        x = np.empty((len(table.lines), len(features)), np.float32)
        for k, column in enumerate(features):
            x[:, k] = _numbers(table, column)
        where = f"{table.file}, column {_name(table, label)}"
        return Piece(where, x, _texts(table, label), None if owner is None else _texts(table, owner))

    def _table(self, file: Path) -> Table:
        lines, rows = _rows(file, self.separator)
        header = self._has_header(file, rows)
        names = tuple(text.strip() for text in rows[0]) if header else ()
        for k, name in enumerate(names):
            if name and name in names[:k]:
                raise UserError(f"{file}: two columns are called '{name}'; rename one")
        if len(rows) == header:
            raise UserError(f"{file} has no row of data")
        return Table(file, names, tuple(lines[header:]), tuple(zip(*rows[header:], strict=True)))

    def _has_header(self, file: Path, rows: list[list[str]]) -> bool:
        if self.header is not None:
            return self.header
        if any(isinstance(column, str) for column in (self.label, self.owner, *self.ignore)):
            return True
        is_number = [number(text) is not None for text in rows[0]]
        if not any(is_number):
            return True
        below = [number(text) is not None for text in rows[min(1, len(rows) - 1)]]
        for k, (above, under) in enumerate(zip(is_number, below, strict=True)):
            if under and not above:
                raise UserError(
                    f"{file}: is line 1 a header? It has numbers, but '{rows[0][k]}' stands above a number; "
                    "say data.header = true or false"
                )
        return False


def _rows(file: Path, separator: str) -> tuple[list[int], list[list[str]]]:
    """The line where each row ends, and the rows; blank lines are passed over."""
    lines: list[int] = []
    rows: list[list[str]] = []
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=separator, skipinitialspace=True, strict=True)
            for row in reader:
                if row:
                    lines.append(reader.line_num)
                    rows.append(row)
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not text in UTF-8 ({error.reason}); save it as CSV in UTF-8") from error
    except (OSError, csv.Error) as error:
        raise UserError(f"{file}, after line {lines[-1] if lines else 0}: cannot be read: {error}") from error
    if not rows:
        raise UserError(f"{file} is empty")
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise UserError(
                f"{file}, line {line}: {len(row)} columns where the first line has {len(rows[0])}; "
                f"mend it, or say which data.separator it has"
            )
    return lines, rows


def _check_same_columns(tables: Sequence[Table]) -> None:
    one, other = tables[0], tables[-1]
    if (one.names, len(one.columns)) == (other.names, len(other.columns)):
        return
    unlike = [f"as '{a}' and '{b}'" for a, b in zip(one.names, other.names, strict=False) if a != b]
    if bool(one.names) != bool(other.names):
        unlike = ["one has a header and the other not"]
    why = unlike[0] if unlike else f"{len(one.columns)} and {len(other.columns)} of them"
    raise UserError(f"{one.file} and {other.file} have different columns, {why}; give all files the same")


def _place(table: Table, column: Column, key: str) -> int:
    """Where a column stands that is named, or counted from either end."""
    n = len(table.columns)
    if isinstance(column, str):
        if column not in table.names:
            raise UserError(f"data.{key}: {table.file} has no column '{column}'{suggestion(column, table.names)}")
        return table.names.index(column)
    if not -n <= column < n:
        raise UserError(f"data.{key}: {table.file} has no column {column}, for it has {n}, counted from 0")
    return column % n


def _name(table: Table, k: int) -> str:
    return f"'{table.names[k]}'" if table.names else str(k)


def _numbers(table: Table, k: int) -> NDArray[np.float64]:
    texts = table.columns[k]
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
        if "_" not in "".join(texts) and (np.abs(values) <= LARGEST).all():  # false for nan, too
            return values
    except ValueError:
        pass
    at = next(at for at, text in enumerate(texts) if not abs(_value(text)) <= LARGEST)
    what = f"'{texts[at]}' is not a number that fits in float32" if texts[at].strip() else "a value is missing"
    raise UserError(
        f"{table.file}, line {table.lines[at]}, column {_name(table, k)}: {what}; "
        f"mend it, remove the row, or leave the column out with data.ignore"
    )


def _value(text: str) -> float:
    value = number(text)
    return np.nan if value is None else float(value)


def _texts(table: Table, k: int) -> NDArray[np.str_]:
    """A label or an owner of every row."""
    texts = [text.strip() for text in table.columns[k]]
    if "" in texts:
        line = table.lines[texts.index("")]
        raise UserError(
            f"{table.file}, line {line}, column {_name(table, k)}: a value is missing; mend or remove the row"
        )
    return np.array(texts)
