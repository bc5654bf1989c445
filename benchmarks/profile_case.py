"""Which operations the CPU time of a run goes into, by torch.profiler: `python benchmarks/profile_case.py "cnn N=4"`.

Shares are of the CPU seconds; `Python` is what neither an operation of torch nor compiled code accounts for.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
import sys
from time import process_time
from typing import Any

from cases import CASES, ETA
from torch.profiler import ProfilerActivity, profile, record_function

import hiermo
from hiermo.kernels import fused, layer, sums
from hiermo.problems import convolution

COMPILED: list[tuple[Any, str, str]] = [  # what torch does not know
    (layer.Layer, "gradients", "compiled: gradients of the layer"),
    (fused, "_computed", "compiled: rules"),
    (sums, "weighted_sums", "compiled: merges"),
    (convolution, "convolved", "compiled: convolutions"),
    (convolution, "kernel_slopes", "compiled: slopes of kernels"),
]


def named(function: Callable[..., Any], label: str) -> Callable[..., Any]:
    """One that the profiler sees."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with record_function(label):
            return function(*args, **kwargs)

    return call


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
    for owner, name, label in COMPILED:
        setattr(owner, name, named(getattr(owner, name), label))
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
