"""What a tracker is."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hiermo.experiment.trackers.plain import Scalar

Status = Literal["finished", "failed", "interrupted"]


class Point(NamedTuple):
    """One evaluation; several may have the same iteration where time decides, and none the same cloud round."""

    iteration: int
    cloud_round: int
    time_s: float  # since the epoch, as if the run had never been interrupted
    values: dict[str, float]


class TrackedRun(NamedTuple):
    """What a tracker is told of a run."""

    path: Path
    id: str  # the same whenever the run goes on
    name: str  # folder and label
    recipe: str  # its name
    settings: dict[str, Scalar]  # the recipe by dotted keys


class Tracker(ABC):
    """One place for the points of one run.

    Whatever a tracker raises ends its own work and not the run's.
    """

    @classmethod  # noqa: B027 - most need nothing
    def check(cls) -> None:
        """Raises a UserError where it cannot be used; asked before anything is trained."""

    @abstractmethod
    def __init__(self, run: TrackedRun, points: Sequence[Point]) -> None:
        """Opens the place, new or that of an earlier start, and sees to it that these points are there once."""

    @abstractmethod
    def log(self, point: Point) -> None:
        """One more."""

    @abstractmethod
    def close(self, status: Status, result: dict[str, Any]) -> None:
        """How the run ended; `result` is its result.json, or says under `error` why it failed."""
