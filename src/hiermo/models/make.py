"""Models by name, for the library's users."""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hiermo.core.errors import UserError
from hiermo.core.parameter import faults
from hiermo.models import MODELS
from hiermo.models.imported import Imported

if TYPE_CHECKING:
    from torch import nn


def make_model(
    name: str, data: Any = None, *, shape: tuple[int, ...] | None = None, classes: int | None = None, **options: Any
) -> "Callable[[], nn.Module]":
    """A function that makes the model for `data`, or for samples of a `shape` in so many `classes`.

    It is what `Supervised` takes. `name` is one of `hiermo list models`, or an import path of a torch module.

    >>> import hiermo
    >>> data = hiermo.load_data("mnist-5k", workers=4)
    >>> sum(p.numel() for p in hiermo.make_model("cnn", data)().parameters())
    1663370
    >>> hiermo.make_model("mlp", shape=(1, 28, 28), classes=10, hidden=(20,))()[1]
    Linear(in_features=784, out_features=20, bias=True)
    """
    if (data is None) == (shape is None and classes is None):
        raise UserError(f"make_model('{name}') needs either data, or shape= and classes=")
    if data is not None:
        shape, classes = data.shape, data.classes
    if shape is None or classes is None:
        raise UserError(f"make_model('{name}') needs both shape= and classes=")
    return partial(_spec(name, options).build, tuple(shape), classes)


def _spec(name: str, options: dict[str, Any]) -> Any:
    kind = MODELS.get(name)
    described = isinstance(kind, type) and is_dataclass(kind)
    for option, what in faults(kind, options) if described else Imported(kind, options).faults(options):
        raise UserError(f"model {name}: {option} {what}" if option else f"model {name}: {what}")
    return kind(**options) if described else Imported(kind, options)
