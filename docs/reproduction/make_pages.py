"""Writes a page and a figure for every study out of the committed results, and the page about all of them.

    hiermo reproduce NAME --out docs/reproduction        (trains what is not in NAME.json; hours for some)
    python docs/reproduction/make_pages.py               (seconds; trains nothing)

`notes/NAME.txt` is what a person has to say about a study; `notes/index.txt` begins the page about all.
"""

from pathlib import Path

from overview import draw_overview

from hiermo.reproduction.claims import Claim, judged
from hiermo.reproduction.figures import draw
from hiermo.reproduction.page import page
from hiermo.reproduction.plan import Size
from hiermo.reproduction.reproduce import Reproduction, opened
from hiermo.reproduction.study import BEYOND, studies
from hiermo.reproduction.tables import Grid

HERE = Path(__file__).parent
OVERVIEW = (
    "Columns of the table in full length: what is published, and what comes out here; in the grey band it matches."
)
SIGNS = {"confirmed": "**confirmed**", "partly": "partly", "not": "**not**", "open": "open"}


def all_studies() -> list[Reproduction]:
    """Those with results, at the length of the results."""
    found = [opened(study, Size(iterations=study.length), HERE) for study in studies().values()]
    return [of for of in found if of.found]


def notes(name: str) -> list[str]:
    path = HERE / "notes" / f"{name}.txt"
    return path.read_text(encoding="utf-8").rstrip().splitlines() if path.is_file() else []


def page_of(of: Reproduction) -> str:
    return page(of, of.path.with_suffix(".png"), notes(of.study.name))


def index(several: list[Reproduction]) -> str:
    """Every claim of the paper: confirmed, partly or not, with the number and the link."""
    claims = [(of, claim) for of in several for claim in judged(of)]
    ours = [(of, claim) for of, claim in claims if of.study.place == BEYOND]
    theirs = [each for each in claims if each not in ours]
    lines = [*notes("index"), "", "## In short", "", f"![{OVERVIEW}](overview.png)", "", f"*{OVERVIEW}*", ""]
    lines += [*_in_short(theirs).markdown(), ""]
    lines += ["## Claim by claim", "", *_table(theirs).markdown(), ""]
    lines += ["## Beyond the paper", "", *notes("beyond"), ""]
    if ours:
        lines += [*_table(ours).markdown(), ""]
    lines += ["## All pages", ""]
    lines += [f"- [{of.study.title}]({of.study.name}.md): {of.study.place}, {size(of)}" for of in several]
    lines += ["- [HierOPT on 72 cases](hieropt.md): beyond the paper's four", ""]
    made = {of.study.name for of in several}
    left = [
        study for study in studies().values() if study.name not in made and study.recipe.partition("/")[0] != "quick"
    ]
    if left:
        lines += ["## Not measured yet", ""]
        lines += [f"- {study.title} ({study.place}): `hiermo reproduce {study.name}`" for study in left]
        lines.append("")
    return "\n".join(lines)


def size(of: Reproduction) -> str:
    """How much of it is here."""
    seeds = len({run.seed for run in of.found})
    many = f"{len(of.found)} runs" if len(of.missing) == 0 else f"{len(of.found)} of {len(of.planned)} runs"
    short = f", T = {of.study.length}" if of.study.length is not None else ""
    return f"{many}, {seeds} seed{'s' if seeds > 1 else ''}{short}"


def _in_short(claims: list[tuple[Reproduction, Claim]]) -> Grid:
    """Each claim once: where it came out, where not."""

    def where(says: str, verdict: str) -> str:
        links = [f"[{of.study.name}]({of.study.name}.md)" for of, claim in claims if claim[:2] == (says, verdict)]
        return ", ".join(links)

    rows = [(says, *(where(says, verdict) for verdict in SIGNS)) for says in dict.fromkeys(c.says for _, c in claims)]
    return Grid(("the paper says", *SIGNS), tuple(rows))


def _table(claims: list[tuple[Reproduction, Claim]]) -> Grid:
    rows = [
        (f"[{of.study.title}]({of.study.name}.md)", claim.says, SIGNS[claim.verdict], claim.measured)
        for of, claim in claims
    ]
    return Grid(("", "claim", "here", "measured"), tuple(rows))


def main() -> None:
    several = all_studies()
    for of in several:
        draw(of, of.path.with_suffix(".png"))
        of.path.with_suffix(".md").write_text(page_of(of), encoding="utf-8")
    draw_overview(several, HERE / "overview.png")
    (HERE / "index.md").write_text(index(several), encoding="utf-8")


if __name__ == "__main__":
    main()
