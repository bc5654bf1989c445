"""One split of a Hugging Face data set, as arrays."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion
from hiermo.data.dataset import Samples
from hiermo.data.reading.own import Piece
from hiermo.data.reading.pictures import pixels_of, stacked
from hiermo.data.reading.typed import labels, samples


class Read(NamedTuple):
    """What a table holds, and the names of its classes where it has them."""

    piece: Piece
    class_names: tuple[str, ...]

    def by_name(self) -> "Read":
        """With names of classes as labels."""
        if not self.class_names:
            return self
        return Read(self.piece._replace(labels=np.array(self.class_names)[self.piece.labels]), ())


@dataclass(frozen=True)
class Columns:
    """Which columns are learnt from (none named: the pictures, or all numbers), which are the class and the owner."""

    x: tuple[str, ...]
    y: str
    owner: str | None
    size: tuple[int, ...] | None

    def read(self, table: Any, where: str) -> Read:
        for column in (self.y, self.owner, *self.x):
            if column is not None and column not in table.column_names:
                raise UserError(f"{where} has no column '{column}'{suggestion(column, table.column_names)}")
        y = labels(_values(table, self.y, where), f"{where}, column {self.y}")
        names = tuple(getattr(table.features[self.y], "names", None) or ())
        if names and y.min() < 0:
            raise UserError(f"{where}: sample {y.argmin()} has no label; choose another split")
        owners = None if self.owner is None else labels(_values(table, self.owner, where), f"{where}, {self.owner}")
        return Read(Piece(where, self._samples(table, where), y, owners), names)

    def _samples(self, table: Any, where: str) -> Samples:
        columns = self.x or self._chosen(table, where)
        pictures = [column for column in columns if _is_picture(table.features[column])]
        if not pictures:
            return _numbers(table, columns, where)
        if len(columns) > 1:
            raise UserError(f"{where}: {pictures[0]} is pictures; choose one of {', '.join(columns)} in data.x")
        return _pictures(table, columns[0], where, self.size)

    def _chosen(self, table: Any, where: str) -> tuple[str, ...]:
        features = {name: kind for name, kind in table.features.items() if name not in (self.y, self.owner)}
        for is_fit in (_is_picture, _is_number):
            if chosen := tuple(name for name, kind in features.items() if is_fit(kind)):
                return chosen
        raise UserError(f"{where} has neither pictures nor numbers; its columns are {', '.join(table.column_names)}")


def _is_picture(feature: Any) -> bool:
    return type(feature).__name__ == "Image"


def _is_number(feature: Any) -> bool:
    """The number of a class is a name."""
    return _kind(feature).startswith(("int", "uint", "float", "bool")) and not hasattr(feature, "names")


def _kind(feature: Any) -> str:
    """The type of a value, also inside lists to any depth."""
    if isinstance(feature, list):
        return _kind(feature[0])
    return _kind(feature.feature) if hasattr(feature, "feature") else str(getattr(feature, "dtype", ""))


def _numbers(table: Any, columns: tuple[str, ...], where: str) -> Samples:
    """A list of bytes is pixels, a byte in a table is a number like any other."""
    found = table.select_columns(list(columns)).with_format("numpy")[:]
    arrays = {name: np.asarray(found[name]) for name in columns}
    if len(columns) == 1 and arrays[columns[0]].ndim > 1:
        pixels = _kind(table.features[columns[0]]) == "uint8"
        array = arrays[columns[0]]
        return samples(array.astype(np.uint8) if pixels else array, f"{where}, column {columns[0]}")
    flat = [samples(array.reshape(len(table), -1), f"{where}, column {name}") for name, array in arrays.items()]
    return np.concatenate(flat, axis=1, dtype=np.float32)


def _pictures(table: Any, column: str, where: str, size: tuple[int, ...] | None) -> Samples:
    as_stored = type(table.features[column])(decode=False)
    names = [f"{where}, sample {k}" for k in range(len(table))]
    pictures = []
    for name, row in zip(names, table.select_columns([column]).cast_column(column, as_stored), strict=True):
        if row[column] is None:
            raise UserError(f"{name}: its picture is missing; remove the row")
        pictures.append(pixels_of(row[column]["bytes"] or Path(row[column]["path"]), name, size))
    return stacked(pictures, names)


def _values(table: Any, column: str, where: str) -> NDArray[Any]:
    """Labels or owners, one of each sample."""
    values = list(table.select_columns([column]).with_format(None)[:][column])
    if None in values:
        raise UserError(f"{where}, column {column}: sample {values.index(None)} has no value; remove or mend it")
    return np.array(values)
