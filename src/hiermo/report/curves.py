"""Accuracy over iterations, simulated seconds and bytes, one line per run or series."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

from hiermo.core.files import write_atomically
from hiermo.experiment.run_directory import RunDirectory

matplotlib.use("agg")

# Okabe and Ito's palette: told apart with every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1)), (0, (3, 1, 1, 1)))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
FEW = 6  # curves whose names have room among them
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Axis(NamedTuple):
    """What a curve is drawn over."""

    column: str
    label: str
    scale: float = 1.0


class Curve(NamedTuple):
    """One run, or the mean of several: what is measured, and where."""

    label: str
    lines: Sequence[dict[str, Any]]
    spread: Sequence[float] = ()  # of several: the standard deviation of what is drawn, at each line


def draw_accuracy(directories: Sequence[RunDirectory], path: Path) -> Path:
    """Writes a PNG; where there is no accuracy, the loss is drawn."""
    recipe = directories[0].recipe()
    curves = [Curve(d.recipe().algorithms[0].label, d.evaluations()) for d in directories]
    periods = ", ".join(f"{n} = {p}" for n, p in zip(("tau", "pi"), recipe.periods, strict=False))
    title = f"{recipe.model.name} on {recipe.source.name}: {recipe.tree.build()}; {periods}"
    delays = next((result["delays"] for d in directories if "delays" in (result := d.result() or {})), "")
    return draw_curves(curves, path, title, delays)


def draw_curves(curves: Sequence[Curve], path: Path, title: str, delays: str = "") -> Path:
    """One panel for each axis that the runs know."""
    from matplotlib import pyplot

    title, delays = plain(title), plain(delays)
    lines = [line for curve in curves for line in curve.lines]
    metric = "accuracy" if any("accuracy" in line for line in lines) else "loss"
    axes_of = _axes(lines, delays)
    many = len(curves) > FEW
    wide = (8, 5) if len(axes_of) == 1 else (4.6 * len(axes_of) + (4 if many else 1), 4.8)
    figure, panels = pyplot.subplots(
        1, len(axes_of), figsize=wide, dpi=150, layout="constrained", sharey=True, squeeze=False
    )
    for axis, axes in zip(axes_of, panels[0], strict=True):
        for k, curve in enumerate(curves):
            _draw(axes, k, curve, axis, metric)
        axes.set_xlabel(axis.label)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(left=0)
    _mark_cloud_rounds(panels[0][0], lines)
    panels[0][0].set_ylabel("test accuracy (%)" if metric == "accuracy" else "test loss")
    if many:  # beside the panels: in one of them it would hide the curves
        figure.legend(*panels[0][0].get_legend_handles_labels(), frameon=False, loc="outside right center")
    else:
        panels[0][0].legend(frameon=False, loc="best")
    if len(axes_of) == 1:
        panels[0][0].set_title(title, loc="left", fontsize=11)
    else:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    save(figure, path)
    return path


def save(figure: Any, path: Path) -> None:
    """PNG or SVG, as the file is called; the letters of an SVG stay letters, and its bytes are the same each time."""
    from matplotlib import pyplot

    kind = path.suffix.lower().removeprefix(".") or "png"
    fixed: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hiermo"}):
        write_atomically(path, lambda side: figure.savefig(side, format=kind, **fixed))
    pyplot.close(figure)


def _axes(lines: Sequence[dict[str, Any]], delays: str) -> list[Axis]:
    found = [Axis("iteration", "iterations (local steps of every worker)")]
    if lines and all("simulated_seconds" in line for line in lines):
        source = f"\n{delays}" if delays else ""
        found.append(Axis("simulated_seconds", f"simulated seconds{source}"))
        most = max(line["bytes"] for line in lines)
        scale, unit = next(((scale, unit) for scale, unit in UNITS if most >= scale), (1.0, "bytes"))
        found.append(Axis("bytes", f"{unit} sent over all links, up and down", scale))
    return found


def _mark_cloud_rounds(axes: Any, lines: Sequence[dict[str, Any]]) -> None:
    """A second axis above the iterations, where all runs have as many of them in a cloud round."""
    lengths = {line["iteration"] / line["cloud_round"] for line in lines}
    if len(lengths) == 1:
        (length,) = lengths
        above = axes.secondary_xaxis("top", functions=(lambda t: t / length, lambda k: k * length))
        above.set_xlabel("cloud rounds")
        above.spines["top"].set_alpha(0.3)


def _draw(axes: Any, k: int, curve: Curve, axis: Axis, metric: str) -> None:
    x = [line[axis.column] / axis.scale for line in curve.lines]
    scale = 100 if metric == "accuracy" else 1
    y = [line[metric] * scale for line in curve.lines]
    if curve.spread:
        low, high = ([a + sign * scale * b for a, b in zip(y, curve.spread, strict=True)] for sign in (-1, 1))
        axes.fill_between(x, low, high, color=COLOURS[k % len(COLOURS)], alpha=0.15, linewidth=0)
    axes.plot(
        x,
        y,
        label=plain(curve.label) + (f"  {y[-1]:.1f} %" if y and metric == "accuracy" else ""),
        color=COLOURS[k % len(COLOURS)],
        linestyle=DASHES[k % len(DASHES)],
        marker=MARKS[k % len(MARKS)],
        markersize=4,
        linewidth=2,
        markevery=max(1, len(x) // 12),
    )


def plain(label: str) -> str:
    """What matplotlib shows as it is: `$` would begin a formula, and `_` in front would hide the line."""
    return f"{' ' if label.startswith('_') else ''}{label}".replace("$", r"\$")
