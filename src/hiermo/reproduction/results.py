"""Finished runs of a study as one small file: what was reached, on the way and in the end, and with what it was made.

The file is all that tables, figures and verdicts need; the run directories may be thrown away, and a run that is in the
file is not made again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
import json
from pathlib import Path
from typing import Any

from hiermo.core.errors import UserError
from hiermo.core.files import write_text
from hiermo.experiment.retime import retime
from hiermo.experiment.run_directory import RunDirectory
from hiermo.experiment.sweep.grid import Planned
from hiermo.experiment.timing import delays_of

FORMAT = 1
POINTS = 60  # of a curve that are kept; the last always is
DRAWS = 20  # of the delays, where seconds are what is measured
CURVE = ("iteration", "accuracy", "train_accuracy", "loss", "simulated_seconds")


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run."""

    of: str  # the fingerprint of its recipe
    label: str
    seed: int
    settings: dict[str, str] = field(default_factory=dict)  # what the study varies
    iterations: int = 0
    accuracy: float | None = None
    train_accuracy: float | None = None
    loss: float | None = None
    simulated_seconds: float | None = None
    bytes: int | None = None
    stopped_by: str = ""
    seconds: float = 0.0  # on this machine
    curve: dict[str, list[float]] = field(default_factory=dict)
    draws: list[float] = field(default_factory=list)  # seconds under several draws of the delays
    free_draws: list[float] = field(default_factory=list)  # the same, where full gradients take no time
    model_sha256: str = ""
    about: dict[str, str] = field(default_factory=dict)  # date, versions, commit, processor
    error: str | None = None  # why the run broke, where it did


@dataclass(frozen=True)
class Results:
    """A file of them; `extra` is what else a study found, such as chosen periods."""

    runs: dict[str, Result] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def of(self, planned: Iterable[Planned]) -> list[Result]:
        """Those of a plan that are here, in its order."""
        return [self.runs[run.of] for run in planned if run.of in self.runs]


def read(path: Path) -> Results:
    """Empty where there is no file yet."""
    if not path.is_file():
        return Results()
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        found = [Result(**run) for run in raw["runs"]] if raw["format"] == FORMAT else []
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f"{path}: damaged: {error}") from None
    if raw["format"] != FORMAT:
        raise UserError(f"{path}: has format {raw['format']}, and this version of hiermo reads {FORMAT}")
    return Results({run.of: run for run in found}, raw.get("extra", {}))


def write(path: Path, study: str, results: Results) -> None:
    """One line per run, so that differences between two versions can be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = ",\n".join(json.dumps(_short(run)) for run in results.runs.values())
    extra = json.dumps(results.extra)
    write_text(path, f'{{"format": {FORMAT}, "study": {json.dumps(study)}, "extra": {extra}, "runs": [\n{runs}\n]}}\n')


def _short(run: Result) -> dict[str, Any]:
    return {key: value for key, value in asdict(run).items() if value not in (None, [], {}, "")}


def taken(directory: RunDirectory, planned: Planned, timed: bool = False) -> Result | None:
    """What a run directory holds; None where the run is neither finished nor broken."""
    (part,) = planned.recipe.algorithms
    settings = _varied(planned)
    about = _about(directory)
    common: dict[str, Any] = {"of": planned.of, "label": part.label, "seed": planned.recipe.train.seed}
    if (result := directory.result()) is None:
        failed = directory.failure()
        return None if failed is None else Result(**common, settings=settings, error=failed, about=about)
    names = (
        "iterations",
        "accuracy",
        "train_accuracy",
        "loss",
        "simulated_seconds",
        "bytes",
        "stopped_by",
        "model_sha256",
    )
    values = {name: result[name] for name in names if name in result}
    seconds = round(result["seconds"], 1)
    again: dict[str, Any] = _draws(directory) if timed else {}
    return Result(**common, settings=settings, **values, seconds=seconds, curve=_curve(directory), **again, about=about)


def as_of(result: Result, planned: Planned) -> Result:
    """The same result, where another study varies other keys."""
    return replace(result, settings=_varied(planned))


def _varied(planned: Planned) -> dict[str, str]:
    return {key: value for key, value in planned.settings.items() if key != "train.seed"}


def _curve(directory: RunDirectory) -> dict[str, list[float]]:
    lines = directory.evaluations()
    step = -(-len(lines) // POINTS)
    kept = [line for k, line in enumerate(lines) if (len(lines) - 1 - k) % step == 0]
    there = [name for name in CURVE if all(name in line for line in kept)]
    return {name: [_rounded(line[name]) for line in kept] for name in there}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _draws(directory: RunDirectory) -> dict[str, list[float]]:
    """When the last evaluation would have been under other draws of the same delays."""
    recipe = directory.recipe()
    (part,) = recipe.algorithms
    found = {"draws": retime(directory, delays_of(recipe), range(DRAWS))}
    if part.made.asks is not None:
        found["free_draws"] = retime(directory, delays_of(recipe), range(DRAWS), full_gradients=False)
    return {name: [_rounded(each.lines[-1]["simulated_seconds"]) for each in told] for name, told in found.items()}


def _about(directory: RunDirectory) -> dict[str, str]:
    starts = directory.starts()
    if not starts:
        return {}
    last = starts[-1]
    commit = (last.get("git") or {}).get("commit") or "unknown"
    told = {"date": str(last.get("started", ""))[:10], "hiermo": last.get("hiermo", ""), "commit": commit[:10]}
    return told | {"torch": (last.get("libraries") or {}).get("torch", ""), "cpu": last.get("cpu", "")}


def machines(results: Sequence[Result]) -> list[str]:
    """With what the runs were made, in a sentence for each kind."""
    told: dict[tuple[str | None, ...], list[dict[str, str]]] = {}
    for run in results:
        about = run.about
        told.setdefault((about.get("hiermo"), about.get("torch"), about.get("cpu")), []).append(about)
    lines = []
    for (version, torch, cpu), several in told.items():
        dates = sorted({about.get("date", "") for about in several})
        commits = list(dict.fromkeys(about.get("commit", "") for about in several))
        days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        lines.append(f"{days}, hiermo {version}, torch {torch}, {cpu}, commit {', '.join(commits)}")
    return lines
