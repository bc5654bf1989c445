"""Accuracy over iterations, one line per run."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

from hiermo.core.files import write_atomically
from hiermo.experiment.run_directory import RunDirectory

matplotlib.use("agg")

# Okabe and Ito's palette: told apart with every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1)), (0, (3, 1, 1, 1)))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def draw_accuracy(directories: Sequence[RunDirectory], path: Path) -> Path:
    """Writes a PNG; where there is no accuracy, the loss is drawn."""
    from matplotlib import pyplot

    recipe = directories[0].recipe()
    curves = {d.recipe().algorithms[0].label: d.evaluations() for d in directories}
    metric = "accuracy" if any("accuracy" in line for lines in curves.values() for line in lines) else "loss"
    figure, axes = pyplot.subplots(figsize=(8, 5), dpi=150, layout="constrained")
    for k, (label, lines) in enumerate(curves.items()):
        x = [line["iteration"] for line in lines]
        y = [line[metric] * (100 if metric == "accuracy" else 1) for line in lines]
        axes.plot(
            x,
            y,
            label=_plain(label) + (f"  {y[-1]:.1f} %" if y and metric == "accuracy" else ""),
            color=COLOURS[k % len(COLOURS)],
            linestyle=DASHES[k % len(DASHES)],
            marker=MARKS[k % len(MARKS)],
            markersize=4,
            linewidth=2,
            markevery=max(1, len(x) // 12),
        )
    axes.set_xlabel("iterations (local steps of every worker)")
    axes.set_ylabel("test accuracy (%)" if metric == "accuracy" else "test loss")
    periods = ", ".join(f"{n} = {p}" for n, p in zip(("tau", "pi"), recipe.periods, strict=False))
    axes.set_title(
        f"{recipe.model.name} on {recipe.source.name}: {recipe.tree.build()}; {periods}", loc="left", fontsize=11
    )
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(left=0)
    axes.legend(frameon=False, loc="best")
    write_atomically(path, lambda side: figure.savefig(side, format="png"))
    pyplot.close(figure)
    return path


def _plain(label: str) -> str:
    """What matplotlib shows as it is: `$` would begin a formula, and `_` in front would hide the line."""
    return f"{' ' if label.startswith('_') else ''}{label}".replace("$", r"\$")
