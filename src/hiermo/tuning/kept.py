"""What tuning leaves in its folder: the recipe that is ready to run, the numbers, and the pilot, for the next time."""

from dataclasses import replace
from hashlib import sha256
import json
from pathlib import Path
from typing import Any

from hiermo.core.files import write_json, write_text
from hiermo.experiment import recipe_file
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import FORMAT, Recipe, to_dict
from hiermo.tuning.landscape import landscape
from hiermo.tuning.pilot import Pilot
from hiermo.tuning.tune import Tuning

PILOT = "pilot.json"


def kept_pilots(folder: Path, recipe: Recipe, part: Part) -> list[Pilot]:
    """Those that were made before of the same problem and algorithm; a file that cannot be read counts for nothing."""
    try:
        kept = json.loads((folder / PILOT).read_text(encoding="utf-8"))
        if (kept["format"], kept["of"]) != (FORMAT, fingerprint(recipe, part)):
            return []
        return [Pilot.from_facts(facts) for facts in kept["pilots"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def keep(folder: Path, tuning: Tuning, recipe: Recipe, part: Part) -> dict[str, Path]:
    """Name -> file."""
    folder.mkdir(parents=True, exist_ok=True)
    others = [each for each in kept_pilots(folder, recipe, part) if each.size != tuning.pilot.size]
    files = {"pilot": folder / PILOT, "recipe": folder / "tuned.toml", "tuning": folder / "tuning.json"}
    pilots = [each.facts() for each in (*others, tuning.pilot)]
    write_json(files["pilot"], {"format": FORMAT, "of": fingerprint(recipe, part), "pilots": pilots})
    write_text(files["recipe"], recipe_file.write(tuning.recipe()))
    write_json(files["tuning"], {"format": FORMAT, **tuning.json(), "map": landscape(tuning)})
    return files


def keep_verified(folder: Path, verified: dict[str, Any]) -> None:
    """Beside the choice, what a grid of pairs reached."""
    path = folder / "tuning.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    metric = verified["metric"]
    grid = [{"periods": cell["periods"], metric: round(cell[metric], 5)} for cell in verified["grid"]]
    own = {name: verified[name] for name in ("metric", "best", "best_accuracy", "accuracy")}
    write_json(path, {**kept, "verified": {**own, "grid": grid}})


def fingerprint(recipe: Recipe, part: Part) -> str:
    """Of all that a pilot depends on: neither periods, horizon and delays of the run to come, nor names."""
    facts: dict[str, Any] = to_dict(replace(recipe.single(part), name="", description="", delays=None))
    facts.pop("periods")
    facts["train"] = {key: value for key, value in facts["train"].items() if key not in ("iterations", "until")}
    facts["engine"] = {key: value for key, value in facts["engine"].items() if key in ("dtype", "device")}
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
