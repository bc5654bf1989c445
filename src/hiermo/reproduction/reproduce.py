"""Makes the runs of a study that are not there yet, and gathers what they reach as they end."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hiermo.experiment.run_directory import RunDirectory, create
from hiermo.experiment.sweep.grid import Planned
from hiermo.experiment.sweep.sweep import Sweep, sweep
from hiermo.reproduction import results as kept
from hiermo.reproduction.plan import Size, runs_of
from hiermo.reproduction.results import Result, Results
from hiermo.reproduction.study import SECONDS, Study, studies


@dataclass
class Reproduction:
    """One study at one size, with all that is known of it."""

    study: Study
    size: Size
    planned: list[Planned]
    path: Path  # of the results
    runs: Path  # folder of run directories
    results: Results

    @property
    def found(self) -> list[Result]:
        """What there is, in the order of the plan."""
        return self.results.of(self.planned)

    @property
    def missing(self) -> list[Planned]:
        return [run for run in self.planned if run.of not in self.results.runs]

    def directory(self, run: Planned) -> RunDirectory:
        return RunDirectory(self.runs / run.name)

    def take(self, runs: Sequence[Planned]) -> None:
        """Writes down those that have ended."""
        timed = self.study.metric == SECONDS
        self._keep([found for run in runs if (found := kept.taken(self.directory(run), run, timed)) is not None])

    def adopt(self) -> None:
        """Takes over what another study made whose results lie beside: the same recipe has the same result."""
        if self.study.metric == SECONDS:
            return  # draws of the delays are made where seconds are measured
        for name in studies():
            path = self.path.with_name(f"{name}{self.size.suffix}.json")
            if path != self.path and (missing := self.missing):
                made = kept.read(path).runs
                self._keep([kept.as_of(made[run.of], run) for run in missing if run.of in made])

    def _keep(self, new: Sequence[Result]) -> None:
        if new:
            self.results = replace(self.results, runs={**self.results.runs, **{run.of: run for run in new}})
            kept.write(self.path, self.study.name, self.results)

    def note(self, **extra: object) -> None:
        """What a study found beside its runs."""
        self.results = replace(self.results, extra={**self.results.extra, **extra})
        kept.write(self.path, self.study.name, self.results)


def opened(study: Study, size: Size, out: Path, runs: Path | None = None) -> Reproduction:
    """What `out` knows of a study; nothing is trained."""
    name = f"{study.name}{size.suffix}"
    path = out / f"{name}.json"
    found = kept.read(path)
    chosen = [tuple(pair) for pair in found.extra.get("chosen", [])]
    return Reproduction(study, size, runs_of(study, size, chosen), path, (runs or out / "runs") / name, found)


def reproduce(
    of: Reproduction,
    *,
    processes: int | None = None,
    retry: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Sweep]:
    """Trains what is missing, on all cores, and yields how far it is; what ended is in the file of results at once."""
    of.take(of.missing)  # those that ended when nobody looked
    missing = of.missing + ([run for run in of.planned if _broke(of, run)] if retry else [])
    if not missing:
        return
    for run in missing:
        if not of.directory(run).is_run:
            create(of.directory(run).path, run.recipe)
    paths = {str(of.directory(run).path): run for run in missing}
    seen: set[str] = set()
    for now in sweep([(of.directory(run), run.recipe) for run in missing], processes=processes, retry=retry, stop=stop):
        ended = (now.finished | now.failed.keys()) - seen
        seen |= ended
        of.take([paths[path] for path in ended if path in paths])
        yield now


def _broke(of: Reproduction, run: Planned) -> bool:
    found = of.results.runs.get(run.of)
    return found is not None and found.error is not None
