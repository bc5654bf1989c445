"""How long it takes to tell the time of a million workers under a thousand edges, without training.

python benchmarks/clock.py
"""

from statistics import median
import sys
from time import perf_counter

import hiermo
from hiermo.core.plan import Setting
from hiermo.core.problem import ModelSize

ROUNDS, PERIODS = 100, (10, 2)
CASES = {
    "constants": {"theta_w": 0.1, "phi_w2e": 1.0, "phi_e2c": 3.0},
    "log-normal": {
        "theta_w": {"kind": "lognormal", "mean": 0.1, "cv": 0.3},
        "phi_w2e": {"kind": "lognormal", "mean": 1.0, "cv": 0.3},
        "phi_e2c": {"kind": "lognormal", "mean": 3.0, "cv": 0.3},
    },
    "the profile 'paper'": {"profile": "paper"},
}


def told(table: dict[str, object], rounds: int) -> float:
    """Seconds of this machine for so many cloud rounds."""
    tree = hiermo.Tree.regular(edges=1000, workers_per_edge=1000)
    setting = Setting(tree, PERIODS, rounds * PERIODS[0] * PERIODS[1])
    model = ModelSize(parameters=1_663_370, flops=4.7e9)
    algorithm = hiermo.HierMo().bind(setting)
    begun = perf_counter()
    clock = hiermo.Clock(hiermo.Delays.of_table(table)).of_run(algorithm, setting, model)
    for _ in clock.follow(algorithm.plan(setting)):
        pass
    return perf_counter() - begun


def main() -> None:
    told(CASES["log-normal"], 1)  # compiles
    sys.stdout.write("| delays | seconds for 100 cloud rounds of 20 iterations (three tries) |\n|---|---|\n")
    for name, table in CASES.items():
        tries = sorted(told(table, ROUNDS) for _ in range(3))
        sys.stdout.write(f"| {name} | {median(tries):.1f} ({tries[0]:.1f} to {tries[-1]:.1f}) |\n")


if __name__ == "__main__":
    main()
