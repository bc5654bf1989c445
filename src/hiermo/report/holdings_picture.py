"""Who holds what, as a picture: a strip of cells per worker and edge, and the workers' sizes beside it."""

from collections.abc import Iterable
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
import numpy as np

from hiermo.core.files import write_atomically
from hiermo.report.holdings import Holdings
from hiermo.report.holdings_sheet import BARS, INK, LEAST, LINE, PALE, USUAL, Sheet, Strip, strips_of

EMPTY = "#f3f3f3"
# one hue from light to dark: told apart with every kind of colour vision, and on paper
SHADES = ListedColormap(matplotlib.colormaps["Blues"](np.linspace(0.15, 1, 256)))
BAR = "#E69F00"  # of Okabe and Ito's palette


def draw_holdings(held: Holdings, path: Path) -> Path:
    """Writes a PNG."""
    figure = holdings_figure(held)
    write_atomically(path, lambda side: figure.savefig(side, format="png"))
    return path


def holdings_figure(held: Holdings) -> Figure:
    """The longer of strips and classes runs to the right; colour is the share of the holder's own samples."""
    strips = strips_of(held)
    sheet = Sheet(held, strips, upright=strips[-1].end > max(held.counts.shape[1], 30))
    figure = Figure(figsize=(sheet.width, sheet.height), dpi=150)
    # an even division must not look like an extreme one: its shares are a third of the scale
    norm = Normalize(0, min(1.0, max(3 * strips[0].shares.max(), *(strip.shares.max() for strip in strips))))
    width, height = sheet.cells
    axes = sheet.axes(figure, sheet.left, sheet.bottom, width, height)
    _draw_cells(axes, sheet, norm)
    _draw_labels(axes, sheet)
    if sheet.upright:
        _draw_sizes(sheet.axes(figure, sheet.left, sheet.bottom + height + 0.12, width, BARS), sheet)
    else:
        _draw_sizes(sheet.axes(figure, sheet.left + width + 0.12, sheet.bottom, BARS, height), sheet)
    legend = sheet.axes(figure, sheet.width - 0.75, sheet.bottom, 0.12, min(max(height, 1.2), 2.5))
    bar = figure.colorbar(ScalarMappable(norm, SHADES), cax=legend, format=lambda share, _: f"{100 * share:.3g} %")
    bar.set_label("share of its samples", fontsize=7)
    bar.outline.set_visible(False)
    legend.tick_params(labelsize=7, length=2)
    _draw_heading(figure, sheet)
    return figure


def _draw_cells(axes: Axes, sheet: Sheet, norm: Normalize) -> None:
    across, down = (sheet.length, sheet.classes) if sheet.upright else (sheet.classes, sheet.length)
    axes.set(xlim=(0, across), ylim=(down, 0))
    lines = min(0.6, 4 * min(sheet.cell))  # white ones, which must not cover small cells
    border: dict[str, Any] = {"edgecolor": "white", "linewidth": lines} if min(sheet.cell) > 0.05 else {}
    for _, run in groupby(sheet.strips, key=lambda strip: (strip.block, strip.holder.kind)):
        touching = list(run)
        values = np.ma.masked_equal([strip.shares for strip in touching], 0)
        ends = [*(strip.at for strip in touching), touching[-1].end]
        corner, sides = (0.0, ends[0]), (float(sheet.classes), ends[-1] - ends[0])
        x, y, z = np.arange(sheet.classes + 1), np.array(ends), values
        if sheet.upright:
            corner, sides, x, y, z = corner[::-1], sides[::-1], y, x, z.T
        axes.add_patch(Rectangle(corner, *sides, facecolor=EMPTY, edgecolor="none", zorder=0))
        axes.pcolormesh(x, y, z, cmap=SHADES, norm=norm, **border)
        if touching[0].holder.kind != "worker":
            frame = Rectangle(corner, *sides, fill=False, edgecolor=INK, linewidth=0.9, zorder=3, clip_on=False)
            axes.add_patch(frame)
    _draw_numbers(axes, sheet, norm)


def _draw_numbers(axes: Axes, sheet: Sheet, norm: Normalize) -> None:
    """Samples, where there is room for all of them."""
    for strip in sheet.strips if sheet.number_size else ():
        for c, (count, share) in enumerate(zip(strip.holder.counts, strip.shares, strict=True)):
            place = (strip.middle, c + 0.5) if sheet.upright else (c + 0.5, strip.middle)
            colour = "white" if norm(share) > 0.55 else INK
            if count:
                axes.text(*place, str(count), ha="center", va="center", fontsize=sheet.number_size, color=colour)


