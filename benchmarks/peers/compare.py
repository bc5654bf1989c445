"""hiermo, a bare PyTorch loop and the peers on the same work, in turns: writes compare.json and docs/performance.md.

Needs the environments of `make_environments.sh`; a peer without one is left out, and so is one that fails, with its
last line. On a machine with nothing else to do, about ten minutes:

    HIERMO_DATA=... python benchmarks/peers/compare.py --repeats 3
"""

import argparse
import json
from pathlib import Path
from statistics import median
import subprocess
import sys
import tempfile
from typing import Any

HERE = Path(__file__).parent
FILE, PAGE = HERE / "compare.json", HERE.parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- measured by benchmarks/peers/compare.py -->", "<!-- end of the comparison -->"
WORKS = {
    "logistic, 100 workers": {"case": "logistic", "workers": 100, "edges": 10, "iterations": 300},
    "cnn, 4 workers": {"case": "cnn", "workers": 4, "edges": 2, "iterations": 40, "eta": 0.1},
}
PEERS = ("flgo", "pfl", "fluke", "flower", "fedml")
BARE = "bare loop"
RUNS = {  # name -> interpreter, script and options
    BARE: (sys.executable, "run_bare.py"),
    "hiermo, HierFAVG": (sys.executable, "run_hiermo.py"),
    "hiermo, FedAvg": (sys.executable, "run_hiermo.py", "--flat"),
} | {peer: (str(HERE / ".venvs" / peer / "bin" / "python"), f"run_{peer}.py") for peer in PEERS}


def run(name: str, work: Path) -> dict[str, Any] | None:
    python, script, *options = RUNS[name]
    if not Path(python).exists():
        sys.stderr.write(f"  {name}: no environment, left out\n")
        return None
    command = [python, script, str(work), *options]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:  # once more: processes that meet at a port may find it taken
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(f"  {name}: failed: {(done.stderr.splitlines() or ['?'])[-1]}\n")
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    sys.stderr.write(f"  {name}: {found['seconds']:.1f} s, accuracy {found['accuracy']:.4f}\n")
    return found


def study(setting: dict[str, Any], repeats: int, folder: Path) -> dict[str, list[dict[str, Any]]]:
    work = folder / f"{setting['case']}.npz"
    options = [word for key, value in setting.items() for word in (f"--{key}", str(value))]
    subprocess.run([sys.executable, "make_work.py", *options, "--out", str(work)], cwd=HERE, check=True)
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in RUNS}
    for k in range(repeats):
        sys.stderr.write(f"{setting['case']}, turn {k + 1} of {repeats}\n")
        for name in RUNS:
            found = run(name, work)
            turns[name] += [found] if found else []
    return {name: found for name, found in turns.items() if len(found) == repeats}


def tables(results: dict[str, Any]) -> str:
    lines = []
    for title, turns in results.items():
        bare = turns[BARE]
        lines += [
            f"**{title}**, {bare[0]['worker_steps']:,} worker-steps:",
            "",
            "| | ms per worker-step | of the bare loop | accuracy, % | peak memory, MB | |",
            "|---|--:|--:|--:|--:|---|",
        ]
        for name, found in turns.items():
            ratios = [a["seconds"] / b["seconds"] for a, b in zip(found, bare, strict=True)]
            cells = [
                f"{1000 * median(a['seconds'] / a['worker_steps'] for a in found):.3g}",
                f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                "-" if name == BARE else f"{100 * found[0]['accuracy']:.2f}",
                f"{median(a['peak_memory_mb'] for a in found):,.0f}",
                found[0]["note"],
            ]
            label = name if name.startswith(("hiermo", "bare")) else found[0]["peer"]
            lines.append(f"| {label} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare with other frameworks.")
    parser.add_argument("works", nargs="*", help="logistic, cnn; without any, both. Others keep their last results")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    results = json.loads(FILE.read_text()) if FILE.is_file() and asked.works else {}
    with tempfile.TemporaryDirectory() as folder:
        for title, setting in WORKS.items():
            if not asked.works or setting["case"] in asked.works:
                results[title] = study(setting, asked.repeats, Path(folder))
    FILE.write_text(json.dumps(results, indent=2) + "\n")
    text = PAGE.read_text()
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}")
    sys.stdout.write(tables(results) + "\n")


if __name__ == "__main__":
    main()
