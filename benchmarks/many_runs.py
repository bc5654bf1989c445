"""Eight runs of four workers one after the other, and together with `run_many`: `python benchmarks/many_runs.py`."""

from statistics import median
import sys
from time import perf_counter
from typing import Any

from cases import Case

import hiermo

RUNS, REPEATS = 8, 5


def main() -> None:
    case = Case("logistic", 4, 200)
    problem = case.problem(2)
    common: dict[str, Any] = {"tree": case.tree, "problem": problem, "periods": case.periods, "iterations": 200}
    runs = [{"algorithm": hiermo.HierMo(eta=0.01 * (k + 1)), **common} for k in range(RUNS)]
    alone, together = [], []
    for _ in range(REPEATS + 1):  # the first one warms up
        begun = perf_counter()
        for run in runs:
            for _ in hiermo.run(**run):
                pass
        alone.append(1e6 * (perf_counter() - begun) / (RUNS * case.steps))
        begun = perf_counter()
        for _ in hiermo.run_many(runs):
            pass
        together.append(1e6 * (perf_counter() - begun) / (RUNS * case.steps))
    ratios = [b / a for a, b in zip(alone[1:], together[1:], strict=True)]
    sys.stdout.write(
        "| | microseconds per worker-step |\n|---|--:|\n"
        f"| one after the other | {median(alone[1:]):.0f} |\n| together | {median(together[1:]):.0f} |\n"
        f"| ratio | {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |\n"
    )


if __name__ == "__main__":
    main()
