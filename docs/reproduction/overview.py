"""The picture of the page about all studies: the table's columns, published accuracies beside measured ones."""

from collections.abc import Sequence
from pathlib import Path

from hiermo.report.curves import COLOURS, save
from hiermo.reproduction.claims import GROUPS
from hiermo.reproduction.outcome import NEAR, Outcome, of_paper, outcomes
from hiermo.reproduction.reproduce import Reproduction

NAMES = ("no momentum: FedAvg, HierFAVG, CFL", "one: FedMom, SlowMo, FedNAG, FedADC, Mime", "two: DOMO, HierMo")
MANY = 5  # published numbers that make a column


def columns(several: Sequence[Reproduction]) -> dict[str, list[Outcome]]:
    """Those in full length, by title."""
    found = {of.study.title: [each for each in of_paper(outcomes(of)) if each.gap is not None] for of in several}
    return {
        title: own
        for title, own in found.items()
        if len(own) >= MANY and not any(each.short or each.cell for each in own)
    }


def draw_overview(several: Sequence[Reproduction], path: Path) -> Path:
    """A panel for each column; what lies in the band matches."""
    from matplotlib import pyplot

    drawn = columns(several)
    figure, axes = pyplot.subplots(
        1, len(drawn), figsize=(4.1 * len(drawn), 4.9), dpi=130, layout="constrained", squeeze=False
    )
    for (title, own), each in zip(drawn.items(), axes[0], strict=True):
        values = [value for one in own for value in (one.published or 0.0, one.mean or 0.0)]
        room = max(1.0, 0.08 * (max(values) - min(values)))
        ends = (min(values) - room, max(values) + room)
        each.fill_between(ends, [end - NEAR for end in ends], [end + NEAR for end in ends], color="#000000", alpha=0.1)
        each.plot(ends, ends, color="#8C8C8C", linewidth=1)
        for k, name in enumerate(NAMES):
            inside = [one for one in own if _momenta(one.label) == k]
            each.plot(
                [one.published for one in inside],
                [one.mean for one in inside],
                "osD"[k],
                color=COLOURS[k],
                label=name,
                markersize=7,
            )
        for one in own:
            if one.label == "HierMo":
                each.annotate(
                    "HierMo", (one.published, one.mean), xytext=(-8, 6), textcoords="offset points", ha="right"
                )
        each.set(xlim=ends, ylim=ends, xlabel="published accuracy (%)", aspect="equal")
        each.set_title(title, fontsize=11, loc="left")
        each.spines[["top", "right"]].set_visible(False)
        each.grid(alpha=0.3)
    axes[0, 0].set_ylabel("test accuracy here (%)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)
    return path


def _momenta(label: str) -> int:
    return next((k for k, group in enumerate(GROUPS) if label in group), 1)
