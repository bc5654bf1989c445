"""What the benchmarks compute: models, data and trees, and the bare PyTorch loop that they are measured against.

The data is made here, in the shapes of the real sets: what a number costs does not depend on its value. Every worker
holds 600 samples, whatever their number, drawn from 60000 (5000 for the deep models).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import hiermo

TAU, PI, ETA, SAMPLES = 10, 2, 0.01, 600


@dataclass(frozen=True)
class Case:
    """A model on n workers, under `edges` edges, for some iterations per measurement."""

    model: str
    workers: int
    iterations: int
    edges: int = 2
    shape: tuple[int, ...] = (1, 28, 28)
    classes: int = 10
    batch: int = 64
    stored: int = 60_000
    periods: tuple[int, int] = (TAU, PI)
    repeats: int = 5

    @property
    def name(self) -> str:
        return f"{self.model} N={self.workers}"

    @property
    def bare_trial(self) -> int:
        """Steps of the bare loop that show how long one takes."""
        return {"logistic": 500, "cnn": 10}.get(self.model, 2)

    @property
    def steps(self) -> int:
        """Worker-steps."""
        return self.workers * self.iterations

    @cached_property
    def data(self) -> Any:
        rng = np.random.default_rng(0)
        x = rng.integers(0, 256, (self.stored, *self.shape), dtype=np.uint8)
        y = rng.integers(0, self.classes, self.stored)
        parts = [rng.choice(self.stored, SAMPLES, replace=False) for _ in range(self.workers)]
        return SimpleNamespace(
            train_x=x, train_y=y, test_x=x[:1000], test_y=y[:1000], parts=parts, shape=self.shape, classes=self.classes
        )

    @cached_property
    def tree(self) -> hiermo.Tree:
        return hiermo.Tree.regular(edges=self.edges, workers_per_edge=self.workers // self.edges)

    @cached_property
    def make(self) -> Callable[[], nn.Module]:
        return hiermo.make_model(self.model, shape=self.shape, classes=self.classes)

    def problem(self, threads: int, **options: Any) -> hiermo.Supervised:
        return hiermo.Supervised(self.make, self.data, self.batch, threads=threads, **options)

    def ours(self, problem: hiermo.Supervised, algorithm: hiermo.Algorithm) -> float:
        """Seconds of a run without evaluation."""
        begun = perf_counter()
        for _ in hiermo.run(algorithm, self.tree, problem, periods=self.periods, iterations=self.iterations):
            pass
        return perf_counter() - begun

    def bare(self, threads: int, steps: int, *, nesterov: bool) -> float:
        """Seconds of as many steps of one module, as one would write them."""
        torch.set_num_threads(threads)
        module = self.make().train()
        momentum: dict[str, Any] = {"momentum": 0.5, "nesterov": True} if nesterov else {}
        optimiser = torch.optim.SGD(module.parameters(), lr=ETA, **momentum)
        x, y = self.bare_data
        batches = torch.randint(0, len(x), (steps, self.batch), generator=torch.Generator().manual_seed(0))
        begun = perf_counter()
        for chosen in batches:
            loss = cross_entropy(module(x[chosen]), y[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return perf_counter() - begun

    @cached_property
    def bare_data(self) -> tuple[torch.Tensor, torch.Tensor]:
        """As floating point, which spares the bare loop the conversion of its batches."""
        return torch.from_numpy(self.data.train_x).float().div_(255), torch.from_numpy(self.data.train_y)


DEEP = {"periods": (2, 1), "stored": 5_000, "repeats": 3}
CASES = [
    Case("logistic", 4, 1000),
    Case("logistic", 100, 100, edges=10),
    Case("logistic", 1000, 40, edges=10),
    Case("logistic", 10000, 10, edges=100, periods=(10, 1)),
    Case("cnn", 4, 20),
    Case("cnn", 16, 20, edges=4),
    Case("cnn", 100, 5, edges=10, periods=(5, 1)),
    Case("vgg16", 4, 4, shape=(3, 32, 32), **DEEP),
    Case("resnet18", 4, 2, shape=(3, 64, 64), classes=200, batch=32, **DEEP),
]
