"""Who holds what, out of the `holdings.json` of runs."""

from collections.abc import Sequence
from functools import lru_cache
import json
from pathlib import Path
from typing import Any

import numpy as np

from hiermo.core.errors import UserError
from hiermo.data.heterogeneity import Across
from hiermo.experiment.store import StoredRun
from hiermo.report.holdings import CAPTION, Holdings
from hiermo.report.plain import text
from hiermo.topology.tree import Tree

LARGEST = 20_000_000  # bytes of the file
CELLS = 4000  # of a picture
SHOWN = 6  # different holdings, of seeds or partitions, that can be looked at


def holdings_of(runs: Sequence[StoredRun], tree: Tree | None) -> dict[str, Any]:
    """The different ones, each with the runs that have it; or why there is none."""
    found: dict[str, dict[str, Any]] = {}
    lacking = 0
    for run in runs:
        kept = _kept(run)
        if kept is None or tree is None or kept[1].shape[0] != tree.n_workers:
            lacking += 1
            continue
        classes, counts = kept
        key = f"{counts.shape}{hash(counts.tobytes())}{classes}"
        if key not in found and len(found) < SHOWN:
            found[key] = {"of": [], **_shown(Holdings(counts, tree, "", classes))}
        if key in found:
            kind = text(run.keys.get("data.partition.kind", ""), 40)
            found[key]["of"].append((kind, run.seed))
    told = list(found.values())
    for each in told:
        each["of"] = _whose(each["of"])
    note = "" if told else "No holdings.json in these runs: they are of a version that did not write it."
    if told and lacking:
        note = f"{lacking} of {len(runs)} runs have no holdings.json that fits their tree."
    return {"shown": told, "note": note, "caption": CAPTION}


def _whose(runs: Sequence[tuple[str, int]]) -> str:
    kinds = dict.fromkeys(kind for kind, _ in runs)
    seeds = sorted({seed for _, seed in runs})
    told = ", ".join(map(str, seeds[:6])) + (" …" if len(seeds) > 6 else "")
    return f"{', '.join(kinds)}; seed{'s' if len(seeds) > 1 else ''} {told}"


def _kept(run: StoredRun) -> tuple[list[str], Any] | None:
    path = run.directory.holdings_path
    try:
        about = path.stat()
        return None if about.st_size > LARGEST else _read(path, about.st_mtime_ns, about.st_size)
    except OSError:
        return None


@lru_cache(maxsize=512)
def _read(path: Path, mtime_ns: int, size: int) -> tuple[list[str], Any] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        classes, counts = kept["classes"], np.array(kept["counts"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if counts.ndim != 2 or not np.issubdtype(counts.dtype, np.integer) or not isinstance(classes, list):
        return None
    if len(classes) != counts.shape[1] or not counts.size or counts.min() < 0 or (counts.sum(1) == 0).any():
        return None
    return [text(name, 60) for name in classes], counts.astype(np.int64)


def _shown(held: Holdings) -> dict[str, Any]:
    holders = [holder for block in held.blocks() for holder in block]
    note = ""
    if len(holders) * held.counts.shape[1] > CELLS and held.groups is not None:
        holders = [holder for holder in holders if holder.kind != "worker"]
        note = f"{held.tree.n_workers} workers are many: edges are shown. "
    most = max(1, CELLS // held.counts.shape[1])
    if len(holders) > most:
        note += f"The first {most} of {len(holders)} rows are shown."
        holders = holders[:most]
    return {
        "classes": [text(held.class_name(c), 40) for c in range(held.counts.shape[1])],
        "rows": [{"name": h.name, "kind": h.kind, "counts": h.counts.tolist(), "samples": h.samples} for h in holders],
        "words": _words(held),
        "note": note,
    }


def _words(held: Holdings) -> list[list[str]]:
    """Rows of a table: what, how much, what it means."""
    try:
        found = held.heterogeneity
    except UserError:
        return []
    rows = [["worker to all data", _across(found.worker_to_all), "0 is alike, 1 nothing in common"]]
    if found.worker_to_edge is not None and found.edge_to_all is not None:
        rows.append(["worker to its edge", _across(found.worker_to_edge), "0 if an edge's workers are alike"])
        rows.append(["edge to all data", _across(found.edge_to_all), "0 if edges are like the whole"])
    classes = held.counts.shape[1]
    rows.append(
        ["classes of a worker", _across(found.effective_classes, ".1f"), f"of {classes}, were they held equally"]
    )
    varied = f"largest worker to smallest; ± {100 * found.size_variation:.0f} %"
    rows.append(["sizes", f"{found.largest_to_smallest:.2f} to 1", varied])
    return rows


def _across(values: Across, form: str = ".2f") -> str:
    return f"{values.mean:{form}} ({values.low:{form}} to {values.high:{form}})"
