"""Runs that differ in their seed alone are one series: its mean and its spread."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

from hiermo.experiment.store import StoredRun, identity, varied
from hiermo.report.plain import number

MEASURES = ("accuracy", "loss", "simulated_seconds", "bytes")
BETTER = {"accuracy": max, "loss": min}  # fewer seconds or bytes are no merit where the model is worse
DIGITS = 4  # what a table shows of an accuracy or a loss, and so what makes one the best of them
SHORT = {
    "data.source": "data",
    "data.partition.kind": "partition",
    "model.name": "model",
    "algorithm.name": "algorithm",
}
LONGEST = 40  # characters of a value in a name


class Series(NamedTuple):
    """Runs with one label and the same settings, each with a seed of its own."""

    name: str  # the label, and in short the settings in which it differs from others
    runs: list[StoredRun]
    settings: dict[str, Any]  # dotted key -> value, of the keys that its name is made of

    @property
    def finished(self) -> list[StoredRun]:
        """One for each seed, in their order: of two with the same seed the later one, for they are no two samples."""
        ended = sorted((run for run in self.runs if run.result is not None), key=lambda run: run.date or "")
        return sorted({run.seed: run for run in ended}.values(), key=lambda run: run.seed)


def series_of(runs: Sequence[StoredRun]) -> list[Series]:
    """The runs by label and settings; labels in the order of the runs, settings in the order of their values."""
    keys = [key for key in varied(runs) if key != "algorithm.label"]
    labels = list(dict.fromkeys(run.label for run in runs))
    found: list[Series] = []
    for label in labels:
        own = [run for run in runs if run.label == label]
        named = _telling(keys, own)
        groups: dict[Any, list[StoredRun]] = {}
        for run in own:
            groups.setdefault(identity([run.keys.get(key) for key in keys]), []).append(run)
        for same in sorted(groups.values(), key=lambda group: [rank(group[0].keys.get(key)) for key in named]):
            told = {key: same[0].keys[key] for key in named if key in same[0].keys}
            words = [f"{short}={short_value(same[0].keys.get(key))}" for key, short in short_names(named).items()]
            name = _unique(" ".join([label, *words]), [each.name for each in found])
            found.append(Series(name, sorted(same, key=lambda run: run.seed), told))
    return found


def summarise(series: Sequence[Series]) -> list[dict[str, Any]]:
    """One row per series: over its seeds, mean and standard deviation (of a sample; None for one) of each measure.

    `n` is the number of seeds that finished, and all that the means are over; `runs` counts the others too. `best`
    names the measures in which no other series is better.
    """
    rows = [_row(each) for each in series]
    for name, better in BETTER.items():
        known = [round(row[name], DIGITS) for row in rows if row[name] is not None]
        for row in rows if len(known) > 1 else ():
            if row[name] is not None and round(row[name], DIGITS) == better(known):
                row["best"].append(name)
    return rows


def _row(series: Series) -> dict[str, Any]:
    ended = series.finished
    row: dict[str, Any] = {"series": series.name, "label": series.runs[0].label, "settings": series.settings}
    row |= {"runs": len(series.runs), "n": len(ended), "seeds": [run.seed for run in ended]}
    for name in MEASURES:
        values = [value for run in ended if (value := number((run.result or {}).get(name))) is not None]
        whole = bool(values) and len(values) == len(ended)  # a mean over some of the seeds would pass for one over all
        row[name] = fmean(values) if whole else None
        row[f"{name}_deviation"] = stdev(values) if whole and len(values) > 1 else None
    return {**row, "best": []}


def telling(runs: Sequence[StoredRun]) -> list[str]:
    """The keys that tell runs apart, beside their labels: what names of series are made of."""
    keys = [key for key in varied(runs) if key != "algorithm.label"]
    labels = dict.fromkeys(run.label for run in runs)
    found = {key for label in labels for key in _telling(keys, [run for run in runs if run.label == label])}
    return [key for key in keys if key in found]


def _telling(keys: Sequence[str], own: Sequence[StoredRun]) -> list[str]:
    """Those in which the runs of one label differ, among themselves or from those of others.

    Other algorithms have other options, which their label says already.
    """

    def tells(key: str) -> bool:
        differ = len({identity(run.keys.get(key)) for run in own}) > 1
        return differ or (not key.startswith("algorithm.") and key in own[0].keys)

    return list(filter(tells, keys))


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Dotted key -> its last word, where that is no other's.

    >>> short_names(["periods.tau", "train.batch", "evaluate.batch", "data.source"])
    {'periods.tau': 'tau', 'train.batch': 'train.batch', 'evaluate.batch': 'evaluate.batch', 'data.source': 'data'}
    """
    short = {key: SHORT.get(key, key.rpartition(".")[2]) for key in keys}
    return {key: name if list(short.values()).count(name) == 1 else key for key, name in short.items()}


def short_value(value: Any) -> str:
    """As a recipe would say it, in few characters.

    >>> [short_value(each) for each in (0.9, True, [8, 16], None, "x" * 50)]
    ['0.9', 'true', '[8,16]', 'none', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…']
    """
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    text = f"[{','.join(map(short_value, value))}]" if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def rank(value: Any) -> tuple[int, float, str]:
    """Numbers before texts, what is missing first."""
    if isinstance(value, (int, float)) and abs(value) < float("inf"):
        return 1, min(max(value, -1e300), 1e300), ""
    return (0, 0.0, "") if value is None else (2, 0.0, str(value))


def _unique(name: str, taken: Sequence[str]) -> str:
    """With a number behind it where a name is taken: long values are cut short."""
    k = 1
    while (told := name if k == 1 else f"{name} ({k})") in taken:
        k += 1
    return told
