"""A page about one study: what the paper says, what came out, how it was measured."""

from collections.abc import Sequence
from pathlib import Path

from hiermo.experiment.recipe_file import load
from hiermo.reproduction.claims import judged
from hiermo.reproduction.plan import Size
from hiermo.reproduction.reproduce import Reproduction
from hiermo.reproduction.results import machines
from hiermo.reproduction.study import BEYOND, SECONDS
from hiermo.reproduction.tables import claims_grid, tables

FEW = 3  # pairs of periods that a sentence has room for
WORDS = {"accuracy": "test", "train_accuracy": "training"}


def page(of: Reproduction, picture: Path | None, notes: Sequence[str] = ()) -> str:
    """In Markdown; `notes` are what a person has to say."""
    claims = judged(of)
    lines = [f"# {of.study.title}", "", *_setting(of), ""]
    if claims:
        lines += [*claims_grid(claims).markdown(), ""]
    for table in tables(of):
        lines += [*table.markdown(), ""]
    if picture is not None:
        lines += [f"![{of.study.title}]({picture.name})", ""]
    if notes:
        lines += ["## What agrees and what does not", "", *notes, ""]
    lines += ["## How it was measured", "", "```sh", command(of.study.name, of.size), "```", ""]
    lines += [f"{len(of.found)} of {len(of.planned)} runs; all single results: [{of.path.name}]({of.path.name}).", ""]
    lines += [f"- {line}" for line in machines(of.found)]
    return "\n".join(lines).rstrip() + "\n"


def command(name: str, size: Size) -> str:
    """What makes the same again."""
    words = ["hiermo", "reproduce", name]
    words += [] if size.scale == 1 else ["--scale", f"{size.scale:g}"]
    words += [] if size.seeds is None else ["--seeds", str(size.seeds)]
    words += [] if size.iterations is None else ["--iterations", str(size.iterations)]
    words += [word for label in size.only for word in ("--only", label)]
    return " ".join(words)


def _setting(of: Reproduction) -> list[str]:
    """The set-up in a paragraph."""
    full = load(of.study.recipe)
    run = of.planned[0].recipe
    metrics = [of.study.metric, *(name for name in WORDS if name != of.study.metric)]
    there = [name for name in metrics if any(getattr(r, name, None) is not None for r in of.found)]
    accuracy = " and ".join(WORDS[name] for name in there or metrics if name in WORDS).capitalize() + " accuracy"
    seeds = max(
        (len({r.seed for r in of.found if r.label == label}) for label in {r.label for r in of.found}), default=0
    )
    how = f"mean of {seeds} seeds, least to most in brackets" if seeds > 1 else "one seed"
    place = of.study.place[0].upper() + of.study.place[1:]
    trees = " or ".join(dict.fromkeys(str(each.recipe.tree.build()) for each in of.planned))
    words = [
        f"{place}. {accuracy} in % ({how})." if of.study.metric != SECONDS else f"{place}.",
        f"{run.model.name} on {run.source.name}, {trees}, {_periods(of)}, batch {run.train.batch}.",
        f"Recipe `{of.study.recipe}`{' with ' if of.study.settings else ''}{', '.join(of.study.settings)}.",
    ]
    longest = max((r.iterations for r in of.found), default=0)
    if of.study.budgets or full.train.until:
        pass
    elif longest < full.train.iterations:
        words.append(f"**T = {longest} here, {full.train.iterations} in full.**")
    else:
        words.append(f"T = {full.train.iterations}{'' if of.study.place == BEYOND else ', as in the paper'}.")
    if of.size.scale < 1:
        words.append(f"**Scaled down to {of.size.scale:g}: fewer samples, too; nothing to compare numbers with.**")
    return [" ".join(words)]


def _periods(of: Reproduction) -> str:
    several = list(dict.fromkeys(run.recipe.periods for run in of.planned))
    if len(several) > FEW:
        return "tau and pi as below"
    return " or ".join(
        ", ".join(f"{name} = {period}" for name, period in zip(("tau", "pi", "period 3"), each, strict=False))
        for each in several
    )
