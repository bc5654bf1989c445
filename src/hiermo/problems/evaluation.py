"""Metrics of one model on many samples, in large batches; for groups of them too: classes, workers, edges.

Nothing here draws from the streams of training: a run that is judged more often has the same bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
import torch
from torch import Tensor

from hiermo.core.errors import UserError
from hiermo.core.problem import Task
from hiermo.data.randomness import order, stream
from hiermo.problems.inputs import Inputs
from hiermo.problems.losses import Mean
from hiermo.problems.pooled import OneWorker

Metric = Callable[[Tensor, Tensor], Any]
Index = NDArray[np.int64]
PER = ("class", "worker", "edge")


@dataclass(frozen=True, eq=False)
class Samples:
    """What a model is judged on: some of the samples, or all."""

    inputs: Tensor
    targets: Tensor
    chosen: Index | None = None

    def __len__(self) -> int:
        return len(self.targets) if self.chosen is None else len(self.chosen)

    def sample(self, n: int, name: str) -> "Samples":
        """The same n of them, whatever the run."""
        return replace(self, chosen=np.sort(order(0, name, n=len(self.targets))[:n]))

    def part(self, begin: int, end: int) -> tuple[Tensor, Tensor]:
        """A copy of the inputs, for a module may write into them."""
        if self.chosen is None:
            return self.inputs[begin:end].clone(), self.targets[begin:end]
        index = torch.as_tensor(self.chosen[begin:end], device=self.inputs.device)
        return self.inputs.index_select(0, index), self.targets.index_select(0, index)


class Judge:
    """Mean loss and metrics of a model; `each` runs independent tasks, in order where they draw random numbers."""

    def __init__(
        self,
        one: OneWorker,
        inputs: Inputs,
        loss: Mean,
        metrics: Mapping[str, Metric],
        batch: int,
        each: Callable[[Sequence[Task], bool], None],
    ) -> None:
        self.one, self.inputs, self.batch, self.each = one, inputs, batch, each
        self.measures: dict[str, Metric] = {"loss": loss} | dict(metrics)
        self.at_random = False

    def __call__(self, x: Tensor, buffers: Tensor | None, groups: Sequence[Samples]) -> list[dict[str, float | None]]:
        """Of each group; None where a group is empty."""
        tasks: list[Task] = []
        found: list[list[dict[str, float]]] = []
        for samples in groups:
            starts = range(0, len(samples), self.batch)
            parts = [dict.fromkeys(self.measures, 0.0) for _ in starts]
            found.append(parts)
            tasks += [partial(self._measure, x, buffers, samples, k, s) for k, s in zip(starts, parts, strict=True)]
        self.each(tasks, self.at_random)
        return [
            {name: sum(part[name] for part in parts) / len(samples) if parts else None for name in self.measures}
            for samples, parts in zip(groups, found, strict=True)
        ]

    def _measure(self, x: Tensor, buffers: Tensor | None, samples: Samples, begin: int, sums: dict[str, float]) -> None:
        if self.at_random:
            torch.manual_seed(int(stream(0, "torch", "evaluate", begin).bit_generator.random_raw()) >> 1)
        inputs, targets = samples.part(begin, begin + self.batch)
        outputs = self.one.outputs(self.inputs.scaled(inputs), x, buffers)
        for name, function in self.measures.items():
            sums[name] = float(function(outputs, targets)) * len(targets)


class Fairness:
    """Metrics of the cloud model for each class, each worker and each edge, the worst of them and their spread.

    Classes are those of the test set. A worker is judged on its own test samples where the data says whose those are,
    and else on its training samples; an edge on those of its workers.
    """

    def __init__(
        self,
        per: Sequence[str],
        test: Samples,
        workers: Sequence[Samples],
        edges: Sequence[Sequence[int]] | None,
        n_classes: int,
    ) -> None:
        if wrong := [name for name in per if name not in PER]:
            raise UserError(f"per: there is no '{wrong[0]}'; give some of {', '.join(PER)}")
        if "edge" in per and edges is None:
            raise UserError('per "edge" needs edges: the workers of each, as in [[0, 1], [2, 3]]')
        if "class" in per and test.targets.is_floating_point():
            raise UserError('per "class" needs classes; the targets of this data are numbers')
        self.per, self.workers, self.edges = tuple(name for name in PER if name in per), list(workers), edges or []
        self.classes = [replace(test, chosen=own) for own in _by_class(test, n_classes)]

    def names(self, metrics: Sequence[str]) -> list[str]:
        """What `measure` will return."""
        kinds = [f"{name}_per_{each}" for each in self.per for name in metrics]
        judged = [name for name in metrics if name in ("loss", "accuracy")]
        return kinds + [f"{name}_{word}_{e}" for e in self.per for name in judged for word in ("worst", "spread")]

    def measure(self, judge: Judge, x: Tensor, buffers: Tensor | None) -> dict[str, Any]:
        found: dict[str, list[dict[str, float | None]]] = {}
        if "class" in self.per:
            found["class"] = judge(x, buffers, self.classes)
        if {"worker", "edge"} & set(self.per):
            workers = judge(x, buffers, self.workers)
            found["worker"] = workers
            sizes = [len(samples) for samples in self.workers]
            found["edge"] = [_together([workers[i] for i in edge], [sizes[i] for i in edge]) for edge in self.edges]
        metrics = list(judge.measures)
        values: dict[str, Any] = {
            f"{name}_per_{each}": [one[name] for one in found[each]] for each in self.per for name in metrics
        }
        for each in self.per:
            for name, worst in (("loss", max), ("accuracy", min)):
                if name in metrics:
                    known = [value for value in values[f"{name}_per_{each}"] if value is not None]
                    values[f"{name}_worst_{each}"] = worst(known)
                    values[f"{name}_spread_{each}"] = float(np.std(known))
        return {name: values[name] for name in self.names(metrics)}


def _by_class(test: Samples, n_classes: int) -> list[Index]:
    labels = test.targets.cpu().numpy()
    judged = np.arange(len(labels)) if test.chosen is None else test.chosen
    return [judged[labels[judged] == c] for c in range(n_classes)]


def _together(workers: Sequence[dict[str, float | None]], sizes: Sequence[int]) -> dict[str, float | None]:
    """Means over the samples of all of them; no worker is without samples."""
    total = sum(sizes)
    return {
        name: sum(float(each[name] or 0.0) * size for each, size in zip(workers, sizes, strict=True)) / total
        for name in workers[0]
    }
