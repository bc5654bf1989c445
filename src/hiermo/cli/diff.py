"""`hiermo diff`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiermo.cli.arguments import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from hiermo.experiment.compare_runs import Pair, Paired, Sides


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A run directory, or a folder of several.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="What to compare it with, of the same kind.")],
    as_json: AsJson = False,
) -> None:
    """Compare two runs, or two folders run by run: in what recipe, provenance and result differ."""
    import json
    import sys

    from hiermo.cli.reading_stores import jsonable, note_unreadable, read_stores
    from hiermo.experiment.compare_runs import paired

    found = [read_stores([path]) for path in (a, b)]
    unreadable = [each for side in found for each in side.unreadable]
    note_unreadable(unreadable)
    together = paired(a, found[0].runs, b, found[1].runs)
    if as_json:
        told = {"a": str(a), "b": str(b), "pairs": [_json(pair) for pair in together.pairs]}
        told |= {"only_a": [str(run.path) for run in together.only_a]}
        told |= {"only_b": [str(run.path) for run in together.only_b]}
        told |= {"unreadable": [{"path": str(path), "why": why} for path, why in unreadable]}
        sys.stdout.write(json.dumps(jsonable(told), indent=2) + "\n")
        return
    _show(together, a, b)


def _json(pair: "Pair") -> dict[str, Any]:
    from hiermo.experiment.compare_runs import difference

    def sides(found: "Sides") -> dict[str, Any]:
        return {key: {"a": left, "b": right} for key, (left, right) in found.items()}

    measured = sides(pair.result)
    for each in measured.values():
        each["difference"] = difference(each["a"], each["b"])
    told: dict[str, Any] = {"name": pair.name, "a": str(pair.a.path), "b": str(pair.b.path)}
    told |= {"recipe": sides(pair.recipe), "provenance": sides(pair.provenance)}
    return {**told, "result": measured, "same_bits": pair.same_bits}


def _show(together: "Paired", a: Path, b: Path) -> None:
    from rich.console import Console

    from hiermo.core.printable import printable

    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(printable(text), markup=False, soft_wrap=True)

    pairs = together.pairs
    say(f"A: {a}")
    say(f"B: {b}")
    for what in ("recipe", "provenance"):
        _show_settings(console, what, pairs)
    console.print()
    console.print(result_table(pairs[0]) if len(pairs) == 1 else results_table(pairs))
    say(_bits(pairs))
    for name, runs in (("A", together.only_a), ("B", together.only_b)):
        for run in runs:
            say(f"only in {name}: {run.path}")


def _show_settings(console: Any, what: str, pairs: "Sequence[Pair]") -> None:
    """What differs alike in all pairs once, then what is particular to one."""
    from rich.markup import escape

    from hiermo.core.printable import printable

    found = [getattr(pair, what) for pair in pairs]
    shared = {key: value for key, value in found[0].items() if all(each.get(key) == value for each in found)}
    console.print()
    if not any(found):
        console.print(f"{what}: the same")
        return
    if shared:
        console.print(sides_table(what, shared))
    for pair, own in zip(pairs, found, strict=True):
        if rest := {key: value for key, value in own.items() if key not in shared}:
            console.print(sides_table(f"{what} of {escape(printable(pair.name))}", rest))


def sides_table(title: str, sides: "Sides") -> "Table":
    from rich.markup import escape

    from hiermo.core.printable import printable

    table = _table(title)
    table.add_column("key", overflow="fold")
    for name in ("A", "B"):
        table.add_column(name, overflow="fold")
    for key, values in sides.items():
        table.add_row(*(escape(printable("-" if each is None else each)) for each in (key, *values)))
    return table


def result_table(pair: "Pair") -> "Table":
    """A row per measure."""
    from rich.markup import escape

    from hiermo.report.runs_table import HEADS, shown_value

    table = _table("result")
    for name, justify in (("", "left"), ("A", "right"), ("B", "right"), ("B - A", "right")):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for name, (left, right) in pair.result.items():
        if left is None and right is None:
            continue
        shown = (shown_value(name, left), shown_value(name, right), _more(name, left, right))
        table.add_row(HEADS.get(name, escape(name)), *map(escape, shown))
    return table


def results_table(pairs: "Sequence[Pair]") -> "Table":
    """A row per pair."""
    from rich.markup import escape

    from hiermo.core.printable import printable
    from hiermo.report.runs_table import shown_value

    table = _table("result")
    table.add_column("run", overflow="fold")
    for head in ("accuracy A", "B", "B - A", "loss A", "B", "simulated A", "B"):
        table.add_column(head, justify="right")
    table.add_column("bits")
    for pair in pairs:
        cells = [printable(pair.name)]
        for name in ("accuracy", "loss", "simulated_seconds"):
            left, right = pair.result[name]
            cells += [shown_value(name, left), shown_value(name, right)]
            cells += [_more(name, left, right).removesuffix(" points")] if name == "accuracy" else []
        table.add_row(*map(escape, cells), {True: "same", False: "differ", None: "-"}[pair.same_bits])
    return table


def _table(title: str) -> "Table":
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)


def _more(name: str, left: Any, right: Any) -> str:
    """The difference with its sign; that of accuracies in percentage points."""
    from hiermo.experiment.compare_runs import difference
    from hiermo.report.runs_table import shown_value

    more = difference(left, right)
    if more is None:
        return ""
    if more == 0:
        return "0"
    sign = "+" if more > 0 else "-"
    return f"{sign}{shown_value(name, abs(more)).replace('%', 'points')}"


def _bits(pairs: "Sequence[Pair]") -> str:
    same = [pair.same_bits for pair in pairs]
    if None in same and len(same) == 1:
        return "not both have finished: there are no final models to compare"
    if len(same) == 1:
        return "same bits: both ended with the same model" if same[0] else "they ended with different models"
    words = [f"{same.count(True)} of {len(same)} pairs ended with the same bits"]
    return "; ".join(words + ([f"{same.count(None)} are not finished"] if None in same else []))
