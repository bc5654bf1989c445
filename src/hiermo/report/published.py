"""Published numbers, to be held against measured ones."""

from functools import lru_cache
from importlib.resources import files
import tomllib
from typing import NamedTuple


class Column(NamedTuple):
    """A column of a published table."""

    recipe: str  # the shipped recipe that stands for it, or would
    data: str
    model: str
    accuracy: dict[str, float]  # algorithm -> test accuracy in %
    source: str


@lru_cache(maxsize=1)
def published() -> tuple[Column, ...]:
    """All columns that the package knows.

    >>> published()[1].recipe, published()[1].accuracy["HierMo"]
    ('paper/logistic-mnist', 89.23)
    """
    raw = tomllib.loads((files("hiermo") / "report" / "published.toml").read_text(encoding="utf-8"))
    source = raw["source"]
    return tuple(Column(name, **table, source=source) for name, table in raw.items() if isinstance(table, dict))
