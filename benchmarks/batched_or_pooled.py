"""Where gradients of several workers as one computation stop paying: the number in the rule of `engine.gradients`.

Networks with one hidden layer of growing width, HierMo, with both ways in turns; a ratio below 1 says that "batched" is
faster. About three minutes on two cores; prints a table:

    python benchmarks/batched_or_pooled.py
"""

import sys
from typing import Any

from cases import ETA, Case
from speed import spread
from torch import nn

import hiermo

WIDTHS, WORKERS, REPEATS = (16, 64, 128, 256, 512, 1024), (4, 16, 64), 3


def network(width: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Linear(width, 10))


def ratios(width: int, workers: int) -> list[float]:
    case = Case("logistic", workers, 20)
    options: dict[str, Any] = {"batch": case.batch, "threads": 2}
    ways = {
        way: hiermo.Supervised(lambda: network(width), case.data, gradients=way, **options)
        for way in ("batched", "pooled")
    }
    found = []
    for k in range(REPEATS + 1):
        batched, pooled = (case.ours(problem, hiermo.HierMo(eta=ETA)) for problem in ways.values())
        found += [batched / pooled] if k else []  # the first one warms up
    return found


def main() -> None:
    head = " | ".join(f"{n} workers" for n in WORKERS)
    sys.stdout.write(f"| hidden | parameters | {head} |\n|--:|--:|{'--:|' * len(WORKERS)}\n")
    for width in WIDTHS:
        size = sum(p.numel() for p in network(width).parameters())
        cells = " | ".join(spread(ratios(width, n), 2) for n in WORKERS)
        sys.stdout.write(f"| {width} | {size:,} | {cells} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
