"""Which operations the CPU time of a run goes into, by torch.profiler: `python benchmarks/profile_case.py "cnn N=4"`.

Shares are of the CPU seconds; `Python` is what no operation of torch accounts for.
"""

import argparse
from collections import Counter
from dataclasses import replace
import sys
from time import process_time

from cases import CASES, ETA
from torch.profiler import ProfilerActivity, profile

import hiermo


def report(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("case", choices=[case.name for case in CASES])
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1, help="the profiler sees one; more change no work")
    asked = parser.parse_args()
    (case,) = [replace(case, iterations=asked.iterations) for case in CASES if case.name == asked.case]
    problem, algorithm = case.problem(asked.threads), hiermo.HierMo(eta=ETA)
    case.ours(problem, algorithm)  # warms up
    begun = process_time()
    case.ours(problem, algorithm)
    plain = process_time() - begun
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        begun = process_time()
        case.ours(problem, algorithm)
        total = process_time() - begun
    own = Counter({event.key: event.self_cpu_time_total / 1e6 for event in seen.key_averages()})
    report(f"{case.name}: {1000 * plain / case.steps:.3f} ms of CPU per worker-step")
    for name, seconds in own.most_common(12):
        report(f"{100 * seconds / total:5.1f} %  {name}")
    report(f"{100 * max(0.0, 1 - own.total() / total):5.1f} %  Python")


if __name__ == "__main__":
    main()
