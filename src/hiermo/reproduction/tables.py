"""Tables of a study, as rows of text: for the terminal and for a page alike."""

from collections.abc import Sequence
from typing import NamedTuple

from hiermo.core.units import three_digits
from hiermo.reproduction.budgets import budget_outcomes
from hiermo.reproduction.claims import Claim
from hiermo.reproduction.outcome import Outcome, against, cells_of, outcomes
from hiermo.reproduction.reproduce import Reproduction
from hiermo.reproduction.study import SECONDS

NAMES = {"accuracy": "test", "train_accuracy": "training", SECONDS: "seconds"}
MANY = 40  # outcomes that a table has room for


class Grid(NamedTuple):
    """A table of text; the first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> list[str]:
        """A row of it for every line.

        >>> Grid(("", "a"), (("x", "1"),)).markdown()
        ['| | a |', '|---|---|', '| x | 1 |']
        """
        lines = [self.head, tuple("---" for _ in self.head), *self.rows]
        return [
            "|" + "|".join("---" if cell == "---" else f" {cell} " if cell else " " for cell in line) + "|"
            for line in lines
        ]


def tables(of: Reproduction) -> list[Grid]:
    """The tables of a study."""
    if of.study.budgets:
        return [_budgets(of)]
    found = outcomes(of)
    if len(found) > MANY:
        return []
    cells = cells_of(found)
    if len(cells) <= 1:
        return [_single(of, found)]
    labels = list(dict.fromkeys(each.label for each in found))
    return [_effect(of, found)] if len(labels) == 1 else [_by_cell(of, cells, labels)]


def shown(each: Outcome) -> str:
    """Mean, and in brackets least and most of several seeds."""
    if each.mean is None:
        return each.verdict
    told = three_digits if each.metric == SECONDS else "{:.2f}".format
    several = f" ({told(min(each.values))} to {told(max(each.values))})" if len(each.values) > 1 else ""
    return f"{told(each.mean)}{several}"


def _single(of: Reproduction, found: Sequence[Outcome]) -> Grid:
    """Algorithm by algorithm, with both accuracies, and the verdict."""
    if of.study.metric == SECONDS:
        return _times(of, found)
    second = outcomes(of, "train_accuracy" if of.study.metric == "accuracy" else "accuracy")
    beside = {each.label: each for each in second if each.values}
    names = [NAMES[of.study.metric], *([NAMES[second[0].metric]] if beside else [])]
    rows: list[tuple[str, ...]] = []
    for each in found:
        told = [shown(each), *([shown(beside[each.label]) if each.label in beside else ""] if beside else [])]
        rows.append((each.label, *told, *_against(each)))
    if not any(each.published for each in found):
        rows = [row[: 1 + len(names)] for row in rows]
        if before := against(of):
            names.append("test, one eta for all")
            rows = [(*row, shown(before[row[0]]) if row[0] in before else "") for row in rows]
        return Grid(("", *names), tuple(rows))
    return Grid(("", *names, "published", "gap", "verdict"), tuple(rows))


def _against(each: Outcome) -> tuple[str, str, str]:
    if each.published is None:
        return "-", "", each.verdict
    gap = "" if each.gap is None or each.short else f"{each.gap:+.2f}"
    return f"{each.published:.2f}", gap, each.verdict


def _times(of: Reproduction, found: Sequence[Outcome]) -> Grid:
    ours = next((each.mean for each in found if each.label == "HierMo"), None)
    rows = []
    for each in sorted(found, key=lambda each: each.mean or 0):
        free = [seconds for run in each.runs for seconds in run.free_draws]
        several = [seconds for run in each.runs for seconds in run.draws]
        spread = f" ({three_digits(min(several))} to {three_digits(max(several))})" if several else ""
        told = "" if each.mean is None else f"{three_digits(each.mean)}{spread}"
        told += f"; full gradients free: {three_digits(sum(free) / len(free))}" if free else ""
        saved = (
            "" if ours is None or not each.mean or each.label == "HierMo" else f"{100 * (1 - ours / each.mean):.0f} %"
        )
        steps = sum(run.iterations for run in each.runs) / len(each.runs)
        published = "-" if each.published is None else f"{each.published:.2f}"
        rows.append((each.label, str(len(each.runs)), f"{steps:.0f}", told, saved, published, each.verdict))
    head = ("", "seeds", "iterations", "simulated seconds (least to most)", "HierMo saves", "published", "verdict")
    return Grid(head, tuple(rows))


def _effect(of: Reproduction, found: Sequence[Outcome]) -> Grid:
    """One algorithm: a row for each value that is varied."""
    second = {each.cell: each for each in outcomes(of, "train_accuracy") if each.values}
    rows, before = [], None
    for each in found:
        step = "" if before is None or each.mean is None else f"{each.mean - before:+.2f}"
        rows.append((each.cell, shown(each), shown(second[each.cell]) if each.cell in second else "", step))
        before = each.mean
    return Grid((of.study.varied, "test", "training", "step"), tuple(rows))


def _by_cell(of: Reproduction, cells: dict[str, list[Outcome]], labels: Sequence[str]) -> Grid:
    """Labels down, what is varied across, both accuracies in a cell; the published number where there is one."""
    second = {(each.cell, each.label): each for each in outcomes(of, "accuracy") if each.values}
    rows = []
    for label in labels:
        row = [label]
        for cell, several in cells.items():
            each = next((each for each in several if each.label == label), None)
            told = "" if each is None else shown(each)
            other = second.get((cell, label))
            told += f" / {shown(other)}" if each is not None and other is not None and each.metric != "accuracy" else ""
            if each is not None and each.published is not None:
                told += f" [{each.published:.2f}: {each.verdict}]"
            row.append(told)
        rows.append(tuple(row))
    key = f"{of.study.varied}: " if of.study.varied else ""
    beside = " / test" if of.study.metric != "accuracy" else ""
    head = (f"{key}{NAMES[of.study.metric]}{beside}", *cells)
    return Grid(head, tuple(rows))


def _budgets(of: Reproduction) -> Grid:
    several = budget_outcomes(of)
    pairs = list(dict.fromkeys(pair for each in several for pair in each.reached))
    rows = []
    for pair in sorted(pairs):
        cells = [
            f"{each.reached[pair]:.2f}{' (best)' if pair == each.best else ''}" if pair in each.reached else "-"
            for each in several
        ]
        rows.append((str(pair), *cells))
    chosen = [
        "-" if each.at_choice is None else f"{each.at_choice:.2f} at {each.chosen}, {each.gap or 0:.2f} below the best"
        for each in several
    ]
    rows.append(("chosen by `hiermo tune`, after its pilot", *chosen))
    if any(each.with_all != each.at_choice for each in several):
        free = ["-" if each.with_all is None else f"{each.with_all:.2f}" for each in several]
        rows.append(("the same, if the pilot took no time", *free))
    if paper := of.study.paper:
        rows.append(("published: the best", *(_at(each.best, each.best_at) for each in paper)))
        told = [f"{_at(each.chosen, each.chosen_at)}, {each.gap:.2f} below the best" for each in paper]
        rows.append(("published: chosen by HierOPT", *told))
    return Grid(("tau, pi: training accuracy", *(f"{each.budget_s:g} s" for each in several)), tuple(rows))


def _at(accuracy: float, pair: str) -> str:
    return f"{accuracy:.2f}{f' at {pair}' if pair else ''}"


def claims_grid(claims: Sequence[Claim]) -> Grid:
    return Grid(
        ("the paper says", "here", "measured"), tuple((each.says, each.verdict, each.measured) for each in claims)
    )