def _draw_labels(axes: Axes, sheet: Sheet) -> None:
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0, pad=3)
    by_class, by_strip = (axes.yaxis, axes.xaxis) if sheet.upright else (axes.xaxis, axes.yaxis)
    shown, size = _thinned(range(sheet.classes), sheet.step)
    by_class.set_ticks([c + 0.5 for c in shown], [sheet.class_labels[c] for c in shown], fontsize=size)
    by_class.set_label_text("class (in the cells: samples)" if sheet.number_size else "class", fontsize=USUAL)
    if sheet.turned and not sheet.upright:
        axes.tick_params(axis="x", labelrotation=90)
    workers = [strip for strip in sheet.strips if strip.holder.kind == "worker"]
    shown, size = _thinned([strip.holder.number for strip in workers], sheet.thickness)
    ticks = {strip.middle: _strip_label(strip, sheet) for strip in workers if strip.holder.number in set(shown)}
    if len(shown) == len(workers):
        ticks |= {strip.middle: "sum" for strip in sheet.strips if strip.holder.kind == "edge"}
    ticks[sheet.strips[0].middle] = "all"
    by_strip.set_ticks(list(ticks), list(ticks.values()), fontsize=size)
    if sheet.upright:
        axes.tick_params(axis="x", labelrotation=90)
        axes.set_xlabel("worker", fontsize=USUAL, labelpad=4 + 72 * sheet.below)
    if sheet.held.groups:
        _draw_edges(axes, sheet)


def _strip_label(strip: Strip, sheet: Sheet) -> str:
    return str(strip.holder.number) if sheet.upright else strip.holder.name


def _draw_edges(axes: Axes, sheet: Sheet) -> None:
    """A line along every edge's strips, and its name."""
    room = sheet.thickness * min(strips[-1].end - strips[0].at for strips in sheet.blocks)
    shown, size = _thinned(range(len(sheet.blocks)), room)
    standing = sheet.upright and not sheet.edge_size
    size = sheet.edge_size if sheet.upright and not standing else size
    away = -0.42 if sheet.upright else -0.65
    for k, strips in enumerate(sheet.blocks):
        begin, end = strips[0].at, strips[-1].end
        name = strips[0].holder.name if k in shown else ""
        if sheet.upright:
            where, level = axes.get_xaxis_transform(), away / sheet.cells[1]
            line, place = ([begin, end], [level, level]), ((begin + end) / 2, level - 0.05 / sheet.cells[1])
        else:
            where, level = axes.get_yaxis_transform(), away / sheet.cells[0]
            line, place = ([level, level], [begin, end]), (level - 0.05 / sheet.cells[0], (begin + end) / 2)
        axes.plot(*line, color=PALE, linewidth=1.2, transform=where, clip_on=False)
        axes.text(
            *place,
            name,
            transform=where,
            rotation=90 if standing else 0,
            ha="center" if sheet.upright else "right",
            va="top" if sheet.upright else "center",
            fontsize=size,
            weight="bold",
            color=INK,
        )


def _draw_sizes(axes: Axes, sheet: Sheet) -> None:
    """A bar per worker; of edges, whose bars would dwarf them, the number."""
    workers = [strip for strip in sheet.strips if strip.holder.kind == "worker"]
    at, samples = [strip.middle for strip in workers], [strip.holder.samples for strip in workers]
    (axes.bar if sheet.upright else axes.barh)(at, samples, 0.8 if sheet.thickness > 0.06 else 1.0, color=BAR)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=2, labelsize=6.5)
    size = min(7.0, 0.75 * sheet.thickness * 72)
    if named := size >= LEAST:
        for strip in sheet.strips:
            _draw_size(axes, strip, sheet.upright, size)
    room = (0, 1.3 * max(samples))
    if sheet.upright:
        axes.set(xlim=(0, sheet.length), xticks=[], ylim=room)
        axes.set_ylabel("samples", fontsize=USUAL)
    else:
        axes.set(ylim=(sheet.length, 0), yticks=[], xlim=room)
        axes.set_xlabel("samples", fontsize=USUAL)
    if named:
        (axes.yaxis if sheet.upright else axes.xaxis).set_ticks([])


def _draw_size(axes: Axes, strip: Strip, upright: bool, size: float) -> None:
    worker = strip.holder.kind == "worker"
    place = (strip.holder.samples if worker else 0, strip.middle)
    axes.annotate(
        str(strip.holder.samples),
        place[::-1] if upright else place,
        (0, 2) if upright else (2, 0),
        textcoords="offset points",
        ha="center" if upright else "left",
        va="bottom" if upright else "center",
        rotation=90 if upright else 0,
        fontsize=size,
        weight="normal" if worker else "bold",
        annotation_clip=False,
    )


def _draw_heading(figure: Figure, sheet: Sheet) -> None:
    top = 0.12
    for line, size, colour in sheet.heading:
        figure.text(0.12 / sheet.width, 1 - top / sheet.height, line, fontsize=size, color=colour, va="top")
        top += LINE * size / 72


def _thinned(indices: Iterable[int], inches: float) -> tuple[list[int], float]:
    """Those of which the labels fit at so many inches each, and the size of letters."""
    points = 0.85 * inches * 72
    need = ceil(LEAST / points)
    every = next((k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500) if k >= need), 1000)
    return [i for i in indices if i % every == 0], min(USUAL, max(LEAST, points * every))
