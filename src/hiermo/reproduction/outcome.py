"""What came out of a study, cell by cell, beside what is published."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from hiermo.experiment import recipe_file
from hiermo.reproduction.plan import Size, cell_name
from hiermo.reproduction.reproduce import Reproduction, opened
from hiermo.reproduction.results import Result
from hiermo.reproduction.study import SECONDS, study_of

NEAR = 0.8  # points of accuracy that count as a match
TEN = ("HierMo", "HierFAVG", "CFL", "DOMO", "FedADC", "FedMom", "SlowMo", "FedNAG", "Mime", "FedAvg")


class Outcome(NamedTuple):
    """One algorithm at one value of what is varied, over its seeds."""

    label: str
    cell: str
    runs: tuple[Result, ...]
    metric: str
    published: float | None
    short: bool  # fewer iterations than in the paper: not to be compared in numbers

    @property
    def values(self) -> tuple[float, ...]:
        """Of each run that did not break: percent, or seconds, the mean over draws of the delays."""
        return tuple(value for run in self.runs if (value := value_of(run, self.metric)) is not None)

    @property
    def mean(self) -> float | None:
        return fmean(self.values) if self.values else None

    @property
    def gap(self) -> float | None:
        """To the digits that are told; rounding in memory must not decide what matches."""
        return None if self.mean is None or self.published is None else round(self.mean - self.published, 6)

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if not self.values:
            return "diverged" if self.runs else "not run"
        if self.gap is None:
            return ""
        if self.short:
            return "fewer iterations"
        if self.metric == SECONDS:
            share = self.gap / (self.published or 1)
            return f"{100 * abs(share):.0f} % {'more' if share > 0 else 'less'}"
        return "matches" if abs(self.gap) <= NEAR else f"{abs(self.gap):.2f} {'above' if self.gap > 0 else 'below'}"


def value_of(run: Result, metric: str) -> float | None:
    if run.error is not None:
        return None
    if metric == SECONDS:
        return fmean(run.draws) if run.draws else run.simulated_seconds
    found = getattr(run, metric)
    return None if found is None else 100 * found


def outcomes(of: Reproduction, metric: str | None = None) -> list[Outcome]:
    """By the values that are varied, and within them by label, both in the order of the study; what is not run yet is
    left out."""
    study = of.study
    metric = metric or study.metric
    full = recipe_file.load(study.recipe).train.iterations if not study.budgets else 0
    groups: dict[tuple[str, str], list[Result]] = {}
    for run in of.found:
        groups.setdefault((cell_name(run.settings), run.label), []).append(run)
    cells = list(dict.fromkeys(cell for cell, _ in groups))
    return [
        Outcome(
            label,
            study.called(cell),
            tuple(runs),
            metric,
            published_for(of, cell, label, metric),
            is_short(runs, full, metric),
        )
        for at in cells
        for (cell, label), runs in groups.items()
        if cell == at
    ]


def published_for(of: Reproduction, cell: str, label: str, metric: str) -> float | None:
    """Numbers of the table are held against both accuracies: the paper does not say which it has."""
    return of.study.of_cell(cell).get(label) if (metric == SECONDS) == (of.study.metric == SECONDS) else None


def is_short(runs: Sequence[Result], full: int, metric: str) -> bool:
    return metric != SECONDS and any(run.iterations < full for run in runs if run.error is None)


def against(of: Reproduction) -> dict[str, Outcome]:
    """By label, the outcomes of the study that this one is held against, where its results lie beside."""
    if of.study.against is None:
        return {}
    other = opened(study_of(of.study.against), Size(scale=of.size.scale), of.path.parent)
    return {each.label: each for each in outcomes(other) if each.values}


def cells_of(found: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    by: dict[str, list[Outcome]] = {}
    for each in found:
        by.setdefault(each.cell, []).append(each)
    return by


def of_paper(found: Sequence[Outcome]) -> list[Outcome]:
    """The paper's ten algorithms, without variants, where they did not break."""
    return [each for each in found if each.label in TEN and each.values]
