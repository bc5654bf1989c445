"""The work that every peer is given, and the line that it reports.

A work file is an .npz with the arrays train_x, train_y, test_x, test_y (images as bytes), `parts_flat` and
`parts_length` (the sample indices of all workers, one worker after the other) and `setting`, a JSON string.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
import json
from pathlib import Path
import resource
import sys

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook


@dataclass(frozen=True)
class Setting:
    """What is to be done, the same for all: `iterations` local steps of every worker, merged every tau * pi of them."""

    case: str
    workers: int
    edges: int
    tau: int
    pi: int
    batch: int
    iterations: int
    eta: float
    seed: int

    @property
    def steps(self) -> int:
        """Local steps between two merges at the cloud, which are the rounds of a framework without edges."""
        return self.tau * self.pi

    @property
    def rounds(self) -> int:
        return self.iterations // self.steps


def read_setting(path: Path) -> Setting:
    with np.load(path) as file:
        return Setting(**json.loads(file["setting"].item()))


class Work:
    """A work file in memory. The pixels become float32 where a worker asks for them, so that they are held once."""

    def __init__(self, path: Path) -> None:
        self.setting = read_setting(path)
        with np.load(path) as file:
            self.train_x, self.train_y = torch.from_numpy(file["train_x"]), torch.from_numpy(file["train_y"])
            self.test_x, self.test_y = torch.from_numpy(file["test_x"]), torch.from_numpy(file["test_y"])
            ends = np.cumsum(file["parts_length"])
            self.parts = [torch.from_numpy(part) for part in np.split(file["parts_flat"], ends[:-1])]

    def batches(self, worker: int, steps: int | None = None) -> "Batches":
        """What a worker trains on, `steps` batches at a time (a cloud round's): the same ones in every framework."""
        part = self.parts[worker]
        x, y = pixels(self.train_x[part]), self.train_y[part]
        return Batches(x, y, self.setting.batch, steps or self.setting.steps, seed=worker)

    def accuracy(self, model: nn.Module) -> float:
        """The share of the test samples that `model` gets right."""
        model.eval()
        with torch.no_grad():
            right = [
                (model(pixels(x)).argmax(1) == y).sum()
                for x, y in zip(self.test_x.split(1000), self.test_y.split(1000), strict=True)
            ]
        return float(sum(right)) / len(self.test_y)


def pixels(images: Tensor) -> Tensor:
    return images.to(torch.float32) / 255


class Batches:
    """Exactly `steps` batches per pass, each of exactly `batch` samples; a pass goes on where the last one ended.

    All samples of an epoch come before any of the next, in a new order each, and a batch may straddle two epochs: as
    hiermo draws them. Peers that count epochs are given one pass per round, so that all take the same number of steps.
    Sample j of batch t is a function of (seed, t, j), so that a process which has missed rounds can `go_to` the next.
    """

    def __init__(self, x: Tensor, y: Tensor, batch: int, steps: int, seed: int) -> None:
        self.x, self.y, self.batch, self.steps, self.seed = x, y, batch, steps, seed
        self.go_to(0)

    def go_to(self, t: int) -> None:
        """The next batch is number t."""
        self.epoch, place = divmod(t * self.batch, len(self.y))
        self.left = self._order(self.epoch)[place:]  # of the epoch under way
        self.t = t

    def _order(self, epoch: int) -> Tensor:
        random = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        return torch.randperm(len(self.y), generator=random)

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(self.steps):
            while len(self.left) < self.batch:
                self.epoch += 1
                self.left = torch.cat([self.left, self._order(self.epoch)])
            chosen, self.left = self.left[: self.batch], self.left[self.batch :]
            self.t += 1
            yield self.x[chosen], self.y[chosen]


class Steps:
    """Counts the steps that torch's optimisers really take in this process, whoever calls them.

    `besides` is an optimiser that belongs to no worker.
    """

    def __init__(self, besides: Optimizer | None = None) -> None:
        self.taken, self.besides = 0, besides
        register_optimizer_step_post_hook(self._count)

    def _count(self, optimizer: Optimizer, *_: object) -> None:
        self.taken += optimizer is not self.besides


def arguments(description: str | None, processes: int = 1) -> argparse.Namespace:
    """The command line of all peers; the defaults are what a peer is fastest with on two cores."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="the work file")
    parser.add_argument("--threads", type=int, help="threads of torch in a process (default: the faster of 1 and 2)")
    if processes > 1:
        parser.add_argument("--processes", type=int, default=processes, help="processes that train (%(default)s)")
    given = parser.parse_args()
    if given.threads is None:
        # a small model's operations are too short to share out, and two processes fill two cores without
        alone = getattr(given, "processes", 1) == 1
        given.threads = 2 if alone and read_setting(given.work).case == "cnn" else 1
    torch.set_num_threads(given.threads)
    return given


def peak_memory() -> float:
    """The largest resident set of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(
    peer: str, work: Work, *, worker_steps: int, seconds: float, accuracy: float, memory: float, note: str
) -> None:
    """Writes the result as one line of JSON, the last one of a run."""
    result = {
        "peer": peer,
        "case": work.setting.case,
        "workers": work.setting.workers,
        "worker_steps": worker_steps,
        "seconds": round(seconds, 3),
        "accuracy": round(accuracy, 4),
        "peak_memory_mb": round(memory),
        "note": note,
    }
    sys.stdout.write("\n" + json.dumps(result) + "\n")
    sys.stdout.flush()
