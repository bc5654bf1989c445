"""How fast hiermo is, beside a bare PyTorch loop in the same run: `make bench`, about 20 minutes on two cores.

Each case has a process of its own, and another one for its peak memory. In it the bare loop with plain SGD, HierFAVG,
the bare loop with Nesterov momentum and HierMo take turns, several times; a ratio is of two neighbours. Run it on a
machine with nothing else to do:

    python benchmarks/speed.py                      # all cases; writes speed.json and the tables of docs/performance.md
    python benchmarks/speed.py cnn "logistic N=4"   # some of them; prints only, or with --write takes their rows anew
"""

import argparse
import json
import os
from pathlib import Path
import resource
from statistics import median
import subprocess
import sys
from typing import Any

from cases import CASES, ETA, Case
from shares import PARTS, shares, watched
import torch

import hiermo
from hiermo.experiment.provenance import cpu_name

HERE = Path(__file__).parent
FILE, PAGE = HERE / "speed.json", HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- measured by benchmarks/speed.py -->", "<!-- end of what was measured -->"
LONGEST = 6.0  # seconds of one bare measurement; beyond it the bare loop makes fewer steps


def measured(case: Case, threads: int, repeats: int) -> dict[str, Any]:
    """Milliseconds per worker-step of the four, in turns."""
    problem = case.problem(threads)
    plain, momentum = hiermo.HierFAVG(eta=ETA), hiermo.HierMo(eta=ETA)
    trial = max(2, case.bare_trial)
    per_step = case.bare(threads, trial, nesterov=False) / trial
    steps = max(trial, min(case.steps, int(LONGEST / per_step)))
    case.ours(problem, plain)  # warms up
    turns: dict[str, list[float]] = {"bare": [], "HierFAVG": [], "bare with momentum": [], "HierMo": []}
    for _ in range(repeats):
        turns["bare"].append(1000 * case.bare(threads, steps, nesterov=False) / steps)
        turns["HierFAVG"].append(1000 * case.ours(problem, plain) / case.steps)
        turns["bare with momentum"].append(1000 * case.bare(threads, steps, nesterov=True) / steps)
        turns["HierMo"].append(1000 * case.ours(problem, momentum) / case.steps)
    with watched() as seconds:
        case.ours(problem, momentum)
        problem.evaluate(problem.initial(0), problem.initial_buffers(0))
    return {
        "workers": case.workers,
        "parameters": problem.dimension,
        "gradients": problem.gradients,
        "worker_steps": case.steps,
        "bare_steps": steps,
        "ms": {name: [round(value, 4) for value in values] for name, values in turns.items()},
        "shares": {name: round(value, 1) for name, value in shares(seconds).items()},
    }


def peak_mb(case: Case, threads: int) -> float:
    """Of a run of HierMo for one cloud round, the interpreter and the data included."""
    problem = case.problem(threads)
    rounds = case.periods[0] * case.periods[1]
    for _ in hiermo.run(hiermo.HierMo(eta=ETA), case.tree, problem, periods=case.periods, iterations=rounds):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ratios(ms: dict[str, list[float]], ours: str, bare: str) -> list[float]:
    return [a / b for a, b in zip(ms[ours], ms[bare], strict=True)]


def spread(values: list[float], digits: int = 3) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def tables(results: dict[str, Any]) -> str:
    """As Markdown."""
    ours = [f"{name}, ms | {name} / bare" for name in ("HierFAVG", "HierMo")]
    head = f"| case | gradients | bare loop, ms | {' | '.join(ours)} | HierMo / bare with momentum | peak memory, MB |"
    lines = [head, "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for name, found in results["cases"].items():
        ms = found["ms"]
        cells = [
            f"{median(ms['bare']):.3g}",
            f"{median(ms['HierFAVG']):.3g}",
            spread(ratios(ms, "HierFAVG", "bare")),
            f"{median(ms['HierMo']):.3g}",
            spread(ratios(ms, "HierMo", "bare")),
            spread(ratios(ms, "HierMo", "bare with momentum")),
            f"{found['peak_mb']:,.0f}",
        ]
        lines.append(f"| {name} | {found['gradients']} | {' | '.join(cells)} |")
    lines += ["", f"| HierMo: share of the time, % | {' | '.join(PARTS)} |", f"|---|{'--:|' * len(PARTS)}"]
    for name, found in results["cases"].items():
        cells = [f"{found['shares'][part]:.1f}" for part in PARTS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *by_number(results["cases"])])


def by_number(cases: dict[str, Any]) -> list[str]:
    """What a worker-step costs with many workers, beside one with the fewest of the same model."""
    lines = ["| HierMo, ms per worker-step | fewest workers | then |", "|---|--:|---|"]
    models: dict[str, list[tuple[int, float]]] = {}
    for name, found in cases.items():
        models.setdefault(name.split()[0], []).append((found["workers"], median(found["ms"]["HierMo"])))
    for model, ((n, first), *rest) in models.items():
        if rest:
            then = "; ".join(f"N = {more}: {ms:.3g} ({ms / first:.2f})" for more, ms in rest)
            lines.append(f"| {model} | N = {n}: {first:.3g} | {then} |")
    return lines


def child(*words: str) -> Any:
    done = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="names of cases or of models; without any, all")
    parser.add_argument("--repeats", type=int, help="turns of each case; by default 5, and 3 for deep models")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="write the rows of these cases, and keep the others")
    parser.add_argument("--child", choices=["time", "memory"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    chosen = [case for case in CASES if not asked.cases or {case.name, case.model} & set(asked.cases)]
    if asked.child:
        (case,) = [case for case in CASES if case.name == asked.cases[0]]
        memory = asked.child == "memory"
        sys.stdout.write(
            json.dumps(
                peak_mb(case, asked.threads) if memory else measured(case, asked.threads, asked.repeats or case.repeats)
            )
            + "\n"
        )
        return
    results: dict[str, Any] = {
        "machine": f"{cpu_name()}, {asked.threads} threads; torch {torch.__version__}",
        "cases": {},
    }
    for k, case in enumerate(chosen):
        sys.stderr.write(
            f"{k + 1} of {len(chosen)}: {case.name}, {case.steps} worker-steps x {asked.repeats or case.repeats} ...\n"
        )
        options = ("--repeats", str(asked.repeats or case.repeats), "--threads", str(asked.threads))
        found = child(case.name, "--child", "time", *options)
        results["cases"][case.name] = found | {"peak_mb": child(case.name, "--child", "memory", *options)}
    sys.stdout.write(f"{results['machine']}\n\n{tables(results)}\n")
    if not asked.cases or asked.write:
        if asked.cases:
            results["cases"] = json.loads(FILE.read_text())["cases"] | results["cases"]
        FILE.write_text(json.dumps(results, indent=2) + "\n")
        text = PAGE.read_text()
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\nOn {results['machine']}:\n\n{tables(results)}\n\n{END}{after}")
        sys.stderr.write(f"written: {FILE.name} and docs/{PAGE.name}\n")


if __name__ == "__main__":
    main()
