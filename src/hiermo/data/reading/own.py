"""Shared by the sources of one's own data: from paths to pieces, from pieces to a data set with owners and classes."""

from collections.abc import Callable, Sequence
from glob import escape, glob
from pathlib import Path
import re
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import Range
from hiermo.data.dataset import Dataset, Labels, Samples, check
from hiermo.data.reading.set_aside import set_aside

Share = Annotated[float, Range(gt=0, lt=1)]


class Piece(NamedTuple):
    """What one file or folder holds; labels and owners are still as they are called there."""

    where: str
    x: Samples
    labels: NDArray[Any]
    owners: NDArray[Any] | None = None


def places(path: str, key: str = "path") -> list[Path]:
    """The file or folder, or where the path has a `*` all that match, in natural order: a2 before a10."""
    whole = str(Path(path).expanduser())
    if "*" not in path:
        found = [Path(whole)] if Path(whole).exists() else []
    else:
        pattern = escape(whole).replace("[*]", "*")  # nothing but the star is special
        matches = glob(pattern)  # noqa: PTH207 - Path.glob would match hidden files, too
        found = sorted(map(Path, matches), key=lambda place: natural(str(place)))
    if not found:
        raise UserError(f"data.{key} = '{path}': nothing is there, beside the recipe or as seen from {Path.cwd()}")
    return found


def first(path: str) -> Path | None:
    """Where the data is, if it is there."""
    try:
        return places(path)[0]
    except UserError:
        return None


def natural(text: str) -> list[tuple[bool, int, str]]:
    """The key that sorts numbers inside texts as numbers.

    >>> sorted(["a10", "a2", "b", "a1"], key=natural)
    ['a1', 'a2', 'a10', 'b']
    """
    steps = re.split(r"(\d+)", text)
    return [(not step.isdecimal(), int(step) if step.isdecimal() else 0, step) for step in steps if step]


def as_many(path: str, other: str, key: str, beside: str = "path") -> list[Path]:
    """The places of the option `key`, one to each place of the option `beside`, which is `path`."""
    found, wanted = len(places(other, key)), len(places(path, beside))
    if found != wanted:
        raise UserError(
            f"data.{key} = '{other}' has {found} places and data.{beside} = '{path}' has {wanted}; give as many"
        )
    return places(other, key)


def read_all(read: Callable[[Path], Piece], path: str) -> list[Piece]:
    """Each place of `path`, and whose it is where there is one place per worker."""
    return owned([read(place) for place in places(path)], path)


def read_tests(read: Callable[[Path], Piece], path: str, test: str | None) -> list[Piece]:
    """The test part of its own, if there is one: of everyone, or with a `*` of each owner."""
    if test is None:
        return []
    return owned([read(place) for place in places_of_test(path, test)], test)


def places_of_test(path: str, test: str) -> list[Path]:
    """One test part for all, or with a `*` one for each place of `path`."""
    return as_many(path, test, "test") if "*" in test else places(test, "test")


def owned(pieces: list[Piece], path: str) -> list[Piece]:
    """With a `*` in the path, every piece belongs to somebody of its own."""
    if "*" not in path:
        return pieces
    return [piece._replace(owners=np.full(len(piece.x), k)) for k, piece in enumerate(pieces)]


def assembled(
    name: str, train: Sequence[Piece], test: Sequence[Piece], share: float, class_names: Sequence[str] = ()
) -> Dataset:
    """One checked data set; without test pieces, a `share` of the training samples becomes the test part.

    With `class_names` labels are numbers of classes already; without, classes are all labels that occur, in order.
    """
    check_alike([*train, *test])
    names = tuple(class_names)
    labels, n = np.concatenate([_labels(piece, [*train, *test]) for piece in (*train, *test)]), _size(train)
    if not names:
        names, labels = numbered(labels, train[0].where)
    x, y, owners = _joined(train), labels[:n], _owners(train, train)
    if test:
        test_x, test_y, test_owners = _joined(test), labels[n:], _owners(test, train)
    else:
        kept, aside = set_aside(y, owners, share, name)
        test_x, test_y, x, y = x[aside], y[aside], x[kept], y[kept]
        owners, test_owners = (None, None) if owners is None else (owners[kept], owners[aside])
    dataset = Dataset(name, x, y, test_x, test_y, len(names), owners, test_owners, names)
    check(dataset)
    return dataset


def check_alike(pieces: Sequence[Piece]) -> None:
    """Refuses pieces that do not go together, and names two."""
    for piece in pieces:
        if len(piece.x) != len(piece.labels):
            raise UserError(f"{piece.where}: {len(piece.x)} samples and {len(piece.labels)} labels; give each a label")
        for what, one, other in (
            ("shape", list(pieces[0].x.shape[1:]), list(piece.x.shape[1:])),
            ("type", pieces[0].x.dtype, piece.x.dtype),
        ):
            if one != other:
                raise UserError(
                    f"samples of {pieces[0].where} are of {what} {one}, those of {piece.where} of {what} {other}; "
                    "they must agree"
                )


def numbered(labels: NDArray[Any], where: str) -> tuple[tuple[str, ...], Labels]:
    """Names of the classes in their order, numbers as numbers, and the class of each sample.

    >>> numbered(np.array(["10", "9", "10"]), "here")
    (('9', '10'), array([1, 0, 1]))
    """
    known, place = np.unique(labels, return_inverse=True)
    values = known.tolist()
    if labels.dtype.kind == "U" and all(number(text) is not None for text in values):
        values = [number(text) for text in values]
        if broken := [value for value in values if value != int(value)]:
            raise UserError(
                f"{where}: labels must be classes, and one is {broken[0]}; name the column or array that says "
                "which class a sample is of"
            )
        values = [int(value) for value in values]
    classes = sorted(set(values))
    if len(classes) < 2:
        raise UserError(f"{where}: all samples are of the class {classes[0]}; there is nothing to learn from one class")
    to_class = {value: c for c, value in enumerate(classes)}
    return tuple(map(str, classes)), np.array([to_class[value] for value in values], np.int64)[place.reshape(-1)]


def number(text: str) -> float | int | None:
    """The finite number that a text says, or None.

    >>> number(" 7 "), number("2.5"), number("nan"), number("1_000")
    (7, 2.5, None, None)
    """
    if "_" in text:  # Python's own way of writing numbers, and nobody's data
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _size(pieces: Sequence[Piece]) -> int:
    return sum(len(piece.x) for piece in pieces)


def _joined(pieces: Sequence[Piece]) -> Samples:
    return pieces[0].x if len(pieces) == 1 else np.concatenate([piece.x for piece in pieces])


def _labels(piece: Piece, pieces: Sequence[Piece]) -> NDArray[Any]:
    """Texts, where those of any piece are."""
    return piece.labels.astype(str) if any(other.labels.dtype.kind == "U" for other in pieces) else piece.labels


def _owners(pieces: Sequence[Piece], known_from: Sequence[Piece]) -> Labels | None:
    """Numbers of the owners, in the natural order of their names; those who test must be among those who train."""
    if any(piece.owners is None for piece in (*pieces, *known_from)):
        return None
    names = sorted({name for piece in known_from for name in _names(piece)}, key=natural)
    to_number = {name: k for k, name in enumerate(names)}
    for piece in pieces:
        if strangers := sorted({*_names(piece)} - {*names}):
            raise UserError(f"{piece.where}: the owner '{strangers[0]}' has no training sample; leave its samples out")
    return np.array([to_number[name] for piece in pieces for name in _names(piece)], np.int64)


def _names(piece: Piece) -> list[str]:
    return [] if piece.owners is None else list(map(str, piece.owners.tolist()))
