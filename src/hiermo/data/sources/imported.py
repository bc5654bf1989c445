"""Whatever stands at an import path, as a data set: a function that makes one, or arrays under four names."""

from collections.abc import Mapping
from dataclasses import replace
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.signature import call_faults, parameters
from hiermo.data.dataset import Dataset, Samples, check
from hiermo.data.reading.own import Piece, assembled
from hiermo.data.reading.typed import Layout, labels, samples

FOUR = ("train_x", "train_y", "test_x", "test_y")
WAYS = f"a hiermo Dataset, a tuple ({', '.join(FOUR)}), or an object with these attributes"


class Imported:
    """`target` is such data, or a function, class or source that gives it; `arguments` are what it is called with."""

    def __init__(self, target: Any, arguments: Mapping[str, Any]) -> None:
        self.target, self.arguments = target, dict(arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Imported) and (self.target is other.target and self.arguments == other.arguments)

    def __hash__(self) -> int:
        return hash((id(self.target), *self.arguments))

    def values(self) -> dict[str, Any]:
        return dict(self.arguments)

    def faults(self, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
        """(argument, what is wrong) before anything is called; what is no data at all is a fault of no argument."""
        if self._is_called():
            return _signature_faults(self.target, _name(self.target), arguments)
        if not (_is_data(self.target) or hasattr(self.target, "load")):
            return [
                ("", f"it is {_article(type(self.target).__name__)}; it must be {WAYS}, or a function that returns one")
            ]
        return [(name, "is one option too many: what is imported is data already") for name in arguments]

    def find(self, directory: Path) -> Path | None:
        """The directory itself: whether there is a file is known to the function alone."""
        return directory

    def load(self, directory: Path) -> Dataset:
        name = _name(self.target)
        found = self.target(**self.arguments) if self._is_called() else self.target
        if not _is_data(found) and hasattr(found, "load"):
            found = found.load(directory)
        if isinstance(found, Dataset):
            return _typed(found, name)
        if not _is_data(found):
            size = f" of {len(found)}" if isinstance(found, (tuple, list)) else ""
            raise UserError(f"{name} gave {_article(type(found).__name__)}{size}; it must give {WAYS}")
        four = found if isinstance(found, (tuple, list)) else [getattr(found, part) for part in FOUR]
        parts: list[Piece] = []
        for x, y, owners in ((*four[:2], "owners"), (*four[2:], "test_owners")):
            part = "test" if parts else "train"
            piece = Piece(f"{name}, {part}_x", _samples(x, f"{name}, {part}_x"), _labels(y, f"{name}, {part}_y"))
            parts.append(piece._replace(owners=_owners(found, owners, name)))
        return assembled(name, parts[:1], parts[1:], share=0.0, class_names=_class_names(found))

    def _is_called(self) -> bool:
        return callable(self.target) and not _is_data(self.target)


def _name(target: Any) -> str:
    return str(getattr(target, "__name__", type(target).__name__))


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _is_data(found: Any) -> bool:
    return (isinstance(found, (tuple, list)) and len(found) == 4) or all(hasattr(found, part) for part in FOUR)


def _signature_faults(target: Any, name: str, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    taken = parameters(target)
    nameless = [
        each.name
        for each in taken.values()
        if each.kind is Parameter.POSITIONAL_ONLY and each.default is Parameter.empty
    ]
    by_position = [("", f"{name} takes {each} by position only; let it have a name") for each in nameless]
    return call_faults(taken, name, arguments, "a parameter") + by_position


def _array(value: Any, where: str) -> NDArray[Any]:
    """Anything that numpy understands; tensors of torch also from another device, or with a gradient."""
    try:
        for step in ("detach", "cpu", "numpy"):
            value = getattr(value, step)() if hasattr(value, step) else value
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{where} cannot be made a numpy array: {str(error).splitlines()[0]}") from error


def _samples(value: Any, where: str, layout: Layout = "auto") -> Samples:
    return samples(_array(value, where), where, layout)


def _labels(value: Any, where: str) -> NDArray[Any]:
    return labels(_array(value, where), where)


def _typed(dataset: Dataset, name: str) -> Dataset:
    """A Dataset is taken at its word: types become the right ones, shapes and classes stay."""
    typed = replace(
        dataset,
        train_x=_samples(dataset.train_x, f"{name}, train_x", "channels_first"),
        train_y=_labels(dataset.train_y, f"{name}, train_y"),
        test_x=_samples(dataset.test_x, f"{name}, test_x", "channels_first"),
        test_y=_labels(dataset.test_y, f"{name}, test_y"),
        owners=_owners(dataset, "owners", name),
        test_owners=_owners(dataset, "test_owners", name),
    )
    check(typed)
    return typed


def _owners(found: Any, part: str, name: str) -> NDArray[Any] | None:
    owners = getattr(found, part, None)
    return None if owners is None else _labels(owners, f"{name}, {part}")


def _class_names(found: Any) -> tuple[str, ...]:
    """What an object says of its classes: their names, or how many; empty where it says nothing."""
    said = getattr(found, "class_names", ()) or getattr(found, "classes", ())
    if isinstance(said, (int, np.integer)):
        return tuple(map(str, range(int(said))))
    return tuple(map(str, said))
