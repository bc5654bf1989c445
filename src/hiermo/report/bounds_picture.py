"""Left and right sides of the theorems over a run, one panel for each."""

from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from hiermo.core.files import write_atomically
from hiermo.report.curves import COLOURS, plain
from hiermo.tuning.theorems import Checked, Inequality, Theorem

PANELS = {
    "Theorem 1": "workers' mean from the edge's virtual model\n$|x_{\\ell-} - x_{[k],\\ell}|$",
    "Theorem 2": "what an edge's momentum adds at a merge\n$|x_{\\ell+} - x_{\\ell-}|$",
    "Theorem 3": "edges' virtual models from the cloud's\n$|x_{[p\\pi]} - x_{\\{p\\}}|$",
    "Theorem 5": "least loss so far, above the minimum\n$F(x^f) - F(x^*)$",
}
LEFT, PRINTED, CORRECTED = COLOURS[0], COLOURS[1], COLOURS[2]
MOST_POINTS = 800  # of a line
DECADES = 12  # of a panel at most: what is smaller is rounding


def draw_bounds(checked: Checked, path: Path, title: str) -> Path:
    """Writes a PNG; of theorems about edges, the one where the printed bound fares worst is drawn."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(11, 7.6), dpi=150, layout="constrained", sharex=True)
    for axes, (name, label) in zip(panels.flat, PANELS.items(), strict=True):
        _panel(axes, checked.theorem(name))
        axes.set_ylabel(label)
    for axes in panels[1]:
        axes.set_xlabel("iterations (local steps of every worker)")
    figure.suptitle(plain(title), x=0.01, ha="left", fontsize=11)
    write_atomically(path, lambda side: figure.savefig(side, format="png"))
    pyplot.close(figure)
    return path


def _panel(axes: Any, theorem: Theorem) -> None:
    printed, corrected = theorem.printed, theorem.corrected
    edge = printed.worst[1] if printed.right is not None else int(np.argmax(printed.left.max(0)))
    rows = _shown(printed.left[:, edge])
    t, left = printed.t[rows], printed.left[rows, edge]
    measured = np.where(left > printed.slack, left, np.nan)  # nan: the line is broken
    drawn = [measured]
    mark = "o" if len(t) <= 60 else ""
    own = f", edge {edge}" if printed.left.shape[1] > 1 else ""
    axes.plot(t, measured, label=f"measured{own}", color=LEFT, linewidth=1.5, marker=mark, markersize=3.5)
    for name, side, colour, dashes in (("printed", printed, PRINTED, "--"), ("corrected", corrected, CORRECTED, "-.")):
        if side is not None and side.right is not None:
            right = np.where(side.right[rows, edge] > 0, side.right[rows, edge], np.nan)
            drawn.append(right)
            label = f"bound as {name}: {_verdict(side)}"
            axes.plot(t, right, label=label, color=colour, linestyle=dashes, linewidth=2)
    _scale(axes, np.concatenate(drawn))
    if printed.right is None:
        _say(axes, "\n".join(wrap(f"not applicable: {printed.refusal}", 60)))
    elif not printed.right.any() and np.isnan(measured).all():
        _say(axes, "both sides are 0")
    axes.set_title(theorem.name, loc="left", fontsize=11)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(0, 1.05 * printed.t[-1])
    axes.legend(frameon=False, fontsize=9, loc="upper right")


def _shown(left: Any) -> Any:
    """All rows, or of long runs the largest of each stretch: what goes up and down at every merge would be a blot."""
    if len(left) <= MOST_POINTS:
        return np.arange(len(left))
    stretches = np.array_split(np.arange(len(left)), MOST_POINTS // 4)
    return np.array([rows[np.argmax(left[rows])] for rows in stretches])


def _say(axes: Any, words: str) -> None:
    axes.text(0.5, 0.4, plain(words), transform=axes.transAxes, ha="center", va="center", fontsize=9)


def _scale(axes: Any, values: Any) -> None:
    """Logarithmic where there is more than one decade to see, with room for the legend above."""
    seen = values[np.isfinite(values)]
    if not len(seen):
        axes.set_ylim(0, 1)
        axes.set_yticks([0])
        return
    top = float(seen.max())
    low = float(seen[seen > top * 10.0**-DECADES].min())
    if top > 10 * low:
        axes.set_yscale("log")
        axes.set_ylim(low / 2, top * (top / low) ** 0.4)
    else:
        axes.set_ylim(0, 1.4 * top)


def _verdict(side: Inequality) -> str:
    ratio = f"{side.ratio:.3g}" if np.isfinite(side.ratio) else "infinite"
    return f"{'holds' if side.holds else 'FAILS'}, left / right up to {ratio}"
