"""Runs the convex columns of the paper's table and writes convex-mnist.json and convex-mnist.md beside this file.

HIERMO_DATA must name a directory with MNIST's four idx files in mnist/. About ten minutes on two cores:

    python docs/reproduction/convex_mnist.py
"""

from datetime import date
from itertools import pairwise
import json
from pathlib import Path
import platform
from statistics import mean
import subprocess
import sys
import tempfile

from hiermo._version import __version__
from hiermo.experiment.provenance import cpu_name, git_state, library_version

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
PUBLISHED = {
    "HierMo": (85.97, 89.23),
    "HierFAVG": (83.62, 87.00),
    "CFL": (83.36, 86.98),
    "DOMO": (85.79, 89.02),
    "FedADC": (85.51, 88.18),
    "FedMom": (84.84, 88.05),
    "SlowMo": (84.82, 88.00),
    "FedNAG": (84.97, 88.14),
    "Mime": (84.41, 87.73),
    "FedAvg": (83.57, 86.89),
}
GROUPS = (("FedAvg", "HierFAVG", "CFL"), ("FedMom", "SlowMo", "FedNAG", "FedADC"), ("DOMO", "HierMo"))
NEAR = 0.8  # points: how close a cell is expected to come
MODELS = ("linear", "logistic")


def measured() -> dict[str, dict[str, list[float]]]:
    """Model -> label -> accuracy in percent, one per seed."""
    found: dict[str, dict[str, list[float]]] = {model: {} for model in MODELS}
    for model in MODELS:
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as folder:
                words = ["run", f"paper/{model}-mnist", "--seed", str(seed), "--out", f"{folder}/out", "--json"]
                done = subprocess.run([sys.executable, "-m", "hiermo", *words], stdout=subprocess.PIPE, check=True)
            for run in json.loads(done.stdout)["runs"]:
                found[model].setdefault(run["label"], []).append(round(100 * run["accuracy"], 2))
    return found


def cell(values: list[float]) -> str:
    return f"{mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def row(label: str, results: dict[str, dict[str, list[float]]]) -> str:
    cells = [label]
    for k, model in enumerate(MODELS):
        values = results[model][label]
        cells.append(cell(values))
        if label not in PUBLISHED:
            cells += ["-", "-"]
            continue
        gap = mean(values) - PUBLISHED[label][k]
        cells += [f"{PUBLISHED[label][k]:.2f}", f"{gap:+.2f}" if abs(gap) <= NEAR else f"**{gap:+.2f}**"]
    return f"| {' | '.join(cells)} |"


def order_holds(results: dict[str, list[float]]) -> bool:
    """Whether every algorithm of a group is above every one of the group before."""
    means = [[mean(results[name]) for name in group] for group in GROUPS]
    return all(max(below) < min(above) for below, above in pairwise(means))


def page(results: dict[str, dict[str, list[float]]], about: dict[str, object]) -> str:
    labels = list(results["linear"])
    groups = " < ".join(f"({', '.join(group)})" for group in GROUPS)
    lines = [
        "# Linear and logistic regression on MNIST, all ten algorithms",
        "",
        "Test accuracy in %, mean of 3 seeds (0, 1, 2; smallest to largest in brackets), against the paper's table.",
        "4 workers under 2 edges, T = 1000, tau = 10 and pi = 2 (two-tier algorithms: tau = 20), eta = 0.01, every",
        "momentum 0.5, batch 64, i.i.d. split, pixels in [0, 1], zero start. The paper publishes neither its split nor",
        f"its input scaling. A gap of more than {NEAR} points is in bold.",
        "",
        "| | linear: here | paper | gap | logistic: here | paper | gap |",
        "|---|---|---|---|---|---|---|",
        *(row(label, results) for label in labels),
        "",
        f"The order of the groups, {groups}:",
        "",
        *(f"- {model}: {'holds' if order_holds(results[model]) else 'does NOT hold'}" for model in MODELS),
        "",
        NOTES,
        "## How it was measured",
        "",
        "```sh",
        "HIERMO_DATA=... python docs/reproduction/convex_mnist.py",
        "```",
        "",
        "which runs `hiermo run paper/linear-mnist --seed S` and the same with `paper/logistic-mnist` for each seed S.",
        "All single results are in [convex-mnist.json](convex-mnist.json).",
        ", ".join(f"{key}: {value}" for key, value in about.items()) + ".",
        "",
    ]
    return "\n".join(lines)


NOTES = """## What agrees and what does not

- Nineteen of the twenty published cells come out within 0.8 points.
- **Mime, logistic**: see the gap above. The paper does not say which Mime it ran. With `form="hb"` (shown as Mime) its
  effective step is 2 eta, as for FedMom, SlowMo and FedNAG, and it lands among them; with the form of Mime's own paper
  (`Mime-ema`) the step is 1 eta and it lands at FedAvg. The published number lies between the two.
- **FedADC, linear**: the paper has it half a point above FedMom, SlowMo and FedNAG; here it is one of them. By its
  rules the effective step is 2 eta, as theirs.
- **HierMo-position** is Algorithm 1 as printed. On the linear model it is nearly two points below the published
  number; the velocity form of the paper's proofs, here HierMo, meets it.
- Logistic results are about half a point above the published ones for every algorithm with momentum, in the same order.
"""


def main() -> None:
    results = measured()
    state = git_state(HERE)
    about = {
        "date": date.today().isoformat(),
        "hiermo": __version__,
        "commit": state["commit"][:10] if state else "unknown",
        "torch": library_version("torch"),
        "cpu": f"{cpu_name()} ({platform.machine()})",
    }
    (HERE / "convex-mnist.json").write_text(json.dumps({"about": about, "accuracy": results}, indent=2) + "\n")
    (HERE / "convex-mnist.md").write_text(page(results, about))


if __name__ == "__main__":
    main()
