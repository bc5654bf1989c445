"""Who holds what, as a table and in words; `holdings_picture.py` draws it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

from hiermo.data.heterogeneity import Across, Heterogeneity, heterogeneity
from hiermo.topology.tree import Tree

WIDE = 20  # classes: more are summed up in the table
TOP = 3  # of them, those that a holder has most of


class Holder(NamedTuple):
    """A row of the table and of the picture: all data, an edge, or a worker."""

    kind: str  # "all", "edge" or "worker"
    number: int
    counts: NDArray[np.int64]  # [classes]

    @property
    def name(self) -> str:
        return "all" if self.kind == "all" else f"{self.kind} {self.number}"

    @property
    def samples(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Holdings:
    """Samples `[n_workers, classes]` that the workers of a tree hold of each class."""

    counts: NDArray[np.int64]
    tree: Tree
    title: str
    class_names: Sequence[str] = ()

    @cached_property
    def groups(self) -> list[list[int]] | None:
        """The workers of each edge; None where workers are directly under the cloud."""
        return None if self.tree.tiers == 2 else self.tree.groups

    @cached_property
    def heterogeneity(self) -> Heterogeneity:
        return heterogeneity(self.counts, self.groups)

    def blocks(self) -> Iterator[list[Holder]]:
        """All data, then every edge before its workers; edges under one node side by side."""
        yield [Holder("all", 0, self.counts.sum(0))]
        if self.groups is None:
            yield [Holder("worker", i, mine) for i, mine in enumerate(self.counts)]
            return
        for edge in self._edges():
            group = self.groups[edge]
            workers = [Holder("worker", i, self.counts[i]) for i in group]
            yield [Holder("edge", edge, self.counts[group].sum(0)), *workers]

    def _edges(self) -> list[int]:
        nodes = [0]
        for tier in range(self.tree.tiers - 1, 1, -1):
            nodes = [child for node in nodes for child in self.tree.children(tier, node).tolist()]
        return nodes

    def class_name(self, c: int) -> str:
        """The first of its names, where there are several: `limousine, limo`."""
        return self.class_names[c].partition(",")[0] if self.class_names else str(c)

    def json(self) -> dict[str, Any]:
        edge_of = {} if self.groups is None else {i: edge for edge, group in enumerate(self.groups) for i in group}
        return {
            "title": self.title,
            "tree": str(self.tree),
            "classes": list(self.class_names) or [str(c) for c in range(self.counts.shape[1])],
            "samples": int(self.counts.sum()),
            "workers": [
                {"worker": i, "edge": edge_of.get(i), "samples": int(mine.sum()), "counts": mine.tolist()}
                for i, mine in enumerate(self.counts)
            ],
            "edges": [
                {"edge": edge, "workers": group, "samples": int(mine.sum()), "counts": mine.tolist()}
                for edge, group in enumerate(self.groups or ())
                for mine in [self.counts[group].sum(0)]
            ],
            "heterogeneity": asdict(self.heterogeneity),
        }


def holdings_table(held: Holdings, width: int | None = None) -> Table:
    """A row per holder, with a column per class where they are few and fit in `width`."""
    classes = held.counts.shape[1]
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", caption_justify="left")
    table.add_column("", no_wrap=True)
    table.add_column("samples", justify="right", no_wrap=True)
    digits = [max(len(str(c)), len(str(n))) for c, n in enumerate(held.counts.sum(0))]
    in_full = classes <= WIDE and (width is None or 13 + 8 + sum(digits) + classes <= width)
    for c in range(classes) if in_full else ():
        table.add_column(str(c), justify="right", no_wrap=True)
    if in_full and held.class_names:
        table.caption = escape(f"classes: {', '.join(f'{c} {held.class_name(c)}' for c in range(classes))}")
    if not in_full:
        table.add_column("classes", justify="right", no_wrap=True)
        table.add_column("most of")
    for holder in (holder for block in held.blocks() for holder in block):
        cells = [str(n) if n else "." for n in holder.counts] if in_full else _summed_up(held, holder)
        below = holder.kind == "worker" and held.groups is not None
        table.add_row(
            f"{'  ' * below}{holder.name}",
            str(holder.samples),
            *cells,
            style=None if holder.kind == "worker" else "bold",
        )
    return table


def _summed_up(held: Holdings, holder: Holder) -> list[str]:
    top = np.argsort(-holder.counts, kind="stable")[:TOP]
    named = [f"{held.class_name(c)} ({100 * holder.counts[c] / holder.samples:.3g} %)" for c in top if holder.counts[c]]
    return [str(np.count_nonzero(holder.counts)), escape(", ".join(named))]


def in_words(held: Holdings) -> Table:
    """The heterogeneity, number by number, with what each means."""
    found, classes = held.heterogeneity, held.counts.shape[1]
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), caption=CAPTION, caption_justify="left")
    for no_wrap in (True, True, False):
        table.add_column(no_wrap=no_wrap)
    table.add_row("worker to all data", _shown(found.worker_to_all), "0 is alike, 1 nothing in common")
    if found.worker_to_edge is not None and found.edge_to_all is not None:
        table.add_row("worker to its edge", _shown(found.worker_to_edge), "0 if an edge's workers are alike")
        table.add_row("edge to all data", _shown(found.edge_to_all), "0 if edges are like the whole")
    effective = f"of {classes}, were they held equally"
    table.add_row("classes of a worker", _shown(found.effective_classes, ".1f"), effective)
    varied = f"largest worker to smallest; ± {100 * found.size_variation:.0f} %"
    table.add_row("sizes", f"{found.largest_to_smallest:.2f} to 1", varied)
    return table


CAPTION = (
    "A distance is the share of samples that would need another label to match; shown are the mean over the data and "
    "the range. Labels are compared, not what the samples look like."
)


def _shown(values: Across, form: str = ".2f") -> str:
    return f"{values.mean:{form}} ({values.low:{form}} to {values.high:{form}})"
