"""Results of `hiermo tune` among the given folders; read as data, like runs."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.experiment.store import Found
from hiermo.report.plain import number

LARGEST = 2_000_000  # bytes of a file that is one of ours; more is something else
CELLS = 10_000


class FoundTuning(NamedTuple):
    """One folder of `hiermo tune`."""

    path: Path
    facts: dict[str, Any]  # tuning.json
    recipe: dict[str, Any]  # tuned.toml, as TOML says it


def tunings_of(found: Found) -> list[FoundTuning]:
    """What is not one of ours is passed over."""
    return [tuning for path in found.tuned if (tuning := read_tuning(path)) is not None]


def read_tuning(folder: Path) -> FoundTuning | None:
    try:
        path = folder / "tuning.json"
        if path.stat().st_size > LARGEST:
            return None
        facts = json.loads(path.read_text(encoding="utf-8"))
        recipe = recipe_file.read(folder / "tuned.toml")
    except (OSError, ValueError, UserError, RecursionError):
        return None
    if not isinstance(facts, dict) or len(_periods(facts)) == 0:
        return None
    return FoundTuning(folder, facts, recipe)


def _periods(facts: dict[str, Any]) -> list[int]:
    said = facts.get("periods")
    return [each for each in said if isinstance(each, int) and each > 0] if isinstance(said, list) else []


def chosen(tuning: FoundTuning) -> tuple[int, int | None]:
    """tau and, where there are edges, pi."""
    periods = _periods(tuning.facts)
    return periods[0], periods[1] if len(periods) > 1 else None


def bound_map(tuning: FoundTuning) -> dict[str, Any] | None:
    """Its map, where it has one whose parts fit together; a tuning of an older version has none."""
    kept = tuning.facts.get("map")
    if not isinstance(kept, dict):
        return None
    taus, pis, rows = (kept.get(name) for name in ("taus", "pis", "percent_above_least"))
    if not all(isinstance(each, list) for each in (taus, pis, rows)):
        return None
    taus, pis = [number(each) for each in taus or ()], [number(each) for each in pis or ()]
    fits = len(rows or ()) == max(1, len(pis)) and all(
        isinstance(row, list) and len(row) == len(taus) for row in rows or ()
    )
    if not fits or None in taus or None in pis or not 0 < len(taus) * max(1, len(pis)) <= CELLS:
        return None
    return {"taus": taus, "pis": pis, "z": [[number(each) for each in row] for row in rows or ()]}


def verified_cells(tuning: FoundTuning) -> tuple[str, dict[tuple[int, int], float]] | None:
    """The metric, and what every pair of the grid reached; None where nothing was verified."""
    kept = tuning.facts.get("verified")
    grid = kept.get("grid") if isinstance(kept, dict) else None
    if not isinstance(kept, dict) or not isinstance(grid, list) or len(grid) > CELLS:
        return None
    metric = str(kept.get("metric"))
    found = {}
    for cell in grid:
        periods = _periods(cell) if isinstance(cell, dict) else []
        value = number(cell.get(metric)) if isinstance(cell, dict) else None
        if len(periods) == 2 and value is not None:
            found[periods[0], periods[1]] = value
    return (metric, found) if found else None
