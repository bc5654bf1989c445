"""As many steps of the same kind in a bare PyTorch loop: one module, no federation. Its accuracy means nothing here.

python benchmarks/peers/run_bare.py work.npz --nesterov
"""

import argparse
from pathlib import Path
from time import perf_counter

from models import make
import torch
from torch.nn.functional import cross_entropy
from work import Work, peak_memory, pixels, report


def main() -> None:
    parser = argparse.ArgumentParser(description="Run a bare PyTorch loop.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nesterov", action="store_true", help="momentum 0.5, as beside HierMo")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    work = Work(given.work)
    setting = work.setting
    x, y = pixels(work.train_x), work.train_y
    model = make(setting.case, setting.seed)
    momentum = {"momentum": 0.5, "nesterov": True} if given.nesterov else {}
    optimiser = torch.optim.SGD(model.parameters(), lr=setting.eta, **momentum)
    steps = setting.workers * setting.iterations
    batches = torch.randint(0, len(x), (steps, setting.batch), generator=torch.Generator().manual_seed(0))

    begun = perf_counter()
    for chosen in batches:
        loss = cross_entropy(model(x[chosen]), y[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    seconds = perf_counter() - begun

    report(
        "bare PyTorch loop",
        work,
        worker_steps=steps,
        seconds=seconds,
        accuracy=work.accuracy(model),
        memory=peak_memory(),
        note=f"{'Nesterov momentum' if given.nesterov else 'plain SGD'}, {given.threads} thread(s)",
    )


if __name__ == "__main__":
    main()
