"""How long algorithms take to reach a target: a table and bars, with the spread over seeds and draws of the delays."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from rich import box
from rich.markup import escape
from rich.table import Table

from hiermo.core.units import human
from hiermo.experiment.retime import Retimed
from hiermo.report.curves import COLOURS, plain, save

OURS = "HierMo"  # whose saving is told


class Reached(NamedTuple):
    """One algorithm: seconds of every run and draw that met the target, and of how many."""

    label: str
    seconds: tuple[float, ...]
    tried: int
    runs: int
    iterations: float
    bytes: float

    @property
    def mean(self) -> float:
        return fmean(self.seconds)

    @property
    def deviation(self) -> float:
        return stdev(self.seconds) if len(self.seconds) > 1 else 0.0

    def json(self) -> dict[str, Any]:
        facts = {"label": self.label, "reached": len(self.seconds), "of": self.tried, "runs": self.runs}
        if not self.seconds:
            return facts
        spread = {"mean_s": self.mean, "deviation_s": self.deviation, "least_s": min(self.seconds)}
        return facts | spread | {"most_s": max(self.seconds), "iterations": self.iterations, "bytes": self.bytes}


def time_to(retimed: Sequence[Retimed], until: dict[str, float]) -> list[Reached]:
    """In the order of their first appearance; without a target, of the whole runs."""
    found = []
    for label in dict.fromkeys(each.label for each in retimed):
        own = [each for each in retimed if each.label == label]
        ends = [end for each in own if (end := each.when(until) if until else each.lines[-1]) is not None]
        found.append(
            Reached(
                label,
                tuple(end["simulated_seconds"] for end in ends),
                len(own),
                len({each.directory.path for each in own}),
                fmean(end["iteration"] for end in ends) if ends else 0.0,
                fmean(end["bytes"] for end in ends) if ends else 0.0,
            )
        )
    return found


def saving(found: Sequence[Reached], other: Reached) -> float | None:
    """How much less time HierMo takes than another, as a share."""
    ours = next((each for each in found if each.label == OURS and each.seconds), None)
    if ours is None or not other.seconds or other.label == OURS:
        return None
    return 1 - ours.mean / other.mean


def time_table(found: Sequence[Reached], until: dict[str, float], delays: str) -> Table:
    title = f"simulated seconds until {in_words(until)}" if until else "simulated seconds of whole runs"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.caption, table.caption_justify = f"delays: {escape(delays)}", "left"
    table.add_column("algorithm", no_wrap=True)
    saved = any(saving(found, each) is not None for each in found)
    for name in ("iterations", "seconds", "±", "least", "most", "sent", *([f"{OURS} saves"] if saved else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        if not each.seconds:
            table.add_row(escape(each.label), "-", "not reached", *[""] * (4 + saved))
            continue
        share = saving(found, each)
        table.add_row(
            escape(each.label),
            f"{each.iterations:,.0f}",
            digits(each.mean),
            digits(each.deviation),
            digits(min(each.seconds)),
            digits(max(each.seconds)),
            human(each.bytes),
            *([] if not saved else [""] if share is None else [f"{100 * share:.0f} %"]),
        )
    return table


def draw_times(found: Sequence[Reached], until: dict[str, float], delays: str, path: Path, title: str = "") -> Path:
    """A bar per algorithm, least at the top, with its deviation; those that missed the target are named."""
    from matplotlib import pyplot

    there = sorted((each for each in found if each.seconds), key=lambda each: -each.mean)
    figure, axes = pyplot.subplots(figsize=(8, 1.6 + 0.42 * max(1, len(there))), dpi=150, layout="constrained")
    for row, each in enumerate(there):
        colour = COLOURS[0] if each.label == OURS else "#8C8C8C"
        axes.barh(row, each.mean, color=colour, height=0.7)
        axes.errorbar(each.mean, row, xerr=each.deviation, color="black", capsize=3, linewidth=1)
        share = saving(found, each)
        less = f"   {OURS} saves {100 * share:.0f} %" if share is not None else ""
        axes.annotate(
            f"{digits(each.mean)} s{less}",
            (each.mean + each.deviation, row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.set_yticks(range(len(there)), [plain(each.label) for each in there])
    axes.set_xlim(0, 1.5 * max((each.mean + each.deviation for each in there), default=1))
    missed = [plain(each.label) for each in found if not each.seconds]
    missing = f"\nnever reached: {', '.join(missed)}" if missed else ""
    axes.set_xlabel(f"simulated seconds (bars: mean, lines: ± deviation over runs and draws)\n{plain(delays)}{missing}")
    goal = f"time until {in_words(until)}" if until else "time of whole runs"
    axes.set_title(plain(f"{title}: {goal}" if title else goal), loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    save(figure, path)
    return path


def in_words(until: dict[str, float]) -> str:
    """`train_accuracy = 0.95`."""
    return " and ".join(f"{name} = {value:g}" for name, value in until.items())


def digits(seconds: float) -> str:
    """As many as tell runs apart.

    >>> digits(4987.6), digits(621.3), digits(1.527)
    ('4,988', '621.3', '1.53')
    """
    return f"{seconds:,.0f}" if seconds >= 1000 else f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.2f}"
