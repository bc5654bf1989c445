"""The figure of a study: accuracies beside the published ones, curves as in the paper, bars of time, heat maps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hiermo.core.units import three_digits
from hiermo.report.curves import COLOURS, DASHES, MARKS, plain, save
from hiermo.reproduction.budgets import budget_outcomes
from hiermo.reproduction.outcome import Outcome, cells_of, outcomes
from hiermo.reproduction.reproduce import Reproduction
from hiermo.reproduction.study import SECONDS

WORDS = {"accuracy": "test accuracy (%)", "train_accuracy": "training accuracy (%)"}
ACROSS = 3  # panels in a row
POINT = 1.0  # of accuracy in percent
OURS, GREY = COLOURS[0], "#8C8C8C"


def draw(of: Reproduction, path: Path) -> Path | None:
    """Writes a PNG; None where nothing is known yet."""
    found = [each for each in outcomes(of) if each.values]
    if not found:
        return None
    if of.study.budgets:
        return _draw_budgets(of, path)
    if of.study.metric == SECONDS:
        return _draw_times(of, found, path)
    keys = [text.partition("=")[0] for text in of.study.vary]
    if keys == ["algorithm.gamma", "algorithm.gamma_a"]:
        return _draw_map(of, path)
    cells = cells_of(found)
    labels = list(dict.fromkeys(each.label for each in found))
    if len(cells) == 1 or len(labels) == 1:
        return _draw_column(of, found, path, by_cell=len(cells) > 1)
    return _draw_panels(of, cells, path)


def _draw_column(of: Reproduction, found: Sequence[Outcome], path: Path, by_cell: bool) -> Path:
    """Where every algorithm ends, or one for every value that is varied, beside the published number, and how it came
    there, where that is known."""
    from matplotlib import pyplot

    known = any(run.curve for each in found for run in each.runs)
    ratios = (1, 1.1) if known else (1,)
    size = (6 * len(ratios), 1.8 + 0.34 * len(found))
    figure, axes = pyplot.subplots(
        1, len(ratios), figsize=size, dpi=130, layout="constrained", width_ratios=ratios, squeeze=False
    )
    left = axes[0, 0]
    for row, each in enumerate(reversed(found)):
        mean, values = each.mean or 0.0, each.values
        colour = OURS if each.label == "HierMo" and not by_cell else "#404040"
        left.plot([min(values), max(values)], [row, row], color=colour, linewidth=3, alpha=0.5)
        left.plot([mean], [row], "o", color=colour, markersize=7, label="here" if row == 0 else None)
        if each.published is not None:
            left.plot(
                [each.published], [row], "D", color=COLOURS[1], fillstyle="none", markersize=8, markeredgewidth=1.6
            )
    if any(each.published is not None for each in found):
        left.plot([], [], "D", color=COLOURS[1], fillstyle="none", label="published")
        left.legend(frameon=False, fontsize=9)
    left.set_yticks(range(len(found)), [plain(each.cell if by_cell else each.label) for each in reversed(found)])
    low, high = left.get_xlim()
    if high - low < POINT:  # differences that mean nothing shall not look large
        left.set_xlim((low + high - POINT) / 2, (low + high + POINT) / 2)
    left.set_xlabel(WORDS[of.study.metric])
    left.set_ylabel(of.study.varied if by_cell else "")
    left.grid(axis="x", alpha=0.3)
    if known:
        _draw_curves(axes[0, 1], found, of.study.metric, by_cell)
        axes[0, 1].legend(frameon=False, fontsize=8, ncols=2, title=of.study.varied if by_cell else None)
    _finish(figure, axes[0], of, path)
    return path


def _draw_panels(of: Reproduction, panels: dict[str, list[Outcome]], path: Path) -> Path:
    """A panel of curves for each value that is varied, as in the paper's figure."""
    from matplotlib import pyplot

    rows = -(-len(panels) // ACROSS)
    across = -(-len(panels) // rows)
    figure, axes = pyplot.subplots(
        rows,
        across,
        figsize=(5.4 * across + 1.5, 4.8 * rows),
        dpi=130,
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    for (cell, several), each in zip(panels.items(), axes.flat, strict=False):
        _draw_curves(each, several, of.study.metric)
        _draw_published(each, several)
        each.set_title(plain(cell), fontsize=10)
        each.legend(frameon=False, fontsize=8)
    for each in axes.flat[len(panels) :]:
        each.set_visible(False)
    _finish(figure, list(axes.flat), of, path)
    return path


def _draw_curves(axes: Any, found: Sequence[Outcome], metric: str, by_cell: bool = False) -> None:
    """The first seed of each; where it is measured on the way."""
    for k, each in enumerate(found):
        run = next((run for run in each.runs if run.error is None and metric in run.curve), None)
        if run is None:
            continue
        axes.plot(
            run.curve["iteration"],
            [100 * value for value in run.curve[metric]],
            label=plain(each.cell if by_cell else each.label),
            color=COLOURS[k % len(COLOURS)],
            linestyle=DASHES[(k // len(COLOURS) + k) % len(DASHES)],
            marker=MARKS[k % len(MARKS)],
            markersize=4,
            linewidth=1.6,
        )
    axes.set_xlabel("iterations (local steps of every worker)")
    axes.set_ylabel(WORDS[metric])
    axes.grid(alpha=0.3)


def _draw_published(axes: Any, found: Sequence[Outcome]) -> None:
    """Where curves should have ended, if they are as long as the paper's; each in the colour of its curve."""
    compared = [each for each in found if each.published is not None and not each.short]
    look = {"fillstyle": "none", "markersize": 9, "markeredgewidth": 1.6}
    for each in compared:
        end = max(run.iterations for run in each.runs)
        axes.plot([end], [each.published], "D", color=COLOURS[found.index(each) % len(COLOURS)], **look)
    if compared:
        axes.plot([], [], "D", color=GREY, label="published", **look)


def _draw_times(of: Reproduction, found: Sequence[Outcome], path: Path) -> Path:
    """A bar per algorithm; the published time of HierMo, and the range of the others', behind it."""
    from matplotlib import pyplot

    there = sorted(found, key=lambda each: -(each.mean or 0))
    figure, axes = pyplot.subplots(figsize=(9, 1.8 + 0.4 * len(there)), dpi=130, layout="constrained")
    if of.study.others is not None:
        axes.axvspan(*of.study.others, color=GREY, alpha=0.15, label="published: the others")
    for row, each in enumerate(there):
        several = [seconds for run in each.runs for seconds in run.draws] or list(each.values)
        mean = each.mean or 0.0
        axes.barh(row, mean, color=OURS if each.label == "HierMo" else GREY, height=0.7)
        axes.plot([min(several), max(several)], [row, row], color="black", linewidth=1)
        axes.annotate(
            f"{three_digits(mean)} s",
            (max(several), row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
        if each.published is not None:
            axes.plot(
                [each.published],
                [row],
                "D",
                color=COLOURS[1],
                fillstyle="none",
                markersize=8,
                label="published: HierMo",
            )
    axes.set_yticks(range(len(there)), [plain(each.label) for each in there])
    axes.set_xlabel("simulated seconds until the target (bars: mean, lines: least to most over draws of the delays)")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    _finish(figure, (axes,), of, path)
    return path


def _draw_budgets(of: Reproduction, path: Path) -> Path | None:
    """A panel for each budget within which a cloud round was finished."""
    from hiermo.report.periods_picture import draw_accuracies

    several = [each for each in budget_outcomes(of) if each.reached]
    if not several:
        return None
    panels = [
        (
            f"{each.budget_s:g} s",
            {pair: value / 100 for pair, value in each.reached.items()},
            {"chosen": (each.chosen, each.at_choice / 100)} if each.chosen and each.at_choice is not None else {},
        )
        for each in several
    ]
    return draw_accuracies(panels, path, of.study.title, "training accuracy (%)", columns=len(panels))


def _draw_map(of: Reproduction, path: Path) -> Path:
    """Accuracy over both momenta, a panel for each form, with the edge from which on the position form is unstable."""
    from matplotlib import pyplot
    import numpy as np

    found = outcomes(of)
    forms = list(dict.fromkeys(each.label for each in found))
    figure, axes = pyplot.subplots(
        1, len(forms), figsize=(6.2 * len(forms) + 1, 5.4), dpi=130, layout="constrained", squeeze=False
    )
    values = [each.mean for each in found if each.mean is not None]
    highest = max(values)
    lowest = min(highest, float(np.percentile(values, 5)))  # below it all is of one colour
    for form, each in zip(forms, axes[0], strict=True):
        own = {tuple(map(float, one.cell.split(", "))): one.mean for one in found if one.label == form}
        gammas, above = (sorted({pair[k] for pair in own}) for k in (0, 1))
        field = np.array([[own.get((g, a)) or np.nan for g in gammas] for a in above])
        shown = each.pcolormesh(gammas, above, field, cmap="viridis", shading="nearest", vmin=lowest, vmax=highest)
        for g in gammas:
            for a in above:
                value = own.get((g, a))
                bright = value is None or value > 0.5 * (lowest + highest)
                told = "broke" if value is None else f"{value:.1f}"
                each.text(g, a, told, ha="center", va="center", fontsize=6.5, color="black" if bright else "white")
        each.set_title(plain(form), fontsize=10, loc="left")
        each.set_xlabel("gamma (momentum at the workers)")
        each.set_ylabel("gamma_a (momentum at the edges)")
        if form != "HierMo":
            each.plot(
                [0.05, 0.95], [0.95, 0.05], color=COLOURS[1], linewidth=2, linestyle="--", label="gamma + gamma_a = 1"
            )
            each.legend(loc="upper left", bbox_to_anchor=(0, -0.1), fontsize=9, frameon=False)
    figure.colorbar(shown, ax=axes[0].tolist(), label=WORDS[of.study.metric])
    _finish(figure, axes[0], of, path)
    return path


def _finish(figure: Any, panels: Sequence[Any], of: Reproduction, path: Path) -> None:
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    small = f", scale {of.size.scale:g}" if of.size.scale < 1 else ""
    figure.suptitle(plain(f"{of.study.title} ({of.study.place}{small})"), x=0.01, ha="left", fontsize=11)
    save(figure, path)
