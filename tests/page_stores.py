"""Stores of small real runs for the tests of pages, and names that try to be more than names."""

from collections.abc import Sequence
import json
from pathlib import Path
import shutil
from typing import Any

import tomli_w

from cli.tiny_recipe import tiny
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import parse
from hiermo.experiment.recipe_file import read
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import train

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>window.pwned=1</script>",
    "{{7*7}}",
    "$\\LaTeX$ %{x} &lt;b&gt; &amp;",
    "n" * 500,
    "🦔🦔 ok",
    "\u202eright to left\u202d",
    '"><svg/onload=alert(1)>',
    "<a href='javascript:alert(1)'>x</a>\u2028new line",
)


def trained(out: Path, seeds: Sequence[int] = (0, 1), **tables: Any) -> Path:
    """A store with one run for every seed and algorithm."""
    for seed in seeds:
        raw = tiny(**{**tables, "train": {"iterations": 40, "batch": 8, "seed": seed, **tables.get("train", {})}})
        recipe = parse(raw, name="small")
        for directory in create(out / f"s{seed}", recipe):
            own = directory.recipe()
            for _ in train(directory, own, problem_of(own)):
                pass
    return out


TWO = [{"name": "HierMo", "eta": 0.05}, {"name": "HierFAVG", "eta": 0.05}]


def run_folders(store: Path) -> list[Path]:
    return sorted(path.parent for path in store.rglob("recipe.toml"))


def rename(run: Path, name: str, source: str) -> None:
    """The run with a name in place of every text that others may choose, as if a hostile folder had been sent."""
    recipe = read(run / "recipe.toml")
    recipe["name"] = recipe["description"] = name
    recipe["algorithm"]["label"] = name
    recipe["algorithm"]["name"] = name
    recipe["data"]["source"] = source
    recipe["data"]["partition"]["kind"] = name
    (run / "recipe.toml").write_text(tomli_w.dumps(recipe), encoding="utf-8")
    held = json.loads((run / "holdings.json").read_text())
    held["classes"] = [f"{name} {c}" for c in range(len(held["classes"]))]
    (run / "holdings.json").write_text(json.dumps(held))
    result = json.loads((run / "result.json").read_text())
    result |= {"label": name, "delays": name, "bytes_per_link": {name: 1000, f"{name} 2": 10}}
    (run / "result.json").write_text(json.dumps(result))
    provenance = json.loads((run / "provenance.json").read_text())
    provenance["starts"][-1] |= {"cpu": name, "hiermo": name, "python": name}
    (run / "provenance.json").write_text(json.dumps(provenance))


def hostile(out: Path, store: Path, names: Sequence[str] = HOSTILE, source: str = HOSTILE[0]) -> Path:
    """Copies of a real run, each renamed; the last ones failed, with such an error too."""
    original = run_folders(store)[0]
    for k, name in enumerate(names):
        run = out / f"run{k}"
        shutil.copytree(original, run)
        rename(run, name, source)
        if k >= len(names) - 2:
            (run / "result.json").unlink()
            (run / "failed.json").write_text(json.dumps({"format": 1, "error": f"broke: {name}"}))
    return out
