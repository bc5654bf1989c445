"""Supervised learning: a torch model and data that is divided among workers -> gradients and metrics."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from hiermo.core.errors import UserError
from hiermo.core.plan import Nodes
from hiermo.data.batches import Batches
from hiermo.data.randomness import order, stream
from hiermo.models.flat import Flat
from hiermo.problems.gradients import LOSSES, Block, Mean, OneWorker
from hiermo.problems.threads import Pool, Task, one_intraop_thread

Metric = Callable[[Tensor, Tensor], Any]

BLOCK = 16  # workers in one batched computation: their vectors stay in cache


class Divided(Protocol):
    """Data divided among workers: what `Supervised` asks of it. Arrays are numpy's or torch's.

    `x` is uint8, which means pixels and is divided by 255 in the batch, or floating point; `parts[i]` holds the indices
    of worker i's samples in the training set. `test_x` and `test_y` may be None.
    """

    @property
    def train_x(self) -> Any: ...
    @property
    def train_y(self) -> Any: ...
    @property
    def test_x(self) -> Any: ...
    @property
    def test_y(self) -> Any: ...
    @property
    def parts(self) -> Sequence[Any]: ...


def accuracy(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs.argmax(-1) == targets).double().mean()


class Supervised:
    """Loss of a torch model on each worker's data.

    `model` is a module, whose weights are the start, or a function without arguments that makes one: it is called
    under the run's seed. `loss(outputs, targets)` is a mean over the batch, or "cross_entropy" or "mse" (one-hot).
    `metrics` are further functions (outputs, targets) -> mean over the batch, evaluated beside loss and accuracy.
    `evaluate_train` adds `train_loss`, ... on the training set (True) or on a fixed sample of so many.
    """

    def __init__(
        self,
        model: nn.Module | Callable[[], nn.Module],
        data: Divided,
        batch: int = 64,
        loss: str | Mean = "cross_entropy",
        metrics: Mapping[str, Metric] | None = None,
        *,
        evaluate_train: bool | int = False,
        evaluate_batch: int = 1000,
        device: str = "cpu",
        dtype: str = "float32",
        threads: int | None = None,
    ) -> None:
        if isinstance(loss, str) and loss not in LOSSES:
            raise UserError(f"loss must be a function or one of {', '.join(map(repr, LOSSES))}, not {loss!r}")
        self.device, self.dtype = torch.device(device), getattr(torch, dtype)
        self.batch, self.evaluate_batch = batch, evaluate_batch
        self.train_x, self.train_y = self._samples(data.train_x), self._targets(data.train_y)
        self.parts = [np.asarray(part, np.int64) for part in data.parts]
        self.sizes = np.array([len(part) for part in self.parts])
        if not len(self.parts) or not self.sizes.all():
            raise UserError(f"worker {int(np.argmin(self.sizes)) if len(self.parts) else 0} has no data")
        self._make = partial(lambda module: module, model) if isinstance(model, nn.Module) else model
        self.module = self._built(0)
        self.flat = Flat(self.module)
        self._loss: Mean = loss if callable(loss) else lambda outputs, targets: LOSSES[loss](outputs, targets).mean()
        self._one = OneWorker(self.module, self.flat, self._loss)
        fits = Block.fits(self.module, self.flat, tuple(self.train_x.shape[1:]))
        self._block = Block(self.module, self.flat, LOSSES[loss]) if isinstance(loss, str) and fits else None
        self._pool = Pool(threads or torch.get_num_threads())
        self.metrics: dict[str, Metric] = {} if self.train_y.is_floating_point() else {"accuracy": accuracy}
        self.metrics |= metrics or {}
        self.evaluated = self._evaluated(data, evaluate_train)
        self._batches: dict[int, Batches] = {}
        self.stochastic = self._draws_random_numbers()

    @property
    def dimension(self) -> int:
        """Number of trainable parameters, d."""
        return self.flat.parameters.size

    @property
    def threads(self) -> int:
        return self._pool.threads

    @property
    def metric_names(self) -> list[str]:
        """What `evaluate` will return."""
        return [prefix + name for prefix in self.evaluated for name in ("loss", *self.metrics)]

    def computing(self) -> AbstractContextManager[None]:
        return one_intraop_thread()

    def initial(self, seed: int) -> Tensor:
        return self.flat.vector(self._built(seed), self.dtype)

    def initial_buffers(self) -> Tensor | None:
        return self.flat.statistics(self.module, self.dtype) if self.flat.buffers.size else None

    def grad(self, seed: int, t: int, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        chosen = self._batches_of(seed).indices(workers, t)
        result = torch.empty_like(x)
        if self._block is not None:
            blocks = [slice(k, k + BLOCK) for k in range(0, len(chosen), BLOCK)]
            self._pool.run([partial(self._several, chosen[some], x[some], result[some]) for some in blocks])
            return result
        rows = [None] * len(chosen) if buffers is None else buffers
        self._each(
            [
                partial(self._single, chosen[j], x[j], result[j], rows[j], (seed, int(i), t))
                for j, i in enumerate(workers)
            ]
        )
        return result

    def full_grad(self, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        result = torch.zeros_like(x)

        def whole(j: int, worker: int) -> None:
            part, piece = self.parts[worker], torch.empty_like(x[j])
            for k in range(0, len(part), self.evaluate_batch):
                some = part[k : k + self.evaluate_batch]
                self._single(some, x[j], piece, None, (0, worker, k))
                result[j] += piece * (len(some) / len(part))

        self._each([partial(whole, j, int(i)) for j, i in enumerate(workers)])
        return result

    def evaluate(self, x: Tensor, buffers: Tensor | None = None) -> dict[str, float]:
        return {
            prefix + name: value
            for prefix, (inputs, targets) in self.evaluated.items()
            for name, value in self._averages(x, buffers, inputs, targets).items()
        }

    def _averages(self, x: Tensor, buffers: Tensor | None, inputs: Tensor, targets: Tensor) -> dict[str, float]:
        measures: dict[str, Metric] = {"loss": self._loss} | self.metrics
        starts = range(0, len(targets), self.evaluate_batch)
        parts = [dict.fromkeys(measures, 0.0) for _ in starts]

        def measure(k: int, found: dict[str, float]) -> None:
            some = targets[k : k + self.evaluate_batch]
            outputs = self._one.outputs(self._scaled(inputs[k : k + self.evaluate_batch]), x, buffers)
            for name, function in measures.items():
                found[name] = float(function(outputs, some)) * len(some)

        self._pool.run([partial(measure, k, found) for k, found in zip(starts, parts, strict=True)])
        return {name: sum(found[name] for found in parts) / len(targets) for name in measures}

    def _several(self, chosen: Any, x: Tensor, result: Tensor) -> None:
        assert self._block is not None
        inputs, targets = self._inputs(chosen.reshape(-1))
        block = chosen.shape  # [m, B]
        self._block(inputs.view(*block, *inputs.shape[1:]), targets.view(*block, *targets.shape[1:]), x, result)

    def _single(
        self, chosen: Any, x: Tensor, result: Tensor, buffers: Tensor | None, draw: tuple[int, int, int]
    ) -> None:
        if self.stochastic:
            torch.manual_seed(_draw_seed(*draw))
        inputs, targets = self._inputs(chosen)
        self._one(inputs, targets, x, result, buffers)

    def _each(self, tasks: Sequence[Task]) -> None:
        if not self.stochastic:
            self._pool.run(tasks)
            return
        with torch.random.fork_rng(devices=[]):  # torch has one generator for all threads
            self._pool.run_in_order(tasks)

    def _draws_random_numbers(self) -> bool:
        """Whether a training pass does (dropout): found by making one, which also shows that model and data fit."""
        if self._block is not None:
            return False
        inputs, targets = self._inputs(np.resize(self.parts[0], self.batch))
        x = self.flat.vector(self.module, self.dtype)
        with torch.random.fork_rng(devices=[]), one_intraop_thread():
            before = torch.get_rng_state()
            try:
                self._one(inputs, targets, x, torch.empty_like(x), None)
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                about = f"samples of shape {list(self.train_x.shape[1:])}, batch {self.batch}"
                raise UserError(f"the model cannot be trained on this data ({about}): {error}") from error
            return not torch.equal(torch.get_rng_state(), before)

    def _inputs(self, chosen: Any) -> tuple[Tensor, Tensor]:
        index = torch.as_tensor(chosen, device=self.device)
        return self._scaled(self.train_x.index_select(0, index)), self.train_y.index_select(0, index)

    def _scaled(self, x: Tensor) -> Tensor:
        return x.to(self.dtype).div_(255) if x.dtype == torch.uint8 else x.to(self.dtype)

    def _samples(self, array: Any) -> Tensor:
        return torch.as_tensor(array).to(self.device)

    def _targets(self, array: Any) -> Tensor:
        tensor = torch.as_tensor(array)
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else torch.int64)

    def _built(self, seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_draw_seed(seed, "initial model"))
            module = self._make()
        return module.to(self.device, self.dtype)

    def _batches_of(self, seed: int) -> Batches:
        if seed not in self._batches:
            self._batches = {seed: Batches(self.parts, self.batch, seed)}  # one run at a time: keep the last
        return self._batches[seed]

    def _evaluated(self, data: Divided, train: bool | int) -> dict[str, tuple[Tensor, Tensor]]:
        """Prefix of the metrics -> what they are measured on; the training set where there is no test set."""
        whole = (self.train_x, self.train_y)
        test = whole if data.test_x is None else (self._samples(data.test_x), self._targets(data.test_y))
        if not train:
            return {"": test}
        if train is True:
            return {"": test, "train_": whole}
        chosen = np.sort(order(0, "train sample", n=len(self.train_y))[:train])
        sample = torch.as_tensor(chosen, device=self.device)
        return {"": test, "train_": (self.train_x[sample], self.train_y[sample])}


def _draw_seed(seed: int, *path: int | str) -> int:
    return int(stream(seed, "torch", *path).bit_generator.random_raw()) >> 1
