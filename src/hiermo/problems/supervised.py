"""Supervised learning: a torch model and data that is divided among workers -> gradients and metrics.

A worker's gradient is computed on one intra-op thread, many workers side by side, so that its bits depend neither on
the number of threads nor on which workers are computed together.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import cached_property, partial
from threading import local
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from hiermo.core.errors import UserError
from hiermo.core.plan import Nodes
from hiermo.data.batches import Batches
from hiermo.data.randomness import order, stream
from hiermo.models.flat import Flat

Loss = Callable[[Tensor, Tensor], Tensor]
Metric = Callable[[Tensor, Tensor], Any]


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


def mean_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Over the batch and the outputs; labels are taken as one-hot."""
    if not targets.is_floating_point():
        targets = functional.one_hot(targets, outputs.shape[-1]).to(outputs.dtype)
    return functional.mse_loss(outputs, targets)


def accuracy(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs.argmax(-1) == targets).double().mean()


LOSSES: dict[str, Loss] = {"cross_entropy": functional.cross_entropy, "mse": mean_squared_error}

# layers whose gradients of many workers may be computed as one batched operation: no state, no randomness
BATCHABLE = (nn.Sequential, nn.Flatten, nn.Identity, nn.Linear, nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU)
BATCHABLE_SIZE = 200_000  # parameters; above it a worker's own arithmetic fills a core
BLOCK = 16  # workers in one batched operation; their vectors stay in cache


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
        loss: str | Loss = "cross_entropy",
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
        self.loss = LOSSES[loss] if isinstance(loss, str) else loss
        self.data, self.batch, self.evaluate_batch = data, batch, evaluate_batch
        self.device, self.dtype = torch.device(device), getattr(torch, dtype)
        self.threads = threads or torch.get_num_threads()
        self.train_x, self.train_y = self._tensor(data.train_x), self._tensor(data.train_y)
        self.parts = [np.asarray(part, np.int64) for part in data.parts]
        self.sizes = np.array([len(part) for part in self.parts])
        if not len(self.parts) or not self.sizes.all():
            raise UserError(f"worker {int(np.argmin(self.sizes)) if len(self.parts) else 0} has no data")
        self._make = model if not isinstance(model, nn.Module) else None
        module = deepcopy(model) if isinstance(model, nn.Module) else self._built(0)
        self.module = module.to(self.device, self.dtype).train()
        self._judge = deepcopy(self.module).eval()  # evaluation never touches what trains
        self._here = local()
        self.flat = Flat(self.module)
        self.metrics: dict[str, Metric] = {} if self.train_y.is_floating_point() else {"accuracy": accuracy}
        self.metrics |= metrics or {}
        self.evaluated = self._evaluated(evaluate_train)
        self._batches: dict[int, Batches] = {}

    @property
    def dimension(self) -> int:
        """Number of trainable parameters, d."""
        return self.flat.parameters.size

    @property
    def metric_names(self) -> list[str]:
        """What `evaluate` will return."""
        return [prefix + name for prefix in self.evaluated for name in ("loss", *self.metrics)]

    def initial(self, seed: int) -> Tensor:
        module = self.module if self._make is None else self._built(seed)
        return self.flat.vector(module, self.dtype).to(self.device)

    def initial_buffers(self) -> Tensor | None:
        if not self.flat.buffers.size:
            return None
        return self.flat.statistics(self.module, self.dtype).to(self.device)

    def grad(self, seed: int, t: int, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        chosen = self._batches_of(seed).indices(workers, t)
        result = torch.empty_like(x)
        if self.batched and buffers is None:
            tasks = [
                partial(self._block, chosen[k : k + BLOCK], x[k : k + BLOCK], result[k : k + BLOCK])
                for k in range(0, len(chosen), BLOCK)
            ]
        else:
            draws = [_draw_seed(seed, int(i), t) for i in workers] if self.stochastic else [None] * len(chosen)
            tasks = [
                partial(self._worker, chosen[j], x[j], result[j], None if buffers is None else buffers[j], draws[j])
                for j in range(len(chosen))
            ]
        self._do(tasks)
        return result

    def full_grad(self, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        result = torch.zeros_like(x)

        def whole(j: int, worker: int) -> None:
            part, piece = self.parts[worker], torch.empty_like(x[j])
            for k in range(0, len(part), self.evaluate_batch):
                some = part[k : k + self.evaluate_batch]
                self._worker(some, x[j], piece, None, _draw_seed(0, worker, k) if self.stochastic else None)
                result[j] += piece * (len(some) / len(part))

        self._do([partial(whole, j, int(i)) for j, i in enumerate(workers)])
        return result

    @torch.no_grad()
    def evaluate(self, x: Tensor, buffers: Tensor | None = None) -> dict[str, float]:
        values = self.flat.parameters.views(x) | ({} if buffers is None else self._own_buffers(buffers))
        found: dict[str, float] = {}
        for prefix, (inputs, targets) in self.evaluated.items():
            found |= {prefix + name: value for name, value in self._averages(values, inputs, targets).items()}
        return found

    @cached_property
    def batched(self) -> bool:
        """Whether workers are computed in batched operations: a fixed rule, so that bits never depend on timing."""
        small = self.dimension <= BATCHABLE_SIZE and not self.flat.buffers.size
        return small and all(type(module) in BATCHABLE for module in self.module.modules())

    @cached_property
    def stochastic(self) -> bool:
        """Whether a training pass draws random numbers (dropout): found by making one."""
        state = torch.get_rng_state()
        try:
            self._worker(self.parts[0][:2], self.flat.vector(self.module, self.dtype).to(self.device), None, None, None)
            return not torch.equal(torch.get_rng_state(), state)
        finally:
            torch.set_rng_state(state)

    def _do(self, tasks: Sequence[Callable[[], None]]) -> None:
        if self.stochastic:  # torch has one generator for all threads
            with torch.random.fork_rng(devices=[]):
                list(map(_call, tasks))
        else:
            list(self._pool.map(_call, tasks))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, "hiermo-gradients", partial(torch.set_num_threads, 1))

    def _block(self, chosen: Any, x: Tensor, result: Tensor) -> None:
        """Gradients of several workers as one batched computation."""
        inputs, targets = self._inputs(chosen.reshape(-1))
        shape = chosen.shape
        inputs, targets = inputs.view(*shape, *inputs.shape[1:]), targets.view(*shape, *targets.shape[1:])
        found = self._batched_gradient(self.flat.parameters.views(x), inputs, targets)
        for name, view in self.flat.parameters.views(result).items():
            view.copy_(found[name])

    @cached_property
    def _batched_gradient(self) -> Callable[..., dict[str, Tensor]]:
        def loss(values: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
            return self.loss(functional_call(self._own_module, values, (inputs,)), targets)

        return vmap(grad(loss))

    def _worker(self, chosen: Any, x: Tensor, result: Tensor | None, buffers: Tensor | None, draw: int | None) -> None:
        """The gradient of one worker; its statistics move in place where they are given."""
        if draw is not None:
            torch.manual_seed(draw)
        inputs, targets = self._inputs(chosen)
        values = {name: view.detach().requires_grad_() for name, view in self.flat.parameters.views(x).items()}
        statistics = self._own_buffers(buffers)
        outputs = functional_call(self._own_module, values | statistics, (inputs,))
        found = torch.autograd.grad(self.loss(outputs, targets), list(values.values()), materialize_grads=True)
        if result is not None:
            torch.cat([piece.reshape(-1) for piece in found], out=result)
        if buffers is not None:
            for name, view in self.flat.buffers.views(buffers).items():
                view.copy_(statistics[name])

    @property
    def _own_module(self) -> nn.Module:
        """A copy per thread: a functional call swaps the weights inside the module."""
        if not hasattr(self._here, "module"):
            self._here.module = deepcopy(self.module)
        return self._here.module  # type: ignore[no-any-return]

    def _own_buffers(self, buffers: Tensor | None) -> dict[str, Tensor]:
        """Copies, in the types of the module, for one pass to write into."""
        own = dict(self.module.named_buffers())
        if buffers is None:
            return {name: tensor.clone() for name, tensor in own.items()}
        return {name: view.to(own[name].dtype, copy=True) for name, view in self.flat.buffers.views(buffers).items()}

    def _inputs(self, chosen: Any) -> tuple[Tensor, Tensor]:
        index = torch.as_tensor(chosen, device=self.device)
        return self._scaled(self.train_x.index_select(0, index)), self.train_y.index_select(0, index)

    def _scaled(self, x: Tensor) -> Tensor:
        return x.to(self.dtype).div_(255) if x.dtype == torch.uint8 else x.to(self.dtype)

    def _tensor(self, array: Any) -> Tensor:
        tensor = torch.as_tensor(array)
        if tensor.dtype in (torch.int8, torch.int16, torch.int32):
            tensor = tensor.long()
        return tensor.to(self.device)

    def _built(self, seed: int) -> nn.Module:
        assert self._make is not None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_draw_seed(seed, "initial model"))
            module = self._make()
        return module.to(self.dtype)

    def _batches_of(self, seed: int) -> Batches:
        if seed not in self._batches:
            self._batches = {seed: Batches(self.parts, self.batch, seed)}  # one run at a time: keep the last
        return self._batches[seed]

    def _evaluated(self, train: bool | int) -> dict[str, tuple[Tensor, Tensor]]:
        """Prefix of the metrics -> what they are measured on; the training set where there is no test set."""
        whole = (self.train_x, self.train_y)
        test = whole if self.data.test_x is None else (self._tensor(self.data.test_x), self._tensor(self.data.test_y))
        if train is False or train == 0:
            return {"": test}
        n = len(self.train_y) if train is True else min(int(train), len(self.train_y))
        sample = torch.as_tensor(np.sort(order(0, "train sample", n=len(self.train_y))[:n]), device=self.device)
        return {"": test, "train_": whole if train is True else (self.train_x[sample], self.train_y[sample])}

    def _averages(self, values: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> dict[str, float]:
        measures: dict[str, Metric] = {"loss": self.loss} | self.metrics
        sums = dict.fromkeys(measures, 0.0)
        for k in range(0, len(targets), self.evaluate_batch):
            some = targets[k : k + self.evaluate_batch]
            outputs = functional_call(self._judge, values, (self._scaled(inputs[k : k + self.evaluate_batch]),))
            for name, measure in measures.items():
                sums[name] += float(measure(outputs, some)) * len(some)
        return {name: total / len(targets) for name, total in sums.items()}


def _call(task: Callable[[], None]) -> None:
    task()


def _draw_seed(seed: int, *path: int | str) -> int:
    return int(stream(seed, "torch", *path).bit_generator.random_raw() >> 1)
