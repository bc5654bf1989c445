"""A study: a table or a figure, as the runs that it takes and what is published of it."""

from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
import tomllib
from typing import Any, NamedTuple

from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion
from hiermo.report.published import published as published_columns

SECONDS = "simulated_seconds"
BEYOND = "beyond the paper"  # the place of a study that is none of its
Numbers = dict[str, float]  # label -> what is published of it


class PublishedBudget(NamedTuple):
    """What is published of a time budget: training accuracy in percent, and at which tau and pi where it is told."""

    best: float
    chosen: float
    best_at: str = ""
    chosen_at: str = ""

    @property
    def gap(self) -> float:
        return round(self.best - self.chosen, 2)


@dataclass(frozen=True, kw_only=True)
class Study:
    """See the head of `studies.toml`."""

    name: str
    title: str
    place: str  # in the paper
    recipe: str
    settings: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()  # every combination
    together: tuple[str, ...] = ()  # lists that advance together
    seeds: int = 1
    once: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    metric: str = "accuracy"
    claims: tuple[str, ...] = ()
    published: dict[str, Numbers] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)  # what the values that are varied are called
    order: tuple[str, ...] = ()  # of the labels, from the best down
    others: tuple[float, float] | None = None  # least and most of the others, where the paper tells no more
    against: str | None = None  # the study whose lead is compared
    beside: str | None = None  # the recipe whose column of the table is meant, where it is not its own
    budgets: tuple[float, ...] = ()  # seconds to train in; periods are chosen for them
    paper: tuple[PublishedBudget, ...] = ()  # what is published of each budget
    heavy: bool = False  # a model of more than five million parameters
    length: int | None = None
    minutes: float | None = None

    @property
    def varied(self) -> str:
        """What is varied, in short."""
        if self.cells:
            return ""
        return ", ".join(text.partition("=")[0].rpartition(".")[2] for text in (*self.vary, *self.together))

    def called(self, cell: str) -> str:
        """A value of what is varied, for people."""
        return self.cells.get(cell, cell)

    def of_cell(self, cell: str) -> Numbers:
        """What is published for one value of what is varied."""
        return self.published.get(cell, {})


@lru_cache(maxsize=1)
def studies() -> dict[str, Study]:
    """All of them by name, in the order of the paper.

    >>> studies()["cnn-mnist"].of_cell("")["HierMo"]
    96.13
    """
    raw = tomllib.loads((files("hiermo") / "reproduction" / "studies.toml").read_text(encoding="utf-8"))
    columns = {column.recipe: column.accuracy for column in published_columns()}
    found = {}
    for name, table in raw.items():
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
        }
        column = columns.get(values.get("beside", values["recipe"]))
        if column is not None and not values.get("vary"):
            values.setdefault("published", {"": column})
        values["paper"] = tuple(PublishedBudget(**each) for each in values.get("paper", ()))
        found[name] = Study(name=name, **values)
    return found


def study_of(name: str) -> Study:
    known = studies()
    if name not in known:
        raise UserError(
            f"there is no study '{name}'{suggestion(name, known)}; `hiermo reproduce --list` names them all"
        )
    return known[name]
