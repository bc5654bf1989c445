"""Published numbers beside measured ones, and in what the set-ups differ."""

from collections.abc import Sequence
from typing import Any

from hiermo.experiment import recipe_file
from hiermo.experiment.store import StoredRun, flat, identity
from hiermo.report.plain import text
from hiermo.report.published import published
from hiermo.report.summary import Series

COMPARED = (
    "data.partition.kind",
    "tree.edges",
    "tree.workers_per_edge",
    "periods.tau",
    "periods.pi",
    "train.iterations",
    "train.batch",
)


def beside_published(series: Sequence[Series], rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """None where nothing is published for this data and model."""
    keys = series[0].runs[0].keys if series else {}
    wanted = keys.get("data.source"), keys.get("model.name")
    column = next((each for each in published() if (each.data, each.model) == wanted), None)
    if column is None:
        return None
    told = []
    for each, row in zip(series, rows, strict=True):
        run = each.runs[0]
        if run.label == run.algorithm and run.algorithm in column.accuracy and row["accuracy"] is not None:
            mean, deviation = 100 * row["accuracy"], row["accuracy_deviation"]
            told.append(
                {
                    "name": text(each.name),
                    "published": column.accuracy[run.algorithm],
                    "measured": round(mean, 2),
                    "deviation": None if deviation is None else round(100 * deviation, 2),
                    "n": row["n"],
                    "differs": differs(run, column.recipe),
                }
            )
    return {"source": column.source, "recipe": column.recipe, "rows": told} if told else None


def differs(run: StoredRun, recipe: str) -> str:
    """In words, from the shipped recipe of that column; empty where it does not."""
    path = recipe_file.shipped().get(recipe)
    if path is None:
        return f"the set-up of {recipe} is not shipped: whether this is it is for you to say"
    raw = recipe_file.read_whole(path)
    theirs = flat(raw) | {"data.partition.kind": _kind(raw)}
    found = []
    for key in COMPARED:
        if identity(run.keys.get(key)) != identity(theirs.get(key)):
            found.append(f"{key} {text(run.keys.get(key, 'none'), 30)} instead of {text(theirs.get(key, 'none'), 30)}")
    return "; ".join(found)


def _kind(raw: dict[str, Any]) -> Any:
    data = raw.get("data")
    partition = data.get("partition", "iid") if isinstance(data, dict) else "iid"
    return partition.get("kind") if isinstance(partition, dict) else partition
