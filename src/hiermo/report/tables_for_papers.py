"""The summary of series as tables for papers: LaTeX and CSV."""

from collections.abc import Sequence
import csv
from io import StringIO
import json
from typing import Any

from hiermo.core.printable import printable
from hiermo.report.summary import DIGITS, MEASURES, Series, summarise

HEADS = {
    "accuracy": r"accuracy (\%)",
    "loss": "loss",
    "simulated_seconds": "simulated time (s)",
    "bytes": "sent (MB)",
}
SCALES = {"accuracy": 100.0, "bytes": 1e-6}
PLACES = {"accuracy": DIGITS - 2, "loss": DIGITS, "simulated_seconds": 1, "bytes": 1}
SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "-": "{-}",  # two would become a dash
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "…": r"\ldots{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_table(series: Sequence[Series]) -> str:
    """A table with booktabs: mean ± standard deviation over the seeds, the best accuracy and the least loss in bold."""
    rows = summarise(series)
    names = [name for name in MEASURES if any(row[name] is not None for row in rows)]
    same_n = len({row["n"] for row in rows}) == 1
    heads = ["series", *([] if same_n else ["seeds"]), *(HEADS[name] for name in names)]
    lines = [
        r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_caption(rows, same_n)}}}",
        rf"  \begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
        r"    \toprule",
        f"    {' & '.join(heads)} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(_cells(row, names, same_n))} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def csv_table(series: Sequence[Series]) -> str:
    """One line per series, unrounded; a column for each setting that differs."""
    rows = summarise(series)
    settings = list(dict.fromkeys(key for row in rows for key in row["settings"]))
    measures = [f"{name}{ending}" for name in MEASURES for ending in ("", "_deviation")]
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["series", "label", *map(printable, settings), "n", "runs", *measures])
    for row in rows:
        told = [_plain(row["settings"].get(key)) for key in settings]
        table.writerow(
            [printable(row["series"]), printable(row["label"]), *told, row["n"], row["runs"]]
            + [_plain(row[name]) for name in measures]
        )
    return text.getvalue()


def escaped(text: str) -> str:
    r"""As LaTeX prints it, character by character.

    >>> escaped("gamma_a=0.5 & 50%")
    'gamma\\_a=0.5 \\& 50\\%'
    """
    return "".join(SPECIAL.get(character, character) for character in printable(text))


def _caption(rows: Sequence[dict[str, Any]], same_n: bool) -> str:
    counts = sorted({row["n"] for row in rows})
    if not counts or counts == [0]:
        return "No run has finished."
    if counts == [1]:
        return "Final values of one seed each."
    over = f"{counts[-1]} seeds" if same_n else "the seeds of each series"
    best = " Bold: the best accuracy and the least loss." if any(row["best"] for row in rows) else ""
    return f"Final values: mean $\\pm$ standard deviation (of a sample) over {over}.{best}"


def _cells(row: dict[str, Any], names: Sequence[str], same_n: bool) -> list[str]:
    numbers = [_number(row, name) for name in names]
    return [escaped(row["series"]), *([] if same_n else [str(row["n"])]), *numbers]


def _number(row: dict[str, Any], name: str) -> str:
    mean, deviation = row[name], row[f"{name}_deviation"]
    if mean is None:
        return "--"
    scale, places = SCALES.get(name, 1.0), PLACES[name]
    told = f"{scale * mean:.{places}f}"
    spread = "" if deviation is None else f" \\pm {scale * deviation:.{places}f}"
    return rf"$\mathbf{{{told}}}{spread}$" if name in row["best"] else f"${told}{spread}$"


def _plain(value: Any) -> Any:
    if value is None:
        return ""
    return printable(json.dumps(value, default=str) if isinstance(value, (list, bool)) else value)
