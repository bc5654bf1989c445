"""Models by name, for the library's users."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from hiermo.core.parameter import check_values
from hiermo.models import MODELS

if TYPE_CHECKING:
    from torch import nn


def make_model(name: str, data: Any, **options: Any) -> "Callable[[], nn.Module]":
    """A function that makes the model for `data` (its `shape` and `classes`): what `Supervised` takes.

    >>> import hiermo
    >>> data = hiermo.load_data("mnist-5k", workers=4)
    >>> sum(p.numel() for p in hiermo.make_model("cnn", data)().parameters())
    1663370
    """
    spec = MODELS.get(name)(**options)
    check_values(spec)
    return partial(spec.build, data.shape, data.classes)
