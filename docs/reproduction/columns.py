"""What the reproductions of the paper's table share: its numbers, how a column is run, how a page is written."""

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
import json
from pathlib import Path
import platform
from statistics import mean
import subprocess
import sys
import tempfile

import tomli_w

from hiermo._version import __version__
from hiermo.experiment.provenance import cpu_name, git_state, library_version
from hiermo.experiment.recipe_file import read, shipped
from hiermo.report.published import published

HERE = Path(__file__).parent
# label -> test accuracy in %, by recipe
PUBLISHED: dict[str, dict[str, float]] = {}
for _column in published():
    for _label, _accuracy in _column.accuracy.items():
        PUBLISHED.setdefault(_label, {})[_column.recipe] = _accuracy
GROUPS = (("FedAvg", "HierFAVG", "CFL"), ("FedMom", "SlowMo", "FedNAG", "FedADC"), ("DOMO", "HierMo"))

Column = dict[str, list[float]]  # label -> accuracy in percent, one per seed


def measured(recipe: str, seeds: Sequence[int], settings: Sequence[str] = (), ten: bool = False) -> Column:
    """Every algorithm of a recipe, by the command line; `ten`: the paper's, without the variants."""
    found: Column = {}
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            name = without_variants(recipe, Path(folder)) if ten else recipe
            words = ["run", name, "--seed", str(seed), "--out", f"{folder}/out", "--json"]
            words += [word for setting in settings for word in ("-s", setting)]
            done = subprocess.run([sys.executable, "-m", "hiermo", *words], stdout=subprocess.PIPE, check=True)
        for run in json.loads(done.stdout)["runs"]:
            found.setdefault(run["label"], []).append(round(100 * run["accuracy"], 2))
    return found


def without_variants(recipe: str, folder: Path) -> str:
    """A copy of a shipped recipe with the paper's ten algorithms."""
    raw = read(shipped()[recipe])
    raw["algorithm"] = [table for table in raw["algorithm"] if "label" not in table]
    (folder / "ten.toml").write_text(tomli_w.dumps(raw))
    return str(folder / "ten.toml")


def cell(values: Sequence[float]) -> str:
    return f"{mean(values):.2f}" + (f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else "")


def order(column: Column, recipe: str) -> tuple[list[str], list[str]]:
    """Labels from the best down: as measured, and as published."""
    labels = [label for label in column if label in PUBLISHED]
    here = sorted(labels, key=lambda label: -mean(column[label]))
    return here, sorted(labels, key=lambda label: -PUBLISHED[label][recipe])


def rank_correlation(column: Column, recipe: str) -> float:
    """Spearman's: 1 = the same order, 0 = unrelated, -1 = the reverse."""
    here, paper = order(column, recipe)
    n = len(here)
    return 1 - 6 * sum((here.index(label) - paper.index(label)) ** 2 for label in here) / (n * (n * n - 1))


def groups_hold(column: Column) -> bool:
    """Whether every algorithm of a group is above every one of the group before."""
    means = [[mean(column[name]) for name in group] for group in GROUPS]
    return all(max(below) < min(above) for below, above in pairwise(means))


def about() -> dict[str, object]:
    state = git_state(HERE)
    return {
        "date": date.today().isoformat(),
        "hiermo": __version__,
        "commit": state["commit"][:10] if state else "unknown",
        "torch": library_version("torch"),
        "cpu": f"{cpu_name()} ({platform.machine()})",
    }
