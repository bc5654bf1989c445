"""The same work on hiermo: HierFAVG on three tiers, or FedAvg on two with `--flat`, which is what most peers run.

python benchmarks/peers/run_hiermo.py work.npz
"""

import argparse
from pathlib import Path
import sys
from time import perf_counter
from types import SimpleNamespace

from models import make
from work import Work, peak_memory, report

import hiermo


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the work on hiermo.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--flat", action="store_true", help="without edges: FedAvg, tau * pi steps per round")
    given = parser.parse_args()
    work = Work(given.work)
    setting = work.setting
    data = SimpleNamespace(
        train_x=work.train_x, train_y=work.train_y, test_x=work.test_x, test_y=work.test_y, parts=work.parts
    )
    problem = hiermo.Supervised(make(setting.case, setting.seed), data, setting.batch)
    tree = hiermo.Tree.regular(edges=setting.edges, workers_per_edge=setting.workers // setting.edges)
    options = {"periods": (setting.tau, setting.pi)}
    algorithm: hiermo.Algorithm = hiermo.HierFAVG(eta=setting.eta)
    if given.flat:
        tree, options, algorithm = tree.flatten(), {"periods": (setting.steps,)}, hiermo.FedAvg(eta=setting.eta)

    begun = perf_counter()
    *_, last = hiermo.run(algorithm, tree, problem, iterations=setting.iterations, seed=setting.seed, **options)
    seconds = perf_counter() - begun

    report(
        f"hiermo {hiermo.__version__}",
        work,
        worker_steps=setting.workers * setting.iterations,  # every worker makes every iteration
        seconds=seconds,
        accuracy=problem.evaluate(last.model)["accuracy"],
        memory=peak_memory(),
        note=f"{type(algorithm).__name__}, {problem.gradients}, {problem.threads} thread(s)",
    )


if __name__ == "__main__":
    sys.exit(main())
