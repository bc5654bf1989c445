"""Writes docs/algorithms/*.md, one page per algorithm, and their pictures, out of the algorithm files themselves.

python docs/make_algorithm_pages.py
"""

from dataclasses import MISSING, fields
import inspect
from pathlib import Path
import tomllib
from typing import Any

import matplotlib
import numpy as np

import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.clock.ledger import per_exchange
from hiermo.core.parameter import options
from hiermo.core.references import bibtex

matplotlib.use("agg")
matplotlib.rcParams["svg.hashsalt"] = "hiermo"  # the same picture is the same file

HERE = Path(__file__).parent / "algorithms"
TREE = hiermo.Tree.from_groups([[0, 1], [2, 3, 4], [5]])
PERIODS, ITERATIONS = (5, 2), 600
SETTINGS = {"FedAdagrad": {"eta_s": 0.5}, "DiLoCo": {"eta": 0.01}}  # where eta = 0.03 alone does not suit


def common_problem() -> hiermo.Quadratic:
    """Six workers with unequal data and losses of their own: 10 unknowns, curvatures from 0.1 to 3."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(6, 10, 10)))[0]
    a = turn * np.geomspace(0.1, 3, 10) @ turn.transpose(0, 2, 1)
    sizes = [10, 20, 30, 10, 20, 30]
    return hiermo.Quadratic(A=a, b=rng.normal(size=(6, 10)), sizes=sizes, x0=np.full(10, 3.0))


PROBLEM = common_problem()
BEST = PROBLEM.evaluate(PROBLEM.minimiser())["loss"]


def curve(algorithm: hiermo.Algorithm) -> tuple[list[int], list[float]]:
    """Iterations, and how far the loss is above its minimum."""
    two = algorithm.tiers == 2
    tree, periods = (TREE.flatten(), (10,)) if two else (TREE, PERIODS)
    states = list(hiermo.run(algorithm, tree, PROBLEM, periods=periods, iterations=ITERATIONS))
    last = {state.t: state.model for state in states}  # CFL's edges arrive one after the other at the same t
    return list(last), [PROBLEM.evaluate(model)["loss"] - BEST for model in last.values()]


def settings_of(name: str) -> dict[str, Any]:
    return {"eta": 0.03, **SETTINGS.get(name, {})}


def draw(name: str, path: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for other, colour, dash in (("FedAvg", "#999999", ":"), ("HierFAVG", "#666666", "--")):
        if other != name:
            axes.semilogy(*curve(getattr(hiermo, other)(eta=0.03)), color=colour, linestyle=dash, label=other)
    axes.semilogy(*curve(getattr(hiermo, name)(**settings_of(name))), color="#0072B2", linewidth=2, label=name)
    axes.set_xlabel("iterations (local steps of every worker)")
    axes.set_ylabel("loss above its minimum")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def default(field: Any) -> str:
    return "-" if field.default is MISSING else f"`{field.default}`"


def page(name: str) -> str:
    kind = ALGORITHMS.get(name)
    formula = tomllib.loads((HERE / "formulas.toml").read_text())[name]
    doc = inspect.getdoc(inspect.getmodule(kind)) or ""
    title, _, text = doc.partition("\n\n")
    own = options(kind)
    lines = [
        f"# {name}",
        "",
        str(kind.__doc__).strip(),
        "",
        "```text",
        formula.strip("\n"),
        "```",
        "",
        f"*{title}* {text}",
        "",
        "| parameter | default |",
        "|---|---|",
        *(f"| `{f.name}` | {default(f)} |" for f in fields(kind) if f.name in own),
        "",
        "| link | vectors up | vectors down |",
        "|---|---|---|",
    ]
    algorithm = kind()
    tiers = algorithm.tiers or 3
    names = ["worker to cloud"] if tiers == 2 else ["worker to edge", "edge to cloud"]
    for link, (up, down) in zip(names, per_exchange(algorithm, tiers), strict=True):
        shown = [f"{load.vectors}{' and a scalar' * load.scalars}" for load in (up, down)]
        lines.append(f"| {link} | {shown[0]} | {shown[1]} |")
    chosen = ", ".join(f"{key} = {value}" for key, value in settings_of(name).items())
    lines += [
        "",
        f"On a quadratic with unlike workers (six under three edges, tau = 5, pi = 2; {chosen}, the rest as above):",
        "",
        f"![Loss above its minimum over iterations]({name}.svg)",
        "",
        "```bibtex",
        bibtex(kind.cites),
        "```",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    for name in ALGORITHMS.names():
        draw(name, HERE / f"{name}.svg")
        (HERE / f"{name}.md").write_text(page(name))
    index = ["# Algorithms", "", "Made by `python docs/make_algorithm_pages.py` out of the algorithm files.", ""]
    index += [f"- [{name}]({name}.md): {str(ALGORITHMS.get(name).__doc__).strip()}" for name in ALGORITHMS.names()]
    (HERE / "README.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main()
