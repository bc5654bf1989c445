"""Who holds what, as a picture: a strip of cells per worker and edge, and the workers' sizes beside it.

Places are in inches, for whether numbers and names fit is a question of inches.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
import numpy as np

from hiermo.core.files import write_atomically
from hiermo.report.holdings import Holder, Holdings

GAP, HEAD_GAP = 0.7, 0.2  # between edges, and between an edge's sum and its workers, in strips
MANY = 60  # workers: with more of them their strips are thin, and sums and gaps must not be
LEAST, USUAL = 5.0, 8.0  # sizes of letters, in points
LINE = 1.45  # from line to line, in letters
NUMBERS = 4000  # more than that nobody reads
BARS = 1.1  # inches for the sizes
LONGEST = 18  # letters of a class's name
EMPTY, INK, PALE = "#f3f3f3", "#222222", "#777777"
# one hue from light to dark: told apart with every kind of colour vision, and on paper
SHADES = ListedColormap(matplotlib.colormaps["Blues"](np.linspace(0.15, 1, 256)))
BAR = "#E69F00"  # of Okabe and Ito's palette


def draw_holdings(held: Holdings, path: Path) -> Path:
    """Writes a PNG."""
    figure = holdings_figure(held)
    write_atomically(path, lambda side: figure.savefig(side, format="png"))
    return path


class Strip(NamedTuple):
    """A holder's cells, one per class; where they begin and how thick they are, in strips of a worker."""

    holder: Holder
    at: float
    thick: float
    block: int

    @property
    def end(self) -> float:
        return self.at + self.thick

    @property
    def middle(self) -> float:
        return self.at + self.thick / 2

    @property
    def shares(self) -> Any:
        return self.holder.counts / self.holder.samples


@dataclass(frozen=True, eq=False)
class Sheet:
    """What is where; `upright` strips stand side by side, others lie on top of each other."""

    held: Holdings
    strips: Sequence[Strip]
    upright: bool

    @property
    def classes(self) -> int:
        return int(self.held.counts.shape[1])

    @property
    def length(self) -> float:
        """Of all strips."""
        return self.strips[-1].end

    @cached_property
    def cell(self) -> tuple[float, float]:
        """Width and height."""
        across, down = (self.length, self.classes) if self.upright else (self.classes, self.length)
        return min(max(13 / across, min(0.02, 24 / across)), max(0.4, 6 / across)), min(9 / down, 0.28)

    @property
    def thickness(self) -> float:
        """Of a strip."""
        return self.cell[0] if self.upright else self.cell[1]

    @property
    def step(self) -> float:
        """From class to class."""
        return self.cell[1] if self.upright else self.cell[0]

    @cached_property
    def cells(self) -> tuple[float, float]:
        """Width and height of all cells."""
        across, down = (self.length, self.classes) if self.upright else (self.classes, self.length)
        return across * self.cell[0], down * self.cell[1]

    @cached_property
    def class_labels(self) -> list[str]:
        names = [_plain(_short(self.held.class_name(c))) for c in range(self.classes)]
        return names if self.step * 72 >= LEAST else [str(c) for c in range(self.classes)]

    @cached_property
    def longest(self) -> float:
        """Of the names of classes, in inches; they may be in capitals, which are wide."""
        return 1.2 * _width(max(self.class_labels, key=len), USUAL)

    @cached_property
    def number_size(self) -> float:
        """Of the numbers in the cells; 0 where they do not fit."""
        digits = len(str(max(int(strip.holder.counts.max()) for strip in self.strips)))
        size = min(USUAL, 0.88 * self.cell[0] / _width("0" * digits, 1), 0.62 * self.cell[1] * 72)
        return size if size >= LEAST and len(self.strips) * self.classes <= NUMBERS else 0

    @cached_property
    def heading(self) -> list[tuple[str, float, str]]:
        """Lines of text, their sizes and colours."""
        found = self.held.heterogeneity
        said = f"label distance to all data (0 alike, 1 disjoint): workers {found.worker_to_all.mean:.2f}"
        if found.edge_to_all and found.worker_to_edge:
            said += f", edges {found.edge_to_all.mean:.2f}; workers to their edge {found.worker_to_edge.mean:.2f}"
        texts = ((self.held.title, 9.5, INK), (said, 7.5, PALE))
        return [
            (_plain(line), size, colour)
            for text, size, colour in texts
            for line in wrap(text, int((self.width - 0.2) / _width("n", size)))
        ]

    @cached_property
    def left(self) -> float:
        names = self.longest + 0.1 if self.upright else 0.55
        return 0.4 + names + (0.45 if self.held.groups and not self.upright else 0)

    @cached_property
    def bottom(self) -> float:
        if self.upright:
            return 0.6 + self.below
        return 0.4 + (self.longest if self.turned else 0.15)

    @cached_property
    def blocks(self) -> list[list[Strip]]:
        """The strips of each edge."""
        found: dict[int, list[Strip]] = {}
        for strip in self.strips[1:]:
            found.setdefault(strip.block, []).append(strip)
        return list(found.values()) if self.held.groups else []

    @cached_property
    def edge_size(self) -> float:
        """Of the names of edges below upright strips; 0 where they only fit standing."""
        if not self.blocks:
            return USUAL
        room = self.thickness * min(strips[-1].end - strips[0].at for strips in self.blocks)
        size = min(USUAL, room / _width(max((strips[0].holder.name for strips in self.blocks), key=len), 1.1))
        return size if size >= LEAST else 0

    @cached_property
    def below(self) -> float:
        """Inches for the names of edges below upright strips."""
        return 0.0 if not self.blocks else 0.35 if self.edge_size else 0.8

    @cached_property
    def turned(self) -> bool:
        """Whether names of classes below the cells stand upright."""
        return self.longest > 0.95 * self.step

    @cached_property
    def width(self) -> float:
        """Of the picture."""
        return self.left + self.cells[0] + (0.0 if self.upright else BARS + 0.2) + 1.0

    @cached_property
    def height(self) -> float:
        heading = sum(LINE * size / 72 for _, size, _ in self.heading) + 0.35
        return self.bottom + self.cells[1] + (BARS + 0.2 if self.upright else 0.0) + heading

    def axes(self, figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
        return figure.add_axes((left / self.width, bottom / self.height, width / self.width, height / self.height))


def holdings_figure(held: Holdings) -> Figure:
    """The longer of strips and classes runs to the right; colour is the share of the holder's own samples."""
    strips = _strips(held)
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


def _strips(held: Holdings) -> list[Strip]:
    per_edge = len(held.counts) / len(held.groups or [0])
    scale = max(1.0, min(len(held.counts) / MANY, per_edge / 4))
    found: list[Strip] = []
    at, above = 0.0, None
    for k, block in enumerate(held.blocks()):
        head = block[0]
        if head.kind == "edge" and held.tree.tiers > 3:
            node = int(held.tree.parents[1][head.number])
            at += GAP * scale * (above is not None and node != above)
            above = node
        for holder in block:
            thick = 1.0 if holder.kind == "worker" else scale
            found.append(Strip(holder, at, thick, k))
            at += thick + HEAD_GAP * scale * (holder.kind == "edge")
        at += GAP * scale
    return found


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


def _width(text: str, size: float) -> float:
    """Of a text in inches, about: most letters are narrower than 0.6 of their height."""
    return 0.6 * size / 72 * len(text)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _plain(text: str) -> str:
    """What matplotlib shows as it is: `$` would begin a formula."""
    return text.replace("$", r"\$")
