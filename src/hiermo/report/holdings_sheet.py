"""Where everything goes in the picture of who holds what.

Places are in inches, for whether numbers and names fit is a question of inches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hiermo.report.holdings import Holder, Holdings

GAP, HEAD_GAP = 0.7, 0.2  # between edges, and between an edge's sum and its workers, in strips
MANY = 60  # workers: with more of them their strips are thin, and sums and gaps must not be
LEAST, USUAL = 5.0, 8.0  # sizes of letters, in points
LINE = 1.45  # from line to line, in letters
NUMBERS = 4000  # more than that nobody reads
BARS = 1.1  # inches for the sizes
LONGEST = 18  # letters of a class's name
INK, PALE = "#222222", "#777777"


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


def strips_of(held: Holdings) -> list[Strip]:
    """All data, then each edge and its workers, with gaps between edges."""
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


def _width(text: str, size: float) -> float:
    """Of a text in inches, about: most letters are narrower than 0.6 of their height."""
    return 0.6 * size / 72 * len(text)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _plain(text: str) -> str:
    """What matplotlib shows as it is: `$` would begin a formula."""
    return text.replace("$", r"\$")
