"""Shows the progress of a run to trackers: each evaluation once, and never at the cost of the run."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from secrets import token_hex
import shlex
from typing import TYPE_CHECKING, Any
import warnings

from hiermo.core.errors import Diverged
from hiermo.core.files import write_json
from hiermo.experiment.recipe import FORMAT, Recipe, to_dict
from hiermo.experiment.run_directory import RunDirectory
from hiermo.experiment.trackers import usable
from hiermo.experiment.trackers.plain import numbers, scalars
from hiermo.experiment.trackers.tracker import Point, Status, TrackedRun, Tracker

if TYPE_CHECKING:
    from hiermo.experiment.training import Progress

FILE = "trackers.json"


@contextmanager
def tracking(names: Iterable[str], directory: RunDirectory, recipe: Recipe) -> Iterator["Tracking"]:
    """Trackers for the `for` body of `train`; around nothing, they log a finished run as it is.

    How the run ended is read from its directory afterwards.
    """
    tracks = Tracking(usable(dict.fromkeys(names)), directory, recipe)
    try:
        yield tracks
    except BaseException as error:
        # a run that never began here is not ours to speak of: another process trains it, or its files are damaged
        if tracks.begun or isinstance(error, Diverged):
            tracks.end()
        raise
    tracks.end()


class Tracking:
    """The trackers of one run.

    They are opened at the first progress: by then `train` has dropped the evaluations that it will do again.
    """

    def __init__(self, kinds: dict[str, type[Tracker]], directory: RunDirectory, recipe: Recipe) -> None:
        self._kinds, self._directory, self._recipe = kinds, directory, recipe
        self._open: dict[str, Tracker] = {}
        self._last_round = 0
        self.begun = False

    def show(self, progress: "Progress") -> None:
        """Logs the last evaluation where it is new."""
        if not self.begun:
            self._begin()
        elif self._open and progress.metrics and progress.metrics["cloud_round"] > self._last_round:
            self._last_round = progress.metrics["cloud_round"]
            for name, tracker in list(self._open.items()):
                with self._apart(name):
                    tracker.log(self._point(progress.metrics))

    def end(self) -> None:
        """Says how the run ended; after that there is nothing more to show."""
        if not self.begun:
            self._begin()
        for name, tracker in list(self._open.items()):
            with self._apart(name):
                tracker.close(*self._ended())
        self._open.clear()

    def _begin(self) -> None:
        self.begun = True
        for name, kind in self._kinds.items():
            with self._apart(name):
                lines = self._directory.evaluations()
                self._last_round = lines[-1]["cloud_round"] if lines else 0
                self._open[name] = kind(self._run(), [self._point(line) for line in lines])

    @contextmanager
    def _apart(self, name: str) -> Iterator[None]:
        """A tracker that breaks is left out from then on: the disk is full, the server away."""
        try:
            yield
        except Exception as error:
            self._open.pop(name, None)
            again = f"hiermo resume {shlex.quote(str(self._directory.path))} --log {name}"
            said = " ".join(str(error).split()) or type(error).__name__
            warnings.warn(
                f"--log {name}: {said}; the run goes on without it, and `{again}` adds what is missing", stacklevel=2
            )

    def _run(self) -> TrackedRun:
        path, (part,) = self._directory.path.resolve(), self._recipe.algorithms
        folder = path.parent.name if path.name == part.label else path.name
        settings = scalars({k: v for k, v in to_dict(self._recipe).items() if k not in ("format", "description")})
        return TrackedRun(path, self._id(), f"{folder}/{part.label}", self._recipe.name, settings)

    def _id(self) -> str:
        """Written before it is used, so that a kill cannot lose what it names."""
        path = self._directory.path / FILE
        if not path.is_file():
            write_json(path, {"format": FORMAT, "id": token_hex(8)})
        return str(self._directory.read_json(path)["id"])

    def _point(self, line: dict[str, Any]) -> Point:
        first = self._directory.read_json(self._directory.provenance_path)["starts"][0]["started"]
        time_s = datetime.fromisoformat(first).timestamp() + line["seconds"]
        values = numbers({name: value for name, value in line.items() if name != "iteration"})
        return Point(line["iteration"], line["cloud_round"], time_s, values)

    def _ended(self) -> tuple[Status, dict[str, Any]]:
        result, why = self._directory.result(), self._directory.failure()
        if result is not None:
            return "finished", {name: value for name, value in result.items() if name != "format"}
        return ("interrupted", {}) if why is None else ("failed", {"error": why})
