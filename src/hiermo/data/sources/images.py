"""Pictures of one's own, in a folder for every class."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count, Location, check_values
from hiermo.data.dataset import Dataset
from hiermo.data.reading.own import Piece, Share, assembled, first, natural, read_all, read_tests
from hiermo.data.reading.pictures import SUFFIXES, check_same_size, check_size, pixels_of, stacked


@dataclass(frozen=True, kw_only=True)
class Images:
    """`path` has a folder for every class, called as the class is, with pictures in it (png, jpg, bmp, gif, webp).

    All pictures are of one size, or are resized to `size`, height and width. They are grey where all are, or made so
    by `grey`, and else coloured. A `*` in the path stands for one such folder per worker. Without a `test` folder,
    `test_share` of the pictures becomes the test part: always the same ones, whatever the seed of the run.
    """

    summary: ClassVar[str] = "your own pictures, a folder per class; with a * in the path, such a folder per worker"
    path: Location
    size: tuple[Count, ...] | None = None
    grey: bool = False
    test: Location | None = None
    test_share: Share = 0.2

    def find(self, directory: Path) -> Path | None:
        return first(self.path)

    def load(self, directory: Path) -> Dataset:
        check_values(self)
        check_size(self.size)
        train, test = read_all(self._piece, self.path), read_tests(self._piece, self.path, self.test)
        check_same_size([piece.x.shape for piece in (*train, *test)], [piece.where for piece in (*train, *test)])
        if len({piece.x.shape[1] for piece in (*train, *test)}) > 1:  # grey in one folder, coloured in another
            train, test = [_coloured(piece) for piece in train], [_coloured(piece) for piece in test]
        return assembled(Path(self.path).name, train, test, self.test_share)

    def _piece(self, folder: Path) -> Piece:
        files = [(kind.name, file) for kind in _classes(folder) for file in _pictures(kind)]
        if not files:
            raise UserError(f"{folder} has no pictures ({', '.join(SUFFIXES)}) in the folders of its classes")
        pictures = [pixels_of(file, str(file), self.size, self.grey) for _, file in files]
        x = stacked(pictures, [str(file) for _, file in files])
        return Piece(str(files[0][1]), x, np.array([kind for kind, _ in files]))


def _coloured(piece: Piece) -> Piece:
    return piece._replace(x=np.concatenate([piece.x] * (3 // piece.x.shape[1]), axis=1, dtype=np.uint8))


def _classes(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; pictures are in <path>/<class>/")
    found = [each for each in _shown(folder) if each.is_dir()]
    if not found:
        raise UserError(f"{folder} has no folders; put the pictures of each class into one, called as the class is")
    return found


def _pictures(folder: Path) -> list[Path]:
    """Those of one class; an empty folder is a class that someone has no picture of."""
    inside = _shown(folder)
    found = [file for file in inside if file.suffix.lower() in SUFFIXES and file.is_file()]
    if inside and not found:
        deeper = "; is data.path one level too high?" if any(each.is_dir() for each in inside) else ""
        raise UserError(f"{folder} has {inside[0].name}, but no picture ({', '.join(SUFFIXES)}){deeper}")
    return found


def _shown(folder: Path) -> list[Path]:
    return sorted((each for each in folder.iterdir() if each.name[0] != "."), key=lambda each: natural(each.name))
