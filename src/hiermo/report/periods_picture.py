"""Heat maps over tau and pi: of a bound, and of the accuracy that was reached, with the chosen pair as a cross."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hiermo.report.curves import COLOURS, plain, save
from hiermo.tuning.hieropt import Periods
from hiermo.tuning.landscape import above_least, values_shown
from hiermo.tuning.tune import Tuning

CROSS = {"marker": "X", "s": 150, "color": COLOURS[1], "edgecolor": "white", "linewidth": 1.2, "zorder": 5}
OTHER = {"marker": "o", "s": 70, "color": "white", "edgecolor": "black", "linewidth": 1.2, "zorder": 4}


def draw_bound(tuning: Tuning, path: Path) -> Path:
    """How much more than the least the objective is, over all pairs; on two tiers a curve."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5.2), dpi=150, layout="constrained")
    if len(tuning.periods) == 1:
        _curve(axes, tuning)
    else:
        shown = _heat(axes, tuning)
        ticks = [0, 1, 2, 5, 10, 20, 50, 100, 200]
        bar = figure.colorbar(shown, ax=axes, ticks=ticks, format="%g")
        bar.set_label("above the least bound (%)")
    of = tuning.clocked
    axes.set_title(
        plain(
            f"{of.recipe.model.name} on {of.recipe.source.name}, {of.part.label}: {tuning.budget_s:,g} s on {of.tree}"
        ),
        loc="left",
        fontsize=11,
    )
    figure.supxlabel(plain(f"delays: {of.delays}"), fontsize=8, x=0.01, ha="left")
    save(figure, path)
    return path


def _heat(axes: Any, tuning: Tuning) -> Any:
    from matplotlib.colors import AsinhNorm

    taus, pis = values_shown(tuning, 90)
    above = above_least(tuning, taus, pis)
    shown = axes.pcolormesh(
        taus, pis, above, norm=AsinhNorm(linear_width=3, vmin=0, vmax=200), cmap="viridis_r", shading="nearest"
    )
    tau, pi = tuning.periods[:2]
    axes.scatter([tau], [pi], label=f"chosen: {_pair(tuning.periods)}", **CROSS)
    if tuning.printed is not None and tuning.method != "printed":
        other = tuning.printed.exact.periods
        axes.scatter([other[0]], [other[1]], label=f"the paper's bound: {_pair(other)}", **OTHER)
    _axes(axes, taus, pis)
    axes.legend(loc="upper right", fontsize=9)
    return shown


def _curve(axes: Any, tuning: Tuning) -> None:
    longest = max(60, 6 * tuning.periods[0])
    taus = np.unique(np.round(np.geomspace(1, longest, 300)).astype(np.int64))
    values = tuning.objective.values(taus[:, None])
    best = float(np.min(values))
    axes.plot(taus, 100 * (values / best - 1), color=COLOURS[0])
    here = 100 * (tuning.objective.value(tuning.periods) / best - 1)
    axes.scatter([tuning.periods[0]], [here], label=f"chosen: tau = {tuning.periods[0]}", **CROSS)
    axes.set_xscale("log")
    axes.set_ylim(-2, 100)
    axes.set_xlabel("tau (iterations between two merges at the cloud)")
    axes.set_ylabel("above the least bound (%)")
    axes.legend()


def _axes(axes: Any, taus: Any, pis: Any) -> None:
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis, most in ((axes.xaxis, max(taus)), (axes.yaxis, max(pis))):
        ticks = [each for each in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if each <= most]
        axis.set_ticks(ticks)
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("tau (iterations between two merges at an edge)")
    axes.set_ylabel("pi (edge rounds between two merges at the cloud)")


def draw_accuracies(
    panels: Sequence[tuple[str, Mapping[Periods, float], Mapping[str, tuple[Periods, float]]]],
    path: Path,
    title: str,
    what: str = "training accuracy (%)",
    columns: int = 2,
) -> Path:
    """The paper's figure: trained at every pair of a grid, each as a panel; crosses where the choices are.

    A panel is (its title, accuracy of every pair, choices: name -> (pair, accuracy there)); accuracies are shares.
    """
    from matplotlib import pyplot

    rows = -(-len(panels) // columns)
    figure, all_axes = pyplot.subplots(
        rows, columns, figsize=(5.4 * columns, 4.1 * rows), dpi=110, layout="constrained", squeeze=False
    )
    for axes in all_axes.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (name, found, chosen) in zip(all_axes.flat, panels, strict=False):
        _accuracies(figure, axes, name, found, chosen, what)
    figure.suptitle(plain(title), x=0.01, ha="left", fontsize=12)
    save(figure, path)
    return path


def _accuracies(figure: Any, axes: Any, name: str, found: Mapping[Periods, float], chosen: Any, what: str) -> None:
    taus, pis = (sorted({pair[k] for pair in found}) for k in (0, 1))
    table = np.array([[100 * found.get((tau, pi), np.nan) for tau in taus] for pi in pis])
    best = max(found, key=lambda pair: found[pair])
    top = float(np.nanmax(table))
    shown = axes.imshow(table, origin="lower", aspect="auto", cmap="cividis", vmin=top - 5, vmax=top)
    figure.colorbar(shown, ax=axes, extend="min").set_label(what)
    axes.scatter(
        [taus.index(best[0])], [pis.index(best[1])], marker="*", s=130, color="white", edgecolor="black", zorder=4,
        label=f"best of the grid {_pair(best)}: {100 * found[best]:.2f} %",
    )  # fmt: skip
    for k, (label, (pair, accuracy)) in enumerate(chosen.items()):
        x, y = (float(np.interp(np.log(pair[i]), np.log(line), range(len(line)))) for i, line in enumerate((taus, pis)))
        marks = {**CROSS, "color": COLOURS[1], "s": 110} if k == 0 else {**OTHER, "s": 50}
        axes.scatter([x], [y], label=f"{label} {_pair(pair)}: {100 * accuracy:.2f} %", **marks)
    axes.set_xticks(range(len(taus)), [str(tau) for tau in taus], fontsize=8)
    axes.set_yticks(range(len(pis)), [str(pi) for pi in pis], fontsize=8)
    axes.set_xlabel("tau (iterations between edge merges)")
    axes.set_ylabel("pi (edge rounds between cloud merges)")
    axes.set_title(plain(name), loc="left", fontsize=10)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0, -0.16), frameon=False)


def _pair(periods: Sequence[int]) -> str:
    return f"({', '.join(map(str, periods))})"
