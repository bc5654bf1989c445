"""Supervised learning: a torch model and data that is divided among workers -> gradients and metrics."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from functools import cached_property, partial
from typing import Any, Protocol, get_args

import numpy as np
import torch
from torch import Tensor, nn

from hiermo.core.errors import UserError
from hiermo.core.plan import Nodes
from hiermo.core.problem import Task
from hiermo.data.randomness import stream
from hiermo.models.flat import Flat
from hiermo.problems.allocator import keep_freed_memory
from hiermo.problems.batched import Block
from hiermo.problems.choice import Gradients, chosen_gradients
from hiermo.problems.evaluation import Fairness, Judge, Metric, Samples
from hiermo.problems.flops import gradient_flops
from hiermo.problems.foreseen import Foreseen
from hiermo.problems.inputs import Draws, Inputs
from hiermo.problems.losses import LOSSES, Mean
from hiermo.problems.pooled import Convolutions, OneWorker
from hiermo.problems.threads import Pool, one_intraop_thread

BLOCK = 64  # workers of one task at most: more per call of compiled code, less waiting for Python's lock
JUDGED = 100  # samples of one evaluation of a large model, on one thread: more of them would leave the cache
SMALL = 50_000  # parameters below which a second thread costs more than it brings: one of them speaks Python at a time


class Divided(Protocol):
    """Data divided among workers: what `Supervised` asks of it. Arrays are numpy's or torch's.

    `x` is uint8, which means pixels and is divided by 255 in the batch, or floating point; `parts[i]` holds the indices
    of worker i's samples in the training set. `test_x` and `test_y` may be None. Where there are `classes` (how many),
    `class_names` and `test_parts` (as `parts`, of the test set), they are used too.
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
    most `clip_norm`: both are inside what an algorithm sees. `normalise`, `crop` and `flip` are as in `Inputs`.

    `evaluate_test` judges on a fixed sample of so many of the test set, `evaluate_train` adds `train_loss`, ... on the
    training set (True) or on such a sample of it. `per` adds `accuracy_per_class`, `accuracy_worst_worker` and the like
    for some of "class", "worker" and "edge" (`edges`: the workers of each).

    `gradients` are computed "batched", several workers as one, or "pooled", one worker per thread; "auto" chooses by
    the model alone. `convolutions` of 3 x 3 and 5 x 5 are "fast", with fewer multiplications, or "direct", as torch has
    them, which rounds otherwise. `threads` is how many tasks run side by side; it changes no result.
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
        normalise: bool = False,
        crop: int = 0,
        flip: bool = False,
        evaluate_test: int | None = None,
        evaluate_train: bool | int = False,
        evaluate_batch: int = 1000,
        per: Sequence[str] = (),
        edges: Sequence[Sequence[int]] | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        gradients: Gradients = "auto",
        convolutions: Convolutions = "fast",
        threads: int | None = None,
    ) -> None:
        if isinstance(loss, str) and loss not in LOSSES:
            raise UserError(f"loss must be a function or one of {', '.join(map(repr, LOSSES))}, not {loss!r}")
        self.device, self.dtype = torch.device(device), getattr(torch, dtype)
        self.batch, self.evaluate_batch = batch, evaluate_batch
        self.weight_decay, self.clip_norm = weight_decay, clip_norm
        self.train_x, self.train_y = self._samples(data.train_x), self._targets(data.train_y)
        with one_intraop_thread():  # a sum over threads depends on their number
            self.inputs = Inputs(self.train_x, self.dtype, normalise=normalise, crop=crop, flip=flip)
        self.classes: int | None = getattr(data, "classes", None)
        self.class_names: tuple[str, ...] = getattr(getattr(data, "dataset", data), "class_names", ())
        self.parts = [np.asarray(part, np.int64) for part in data.parts]
        self.sizes = np.array([len(part) for part in self.parts])
        if not len(self.parts) or not self.sizes.all():
            raise UserError(f"worker {int(np.argmin(self.sizes)) if len(self.parts) else 0} has no data")
        for worker, part in enumerate(self.parts):
            if part.min() < 0 or part.max() >= len(self.train_x):
                about = f"from {part.min()} to {part.max()}, and there are {len(self.train_x)}"
                raise UserError(f"worker {worker} has samples with numbers {about}")
        self._make = partial(deepcopy, model) if isinstance(model, nn.Module) else model
        self.module = self._built(0)
        self.flat = Flat(self.module)
        if not self.flat.parameters.size:
            raise UserError("the model has no parameters to train")
        self._loss: Mean = loss if callable(loss) else lambda outputs, targets: LOSSES[loss](outputs, targets).mean()
        if convolutions not in get_args(Convolutions):
            raise UserError(f"convolutions must be 'fast' or 'direct', not {convolutions!r}")
        self._one = OneWorker(self.module, self.flat, self._loss, convolutions)
        self.gradients, self.gradients_why = chosen_gradients(
            gradients, self.module, loss, self.shape, batch, labels=not self.train_y.is_floating_point()
        )
        self._block: Block | None = None
        if self.gradients == "batched" and isinstance(loss, str):
            self._block = Block(self.module, self.flat, loss)
            self._check_labels(self._block.outputs)
        if self.device.type == "cpu":
            keep_freed_memory()
        self._pool = Pool(threads or torch.get_num_threads())
        self.metrics: dict[str, Metric] = {} if self.train_y.is_floating_point() else {"accuracy": accuracy}
        self.metrics |= metrics or {}
        if "loss" in self.metrics:
            raise UserError("metrics: 'loss' is evaluated already; give the metric another name")
        self.evaluated = self._evaluated(data, evaluate_test, evaluate_train)
        judged = evaluate_batch if self._block is not None else min(evaluate_batch, JUDGED)
        self._judge = Judge(self._one, self.inputs, self._loss, self.metrics, judged, self._each)
        self._fairness = self._fairness_of(data, per, edges) if per else None
        self._batches = Foreseen(self.parts, batch, self.device)
        self.stochastic, self._judge.at_random = self._draw_random_numbers()
        if self._block is not None:  # so that what is compiled is, before somebody looks at the clock
            some = torch.as_tensor(np.resize(self.parts[0], batch), device=self.device)
            self._several(some, self.flat.vector(self.module, self.dtype).unsqueeze(0), (0, [0], 0))

    @property
    def dimension(self) -> int:
        """Number of trainable parameters, d."""
        return self.flat.parameters.size

    @cached_property
    def flops(self) -> float:
        """Floating-point operations of a gradient of one batch."""
        return gradient_flops(self.module, self.shape, self.batch)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one sample."""
        return tuple(self.train_x.shape[1:])

    @property
    def made_for(self) -> dict[str, Any]:
        """What the model takes, in words and numbers, for those who use it elsewhere."""
        facts = {"shape": list(self.shape), "classes": self.classes, "input": self.inputs.about()}
        return facts | ({"class_names": list(self.class_names)} if self.class_names else {})

    def holdings(self) -> dict[str, Any] | None:
        """Samples of each class that every worker holds; None where targets are not classes."""
        if self.train_y.is_floating_point() or self.train_y.ndim != 1 or self.classes is None:
            return None
        labels = self.train_y.cpu().numpy()
        counts = [np.bincount(labels[part], minlength=self.classes).tolist() for part in self.parts]
        return {"classes": list(self.class_names) or [str(c) for c in range(self.classes)], "counts": counts}

    @property
    def threads(self) -> int:
        return self._pool.threads

    @property
    def metric_names(self) -> list[str]:
        """What `evaluate` will return."""
        own = ["loss", *self.metrics]
        wide = [prefix + name for prefix in self.evaluated for name in own]
        return wide + (self._fairness.names(own) if self._fairness else [])

    def computing(self) -> AbstractContextManager[None]:
        return one_intraop_thread()

    def initial(self, seed: int) -> Tensor:
        return self.flat.vector(self._built(seed), self.dtype)

    def initial_buffers(self, seed: int = 0) -> Tensor | None:
        return self.flat.statistics(self._built(seed), self.dtype) if self.flat.buffers.size else None

    def blocks(self, n: int) -> list[slice]:
        """Workers of one task: those whose layers are computed as one, or one worker; it changes no result."""
        if self.stochastic:
            return [slice(0, n)]
        tasks = n
        if self._block is not None:
            least = max(1, SMALL // self.dimension)
            tasks = min(self.threads, n // least) if n <= self.threads * BLOCK else -(-n // BLOCK)
            tasks = max(1, -(-tasks // self.threads) * self.threads if tasks > 1 else 1)  # so that no thread waits
        each = -(-n // tasks)
        return [slice(k, min(k + each, n)) for k in range(0, n, each)]

    def together(self, tasks: Sequence[Task]) -> None:
        # several workers as one stay in cache until they are done; one large model leaves the cache at every step
        self._pool.run(tasks, in_turns=self._block is None)

    def grad(self, seed: int, t: int, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        chosen = self._batches.chosen(seed, t, workers)
        if self._block is not None:
            nodes, each = np.asarray(workers), self.batch
            if len(nodes) <= BLOCK:  # as between two merges, where blocks are tasks already
                with one_intraop_thread():
                    return self._decayed(self._clipped(self._several(chosen, x, (seed, nodes, t))), x)
            result = torch.empty_like(x)

            def several(some: slice) -> None:
                own = chosen[some.start * each : some.stop * each]
                result[some] = self._several(own, x[some], (seed, nodes[some], t))

            self._pool.run([partial(several, some) for some in self.blocks(len(nodes))])
            return self._decayed(self._clipped(result), x)
        result = torch.empty_like(x)
        rows = [None] * len(x) if buffers is None else buffers
        self._each(
            [
                partial(self._single, own, x[j], result[j], rows[j], (seed, int(i), t))
                for j, (i, own) in enumerate(zip(workers, chosen.view(-1, self.batch), strict=True))
            ],
            self.stochastic,
        )
        return self._decayed(self._clipped(result), x)

    @property
    def kind(self) -> Hashable | None:
        """Problems of one kind can compute their gradients together; None where they cannot."""
        if self._block is None or self.inputs.augments or self.inputs.factor is None:
            return None
        samples = (self.train_x.data_ptr(), self.train_y.data_ptr(), tuple(self.train_x.shape))
        changed = (self.weight_decay, self.clip_norm)
        return (
            samples,
            str(self.module),
            self._block.loss,
            self.batch,
            *changed,
            self.dtype,
            self.device,
            self.threads,
        )

    def grad_together(self, asked: Sequence[tuple["Supervised", int, int, Nodes]], x: Tensor) -> Tensor:
        """`problem.grad(seed, t, workers, x)` of several problems of this kind, with their models in a row."""
        chosen = torch.cat([problem._batches.chosen(seed, t, workers) for problem, seed, t, workers in asked])
        with one_intraop_thread():
            return self._decayed(self._clipped(self._several(chosen, x, (0, (), 0))), x)

    def foresee(self, seed: int, t: int, count: int, workers: Nodes) -> None:
        if self._block is not None and count > 1:
            self._batches.look_ahead(seed, t, count, workers)

    def full_grad(self, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        result = torch.zeros_like(x)

        def whole(j: int, worker: int) -> None:
            part, piece = self.parts[worker], torch.empty_like(x[j])
            # parts of one size, for BatchNorm cannot be trained on one sample that is left over
            for k, some in enumerate(np.array_split(part, -(-len(part) // self.evaluate_batch))):
                self._seeded(0, worker, k)
                self._one(*self._inputs(some), x[j], piece, None)
                result[j] += piece * (len(some) / len(part))

        self._each([partial(whole, j, int(i)) for j, i in enumerate(workers)], self.stochastic)
        return self._decayed(result, x)

    def evaluate(self, x: Tensor, buffers: Tensor | None = None) -> dict[str, Any]:
        x = x.clone()  # bits depend on the place in memory
        found: dict[str, Any] = {
            prefix + name: value
            for prefix, samples in self.evaluated.items()
            for name, value in self._judge(x, buffers, [samples])[0].items()
        }
        return found | (self._fairness.measure(self._judge, x, buffers) if self._fairness else {})

    def _clipped(self, gradients: Tensor) -> Tensor:
        if self.clip_norm is None:
            return gradients
        lengths = torch.linalg.vector_norm(gradients, dim=1, keepdim=True)
        clipped: Tensor = gradients * (self.clip_norm / lengths.clamp(min=self.clip_norm))
        return clipped

    def _decayed(self, gradients: Tensor, x: Tensor) -> Tensor:
        return gradients.add_(x, alpha=self.weight_decay) if self.weight_decay else gradients

    def _several(self, chosen: Tensor, x: Tensor, draw: tuple[int, Any, int]) -> Tensor:
        assert self._block is not None
        if (scale := self.inputs.factor) is not None and not self.inputs.augments:
            return self._block.gradients(x, self.train_x, self.train_y, chosen, scale)
        samples, targets = self.train_x.index_select(0, chosen), self.train_y.index_select(0, chosen)
        if self.inputs.augments:
            samples = self.inputs.augmented(samples, self.inputs.draw(*draw, self.batch))
        seen = self.inputs.scaled(samples).contiguous()
        return self._block.gradients(x, seen, targets, torch.arange(len(seen), device=self.device))

    def _single(
        self, chosen: Any, x: Tensor, result: Tensor, buffers: Tensor | None, draw: tuple[int, int, int]
    ) -> None:
        seed, worker, t = draw
        self._seeded(*draw)
        self._one(*self._inputs(chosen, self._draws(seed, [worker], t)), x, result, buffers)

    def _seeded(self, *draw: int) -> None:
        if self.stochastic:
            torch.manual_seed(draw_seed(*draw))

    def _draws(self, seed: int, workers: Sequence[int], t: int) -> Draws | None:
        """What chance does to the images of a batch."""
        return self.inputs.draw(seed, workers, t, self.batch) if self.inputs.augments else None

    def _each(self, tasks: Sequence[Task], draws: bool) -> None:
        if not draws:
            self._pool.run(tasks)
            return
        with self._generators_kept():  # torch has one generator for all threads
            self._pool.run_in_order(tasks)

    def _check_labels(self, outputs: int) -> None:
        labels = self.train_y
        if not labels.is_floating_point() and not 0 <= int(labels.min()) <= int(labels.max()) < outputs:
            about = f"labels run from {int(labels.min())} to {int(labels.max())}, and the model has {outputs} outputs"
            raise UserError(f"the model cannot be trained on this data: {about}")

    def _draw_random_numbers(self) -> tuple[bool, bool]:
        """Whether a training pass does (dropout), and an evaluation.

        Found by making one of each, which also shows that model and data fit, and whether channels may be last.
        """
        with self._generators_kept(), one_intraop_thread():
            try:
                inputs, targets = self._inputs(np.resize(self.parts[0], self.batch))
                try:
                    return self._drawn(inputs, targets)
                except RuntimeError:
                    self._one.channels_last = False
                    return self._drawn(inputs, targets)
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                about = f"samples of shape {list(self.train_x.shape[1:])}, batch {self.batch}"
                raise UserError(f"the model cannot be trained on this data ({about}): {error}") from error

    def _drawn(self, inputs: Tensor, targets: Tensor) -> tuple[bool, bool]:
        x, start = self.flat.vector(self.module, self.dtype), self._generators()
        self._one(inputs, targets, x, torch.empty_like(x), None)
        trained = self._generators()
        self._one.outputs(inputs, x, None)
        return not torch.equal(start, trained), not torch.equal(trained, self._generators())

    def _generators(self) -> Tensor:
        """State of torch's global generators."""
        return torch.cat([torch.get_rng_state(), *(torch.cuda.get_rng_state(each) for each in self._cuda)])

    def _generators_kept(self) -> AbstractContextManager[None]:
        return torch.random.fork_rng(devices=self._cuda)

    @property
    def _cuda(self) -> list[torch.device]:
        return [self.device] if self.device.type == "cuda" else []

    def _inputs(self, chosen: Any, draws: Draws | None = None) -> tuple[Tensor, Tensor]:
        index = torch.as_tensor(chosen, device=self.device)
        samples, targets = self.train_x.index_select(0, index), self.train_y.index_select(0, index)
        return self.inputs.scaled(samples if draws is None else self.inputs.augmented(samples, draws)), targets

    def _samples(self, array: Any) -> Tensor:
        return _tensor(array).to(self.device)

    def _targets(self, array: Any) -> Tensor:
        tensor = _tensor(array)
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else torch.int64)

    def _built(self, seed: int) -> nn.Module:
        with self._generators_kept():
            torch.manual_seed(draw_seed(seed, "initial model"))
            module = self._make()
        return module.to(self.device, self.dtype)

    def _evaluated(self, data: Divided, some: int | None, train: bool | int) -> dict[str, Samples]:
        """Prefix of the metrics -> what they are measured on; the training set where there is no test set."""
        whole = Samples(self.train_x, self.train_y)
        test = whole if data.test_x is None else Samples(self._samples(data.test_x), self._targets(data.test_y))
        if not len(test):
            raise UserError("the test set is empty; let test_x and test_y be None where there is none")
        judged = {"": test if some is None else test.sample(some, "test sample")}
        if train:
            judged["train_"] = whole if train is True else whole.sample(train, "train sample")
        return judged

    def _fairness_of(self, data: Divided, per: Sequence[str], edges: Sequence[Sequence[int]] | None) -> Fairness:
        test, own = self.evaluated[""], getattr(data, "test_parts", None)
        workers = [
            Samples(self.train_x, self.train_y, part) if own is None else Samples(test.inputs, test.targets, own[i])
            for i, part in enumerate(self.parts)
        ]
        return Fairness(per, test, workers, edges, getattr(data, "classes", 0) or int(test.targets.max()) + 1)


def _tensor(array: Any) -> Tensor:
    """Shares memory where it can; torch takes neither read-only arrays nor those that run backwards."""
    return array if isinstance(array, Tensor) else torch.as_tensor(np.require(array, requirements=["C", "W"]))


def draw_seed(seed: int, *path: int | str) -> int:
    return int(stream(seed, "torch", *path).bit_generator.random_raw()) >> 1
