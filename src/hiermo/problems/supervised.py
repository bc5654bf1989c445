"""Supervised learning: a torch model and data that is divided among workers -> gradients and metrics."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
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

    `model` is a module, whose weights are the start and which is not changed, or a function without arguments that
    makes one: it is called under the run's seed. `loss(outputs, targets)` is a mean over the batch, or "cross_entropy"
    or "mse" (one-hot). `metrics` are further functions (outputs, targets) -> mean over the batch, evaluated beside loss
    and accuracy. `weight_decay` times the model is added to every gradient, after that of a batch was shortened to at
    most `clip_norm`: both are inside what an algorithm sees. `evaluate_train` adds `train_loss`, ... on the training
    set (True) or on a fixed sample of so many.
    """

    def __init__(
        self,
        model: nn.Module | Callable[[], nn.Module],
        data: Divided,
        batch: int = 64,
        loss: str | Mean = "cross_entropy",
        metrics: Mapping[str, Metric] | None = None,
        *,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
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
        self.weight_decay, self.clip_norm = weight_decay, clip_norm
        self.train_x, self.train_y = self._samples(data.train_x), self._targets(data.train_y)
        self.parts = [np.asarray(part, np.int64) for part in data.parts]
        self.sizes = np.array([len(part) for part in self.parts])
        if not len(self.parts) or not self.sizes.all():
            raise UserError(f"worker {int(np.argmin(self.sizes)) if len(self.parts) else 0} has no data")
        self._make = partial(deepcopy, model) if isinstance(model, nn.Module) else model
        self.module = self._built(0)
        self.flat = Flat(self.module)
        if not self.flat.parameters.size:
            raise UserError("the model has no parameters to train")
        self._loss: Mean = loss if callable(loss) else lambda outputs, targets: LOSSES[loss](outputs, targets).mean()
        self._one = OneWorker(self.module, self.flat, self._loss)
        fits = Block.fits(self.module, self.flat, tuple(self.train_x.shape[1:]), batch)
        self._block = Block(self.module, self.flat, LOSSES[loss]) if isinstance(loss, str) and fits else None
        self._pool = Pool(threads or torch.get_num_threads())
        self.metrics: dict[str, Metric] = {} if self.train_y.is_floating_point() else {"accuracy": accuracy}
        self.metrics |= metrics or {}
        if "loss" in self.metrics:
            raise UserError("metrics: 'loss' is evaluated already; give the metric another name")
        self.evaluated = self._evaluated(data, evaluate_train)
        self._batches: dict[int, Batches] = {}
        self.stochastic, self._evaluates_at_random = self._draw_random_numbers()

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
            return self._decayed(self._clipped(result), x)
        rows = [None] * len(chosen) if buffers is None else buffers
        self._each(
            [
                partial(self._single, chosen[j], x[j], result[j], rows[j], (seed, int(i), t))
                for j, i in enumerate(workers)
            ],
            self.stochastic,
        )
        return self._decayed(self._clipped(result), x)

    def full_grad(self, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        result = torch.zeros_like(x)

        def whole(j: int, worker: int) -> None:
            part, piece = self.parts[worker], torch.empty_like(x[j])
            for k in range(0, len(part), self.evaluate_batch):
                some = part[k : k + self.evaluate_batch]
                self._single(some, x[j], piece, None, (0, worker, k))
                result[j] += piece * (len(some) / len(part))

        self._each([partial(whole, j, int(i)) for j, i in enumerate(workers)], self.stochastic)
        return self._decayed(result, x)

    def evaluate(self, x: Tensor, buffers: Tensor | None = None) -> dict[str, float]:
        x = x.clone()  # bits depend on the place in memory
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
            if self._evaluates_at_random:
                torch.manual_seed(_draw_seed(0, "evaluate", k))
            some = targets[k : k + self.evaluate_batch]
            samples = inputs[k : k + self.evaluate_batch].clone()  # a module may write into its input
            outputs = self._one.outputs(self._scaled(samples), x, buffers)
            for name, function in measures.items():
                found[name] = float(function(outputs, some)) * len(some)

        tasks = [partial(measure, k, found) for k, found in zip(starts, parts, strict=True)]
        self._each(tasks, self._evaluates_at_random)
        return {name: sum(found[name] for found in parts) / len(targets) for name in measures}

    def _clipped(self, gradients: Tensor) -> Tensor:
        if self.clip_norm is None:
            return gradients
        lengths = torch.linalg.vector_norm(gradients, dim=1, keepdim=True)
        clipped: Tensor = gradients * (self.clip_norm / lengths.clamp(min=self.clip_norm))
        return clipped

    def _decayed(self, gradients: Tensor, x: Tensor) -> Tensor:
        return gradients.add_(x, alpha=self.weight_decay) if self.weight_decay else gradients

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

    def _each(self, tasks: Sequence[Task], draws: bool) -> None:
        if not draws:
            self._pool.run(tasks)
            return
        with self._generators_kept():  # torch has one generator for all threads
            self._pool.run_in_order(tasks)

    def _draw_random_numbers(self) -> tuple[bool, bool]:
        """Whether a training pass does (dropout), and an evaluation.

        Found by making one of each, which also shows that model and data fit.
        """
        with self._generators_kept(), one_intraop_thread():
            try:
                inputs, targets = self._inputs(np.resize(self.parts[0], self.batch))
                x, start = self.flat.vector(self.module, self.dtype), self._generators()
                self._one(inputs, targets, x, torch.empty_like(x), None)
                trained = self._generators()
                self._one.outputs(inputs, x, None)
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                about = f"samples of shape {list(self.train_x.shape[1:])}, batch {self.batch}"
                raise UserError(f"the model cannot be trained on this data ({about}): {error}") from error
            return not torch.equal(start, trained), not torch.equal(trained, self._generators())

    def _generators(self) -> Tensor:
        """State of torch's global generators."""
        return torch.cat([torch.get_rng_state(), *(torch.cuda.get_rng_state(each) for each in self._cuda)])

    def _generators_kept(self) -> AbstractContextManager[None]:
        return torch.random.fork_rng(devices=self._cuda)

    @property
    def _cuda(self) -> list[torch.device]:
        return [self.device] if self.device.type == "cuda" else []

    def _inputs(self, chosen: Any) -> tuple[Tensor, Tensor]:
        index = torch.as_tensor(chosen, device=self.device)
        return self._scaled(self.train_x.index_select(0, index)), self.train_y.index_select(0, index)

    def _scaled(self, x: Tensor) -> Tensor:
        return x.to(self.dtype).div_(255) if x.dtype == torch.uint8 else x.to(self.dtype)

    def _samples(self, array: Any) -> Tensor:
        return _tensor(array).to(self.device)

    def _targets(self, array: Any) -> Tensor:
        tensor = _tensor(array)
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else torch.int64)

    def _built(self, seed: int) -> nn.Module:
        with self._generators_kept():
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
        if not len(test[1]):
            raise UserError("the test set is empty; let test_x and test_y be None where there is none")
        if not train:
            return {"": test}
        if train is True:
            return {"": test, "train_": whole}
        chosen = np.sort(order(0, "train sample", n=len(self.train_y))[:train])
        sample = torch.as_tensor(chosen, device=self.device)
        return {"": test, "train_": (self.train_x[sample], self.train_y[sample])}


def _tensor(array: Any) -> Tensor:
    """Shares memory where it can; torch takes neither read-only arrays nor those that run backwards."""
    return array if isinstance(array, Tensor) else torch.as_tensor(np.require(array, requirements=["C", "W"]))


def _draw_seed(seed: int, *path: int | str) -> int:
    return int(stream(seed, "torch", *path).bit_generator.random_raw()) >> 1
