"""Arrays of one's own, from .npz or .npy files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from zipfile import BadZipFile
import zlib

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import Location, check_values
from hiermo.data.dataset import Dataset
from hiermo.data.reading.own import Piece, Share, as_many, assembled, first, owned, places, places_of_test
from hiermo.data.reading.typed import Layout, labels, samples

TRAIN = (("train_x", "train_y"), ("x_train", "y_train"))
TEST = (("test_x", "test_y"), ("x_test", "y_test"))
WHOLE = (("x", "y"),)
UNREADABLE = (OSError, EOFError, ValueError, KeyError, MemoryError, RuntimeError, BadZipFile, zlib.error)


class Stored(NamedTuple):
    """An array in a file: a member of an .npz, or all of an .npy."""

    file: Path
    key: str = ""

    def __str__(self) -> str:
        return f"{self.file}, array {self.key}" if self.key else str(self.file)


Pair = tuple[Stored, Stored]  # samples and labels


@dataclass(frozen=True, kw_only=True)
class Arrays:
    """`path` is an .npz file with train_x, train_y, test_x, test_y, or with x, y; or an .npy file of samples.

    An .npy file of samples comes with one of `labels`, and `test` likewise with `test_labels`. A `*` in a path stands
    for one file per worker. Without a test part of its own, `test_share` of the samples becomes one: always the same
    ones, whatever the seed of the run. uint8 means pixels, which are divided by 255; other numbers mean themselves.
    """

    summary: ClassVar[str] = "your own arrays, .npz, or .npy and labels; with a * in the path, a file per worker"
    path: Location
    labels: Location | None = None
    test: Location | None = None
    test_labels: Location | None = None
    test_share: Share = 0.2
    layout: Layout = "auto"

    def find(self, directory: Path) -> Path | None:
        return first(self.path)

    def load(self, directory: Path) -> Dataset:
        check_values(self)
        if (self.test_labels is None) != (self.labels is None or self.test is None):
            raise UserError("data.test_labels goes with data.labels and data.test: give all three, or leave it out")
        train = [self._piece(pair) for pair in self._train()]
        test = [self._piece(pair) for pair in self._test()]
        return assembled(
            Path(self.path).name, owned(train, self.path), owned(test, self.test or self.path), self.test_share
        )

    def _train(self) -> list[Pair]:
        if self.labels is not None:
            return _side_by_side(places(self.path), as_many(self.path, self.labels, "labels"))
        return [_inside(file, TRAIN + WHOLE) for file in places(self.path)]

    def _test(self) -> list[Pair]:
        if self.test is None:
            return [] if self.labels else self._tests_inside()
        if self.test_labels is not None:
            files = places_of_test(self.path, self.test)
            return _side_by_side(files, as_many(self.test, self.test_labels, "test_labels", beside="test"))
        if inside := self._tests_inside():
            raise UserError(f"{inside[0][0].file} holds a test part of its own; leave out data.test, or that part")
        return [_inside(file, TEST + WHOLE) for file in places_of_test(self.path, self.test)]

    def _tests_inside(self) -> list[Pair]:
        """Of .npz files: all of them have a test part, or none."""
        files = places(self.path)
        having = [file for file in files if {key for pair in TEST for key in pair} & set(_keys(file))]
        if having and (lacking := [file for file in files if file not in having]):
            raise UserError(f"{having[0]} holds a test part and {lacking[0]} does not; all must, or none")
        return [_inside(file, TEST) for file in having]

    def _piece(self, pair: Pair) -> Piece:
        x, y = pair
        return Piece(str(x), samples(_read(x), str(x), self.layout), labels(_read(y), str(y)))


def _side_by_side(x: list[Path], y: list[Path]) -> list[Pair]:
    return [(Stored(samples), Stored(labels)) for samples, labels in zip(x, y, strict=True)]


def _inside(file: Path, spellings: tuple[tuple[str, str], ...]) -> Pair:
    """Where an .npz file holds samples and labels, by the first of the spellings that it knows."""
    keys = _keys(file)
    for x, y in spellings:
        if x in keys and y in keys:
            return Stored(file, x), Stored(file, y)
    wanted = " or ".join(f"{x} and {y}" for x, y in spellings)
    raise UserError(f"{file} holds {', '.join(keys) or 'nothing'}; it must hold {wanted}")


def _keys(file: Path) -> list[str]:
    with _opened(Stored(file)) as found:
        if isinstance(found, NpzFile):
            return list(found.files)
    raise UserError(f"{file} is not an .npz file; of an .npy file of samples, name that of its labels in data.labels")


def _read(stored: Stored) -> NDArray[Any]:
    with _opened(stored) as found:
        if not isinstance(found, NpzFile):
            return found
        if stored.key:
            return np.asarray(found[stored.key])
    raise UserError(f"{stored} is an .npz file; labels of its own go inside it, and data.labels beside an .npy file")


@contextmanager
def _opened(stored: Stored) -> Iterator["NpzFile[Any] | NDArray[Any]"]:
    """What numpy finds in the file; whatever goes wrong in reading it, now or later, is one sentence."""
    try:
        with stored.file.open("rb") as stream:  # numpy itself would leave a damaged file open
            yield np.load(stream, allow_pickle=False)
    except UNREADABLE as error:
        why = str(error).splitlines()[0] if str(error) else repr(error)
        raise UserError(
            f"{stored} cannot be read: {why}; save it again with np.save or np.savez, as plain numbers or texts, "
            "for Python objects are not read"
        ) from error
