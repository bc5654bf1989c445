"""VGG16 on CIFAR-10 and ResNet18 on Tiny-ImageNet on the three-tier tree: tens of iterations at batch 64.

Shows that the loss falls, and what a worker-step costs beside a bare PyTorch loop in the same run. HIERMO_DATA must
name a directory with the data sets. About 20 minutes on two cores; writes deep_models.json and deep_models.md:

    python benchmarks/deep_models.py                 # or one of them: python benchmarks/deep_models.py vgg16
"""

import json
from pathlib import Path
import platform
from statistics import median
import sys
from time import perf_counter

import torch
from torch.nn.functional import cross_entropy

import hiermo
from hiermo.experiment.provenance import cpu_name

HERE = Path(__file__).parent
STUDIES = {
    "vgg16 on cifar10": {"source": "cifar10", "model": "vgg16", "crop": 4, "iterations": 50},
    "resnet18 on tiny-imagenet": {"source": "tiny-imagenet", "model": "resnet18", "crop": 8, "iterations": 20},
}
BATCH, TAU, PI = 64, 5, 2
FILE = HERE / "deep_models.json"


def bare_step_s(problem: hiermo.Supervised, module: torch.nn.Module, batch: int) -> float:
    """One step of plain SGD on the same kind of batch, on all threads."""
    optimiser = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.5, nesterov=True)
    inputs, targets = problem.inputs.scaled(problem.train_x[:batch]), problem.train_y[:batch]
    begun = perf_counter()
    optimiser.zero_grad()
    cross_entropy(module(inputs), targets).backward()
    optimiser.step()
    return perf_counter() - begun


def study(source: str, model: str, crop: int, iterations: int) -> dict[str, object]:
    tree = hiermo.Tree.regular(edges=2, workers_per_edge=2)
    data = hiermo.load_data(source, workers=tree.n_workers)
    make = hiermo.make_model(model, data)
    problem = hiermo.Supervised(make, data, BATCH, normalise=True, crop=crop, flip=True, evaluate_test=500)
    module = make().train()
    bare_step_s(problem, module, BATCH)  # warms up
    states = hiermo.run(hiermo.HierMo(eta=0.01), tree, problem, periods=(TAU, PI), iterations=iterations, every="edge")
    losses = [problem.evaluate(problem.initial(0), problem.initial_buffers(0))["loss"]]
    ours, bare = [], []
    begun = perf_counter()
    for state in states:
        ours.append((perf_counter() - begun) / (TAU * tree.n_workers))
        bare.append(bare_step_s(problem, module, BATCH))
        if state.t % (TAU * PI) == 0:
            losses.append(problem.evaluate(state.model, state.model_buffers)["loss"])
        sys.stderr.write(f"{model} {state.t}: loss {losses[-1]:.3f}, {ours[-1]:.2f} s against {bare[-1]:.2f} s bare\n")
        begun = perf_counter()
    ratios = [b / o for o, b in zip(ours, bare, strict=True)]
    return {
        "parameters": problem.dimension,
        "iterations": iterations,
        "losses": [round(loss, 4) for loss in losses],
        "ms_per_worker_step": round(1000 * median(ours), 1),
        "bare_ms_per_step": round(1000 * median(bare), 1),
        "speed_relative_to_bare": [round(r, 3) for r in (min(ratios), median(ratios), max(ratios))],
    }


def page(results: dict[str, dict], machine: str) -> str:
    rows = [
        f"| {name} | {found['parameters']:,} | {found['iterations']} "
        f"| {found['losses'][0]:.3f} → {found['losses'][-1]:.3f} "
        f"| {found['ms_per_worker_step']:.0f} | {found['bare_ms_per_step']:.0f} "
        f"| {found['speed_relative_to_bare'][1]:.2f} ({found['speed_relative_to_bare'][0]:.2f} to "
        f"{found['speed_relative_to_bare'][2]:.2f}) |"
        for name, found in results.items()
    ]
    return "\n".join(
        [
            "# Deep models on the three-tier tree",
            "",
            f"HierMo, 4 workers under 2 edges, batch {BATCH}, tau = {TAU}, pi = {PI}, eta = 0.01, with",
            "normalisation, crops and flips; loss on 500 test samples before and after. Bare: one step of plain SGD",
            "with momentum on one batch, measured between the edge rounds of the same run; above 1 is faster than it.",
            "",
            "| | parameters | iterations | loss | ms per worker-step | bare | speed by bare (smallest to largest) |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            f"`python benchmarks/deep_models.py` on {machine}. All figures: [deep_models.json](deep_models.json).",
            "",
        ]
    )


def main() -> None:
    machine = f"{cpu_name()} ({platform.machine()}), {torch.get_num_threads()} threads, torch {torch.__version__}"
    known = json.loads(FILE.read_text())["studies"] if FILE.is_file() else {}
    wanted = [name for name in STUDIES if not sys.argv[1:] or name.split()[0] in sys.argv[1:]]
    results = known | {name: study(**STUDIES[name]) for name in wanted}
    FILE.write_text(json.dumps({"machine": machine, "studies": results}, indent=2) + "\n")
    FILE.with_suffix(".md").write_text(page(results, machine))


if __name__ == "__main__":
    main()
