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

HERE = Path(__file__).parent
# test accuracy in %, by recipe
PUBLISHED: dict[str, dict[str, float]] = {
    label: dict(
        zip(
            (
                "paper/linear-mnist",
                "paper/logistic-mnist",
                "paper/cnn-mnist",
                "paper/cnn-cifar10",
                "paper/vgg16-cifar10",
                "paper/resnet18-tiny-imagenet",
                "paper/cnn-uci-har",
            ),
            row,
            strict=True,
        )
    )
    for label, row in {
        "HierMo": (85.97, 89.23, 96.13, 64.18, 90.06, 69.64, 88.36),
        "HierFAVG": (83.62, 87.00, 93.40, 38.46, 89.46, 68.63, 54.56),
        "CFL": (83.36, 86.98, 93.58, 38.79, 89.80, 68.87, 69.19),
        "DOMO": (85.79, 89.02, 95.90, 59.39, 88.53, 67.05, 88.15),
        "FedADC": (85.51, 88.18, 95.09, 56.00, 89.38, 67.76, 85.14),
        "FedMom": (84.84, 88.05, 94.74, 54.87, 88.03, 66.91, 84.69),
        "SlowMo": (84.82, 88.00, 94.88, 54.43, 88.47, 66.84, 83.03),
        "FedNAG": (84.97, 88.14, 95.04, 55.54, 88.33, 66.81, 84.69),
        "Mime": (84.41, 87.73, 93.89, 48.24, 81.76, 64.33, 76.75),
        "FedAvg": (83.57, 86.89, 93.31, 37.79, 88.27, 66.59, 53.31),
    }.items()
}
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
