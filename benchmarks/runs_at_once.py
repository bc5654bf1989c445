"""How much faster runs are when several are computed as one, as `hiermo sweep` does it: seconds per run and iteration.

python benchmarks/runs_at_once.py
"""

from statistics import median
import sys
from time import perf_counter

import torch

import hiermo

TREE = hiermo.Tree.regular(edges=2, workers_per_edge=2)
COUNTS = (1, 2, 6, 12, 24, 48)
ITERATIONS, REPEATS = 200, 5


def seconds(problem: hiermo.Supervised, count: int) -> float:
    runs = [
        {"algorithm": hiermo.HierMo(eta=0.01 * (1 + k / count)), "tree": TREE, "problem": problem}
        | {"periods": (10, 2), "iterations": ITERATIONS, "seed": 0}
        for k in range(count)
    ]
    begun = perf_counter()
    for _ in hiermo.run_many(runs):
        pass
    return (perf_counter() - begun) / count / ITERATIONS


def main() -> None:
    torch.set_num_threads(1)  # as a process of a sweep has
    data = hiermo.load_data("mnist-5k", workers=TREE.n_workers)
    problem = hiermo.Supervised(hiermo.make_model("logistic", data), data, batch=64, threads=1)
    seconds(problem, 2)
    found: dict[int, list[float]] = {count: [] for count in COUNTS}
    for _ in range(REPEATS):  # interleaved: other work on the machine hits all alike
        for count in COUNTS:
            found[count].append(seconds(problem, count))
    alone = median(found[1])
    lines = ["| runs at once | ms per run and iteration | as a share of one alone | spread |", "|---|---|---|---|"]
    for count, each in found.items():
        middle = median(each)
        spread = (max(each) - min(each)) / middle
        lines.append(f"| {count} | {1000 * middle:.3f} | {middle / alone:.2f} | {100 * spread:.0f} % |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
