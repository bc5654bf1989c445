"""Golden trajectories: every algorithm with its own defaults and eta = 0.05 on one small problem.

A refactor must leave these numbers as they are. Where an algorithm is meant to change, make them anew with

    python tests/golden/make.py

and say in the commit which of them moved, and why.
"""

import json
from math import prod
from pathlib import Path
from typing import Any

import hiermo
from hiermo.algorithms import ALGORITHMS

FILE = Path(__file__).with_name("trajectories.json")
ETA, ROUNDS, KEPT = 0.05, 8, (1, 4, 8)  # cloud rounds; for CFL, which merges one edge at a time, sweeps of the edges
TREE = hiermo.Tree.from_groups([[0, 3], [1], [2, 4, 5]])
PERIODS = {2: (6,), 3: (3, 2)}
# plain decimals, so that no generator of random numbers is part of the agreement
PROBLEM = hiermo.Quadratic(
    A=[[[1.0 + 0.2 * i, 0.3, 0.1], [0.3, 2.0 - 0.2 * i, -0.2], [0.1, -0.2, 0.8 + 0.1 * i]] for i in range(6)],
    b=[[0.5 * i - 1.0, 1.5 - 0.4 * i, 0.3 * (i - 2)] for i in range(6)],
    sizes=[8, 3, 5, 13, 2, 7],
    x0=[1.0, -2.0, 0.5],
)


def trajectory(name: str, engine: str = "stacked") -> dict[str, list[float]]:
    """Round -> cloud model."""
    algorithm = ALGORITHMS.get(name)(eta=ETA)
    tree = TREE.flatten() if algorithm.tiers == 2 else TREE
    periods = PERIODS[tree.tiers]
    options: dict[str, Any] = {"periods": periods, "iterations": ROUNDS * prod(periods), "engine": engine}
    models = [state.model.tolist() for state in hiermo.run(algorithm, tree, PROBLEM, **options)]
    each = len(models) // ROUNDS  # arrivals per round
    return {str(kept): models[kept * each - 1] for kept in KEPT}


def main() -> None:
    found = {name: trajectory(name) for name in ALGORITHMS.builtin}
    # json writes floats with repr: every bit comes back
    rows = (f"  {json.dumps(name)}: {json.dumps(models)}" for name, models in found.items())
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
