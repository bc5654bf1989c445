"""What an engine asks of a problem. A model is one flat vector; workers are numbered from 0."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

from hiermo.core.plan import Nodes

Task = Callable[[], object]  # one that returns an iterator is done when that has ended
Together = Callable[[Sequence[Task]], None]  # runs tasks that do not depend on each other


class Problem(Protocol):
    """Losses of n workers over one flat model `[d]`."""

    @property
    def sizes(self) -> Any:
        """Data per worker, whole numbers: the weights of every average."""
        ...

    def initial(self, seed: int) -> Any:
        """The common starting model `[d]`, a function of the seed."""
        ...

    def grad(self, seed: int, t: int, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        """Gradients `[m, d]` of `workers` at `x` `[m, d]` on their batches of iteration t.

        Where the model has statistics, `buffers` `[m, b]` is updated in place; without it they are left alone.
        """
        ...

    def full_grad(self, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        """Gradients `[m, d]` over all the data of each worker."""
        ...

    def evaluate(self, x: Any, buffers: Any = None) -> dict[str, Any]:
        """Metrics of one model `[d]`, `loss` among them: numbers, or lists with one for each worker and the like."""
        ...


class ModelSize(NamedTuple):
    """What a message with a model weighs, and what a gradient over all data takes."""

    parameters: int
    item_bytes: int = 4
    statistics: int = 0  # running statistics, which travel with a model
    batches: Any = 1.0  # the data of each worker, in batches
    flops: float = 0.0  # floating-point operations of a gradient of one batch; 0 where nobody counted


def model_size(problem: Problem, seed: int) -> ModelSize:
    """Of the model that a problem starts from."""
    x, statistics = problem.initial(seed), initial_buffers(problem, seed)
    size = x.element_size() if hasattr(x, "element_size") else x.dtype.itemsize
    return ModelSize(
        int(x.shape[0]),
        int(size),
        0 if statistics is None else len(statistics),
        [size / getattr(problem, "batch", size) for size in problem.sizes],
        float(getattr(problem, "flops", 0.0)),
    )


def computing(problem: Problem) -> AbstractContextManager[Any]:
    """Entered by the engine while it computes: `problem.computing()` where there is one, as for settings of threads."""
    found: AbstractContextManager[Any] = getattr(problem, "computing", nullcontext)()
    return found


def initial_buffers(problem: Problem, seed: int) -> Any:
    """Running statistics of the model (BatchNorm) as one vector `[b]`: `problem.initial_buffers(seed)`, or None."""
    return getattr(problem, "initial_buffers", lambda seed: None)(seed)


def blocks(problem: Problem, n: int) -> list[slice]:
    """How n workers are cut up for independent tasks: as `problem.blocks(n)` says, or not at all."""
    found: list[slice] = getattr(problem, "blocks", lambda n: [slice(0, n)])(n)
    return found


def together(problem: Problem) -> Together:
    """Runs independent tasks: `problem.together(tasks)` where there is one, as for a pool of threads."""
    found: Together = getattr(problem, "together", in_order)
    return found


def foresee(problem: Problem, seed: int, t: int, count: int, workers: Nodes) -> None:
    """Tells the problem that this thread will ask for `count` iterations in a row of `workers`, if it cares to know."""
    getattr(problem, "foresee", lambda *told: None)(seed, t, count, workers)


def in_order(tasks: Sequence[Task]) -> None:
    for task in tasks:
        pieces = task()
        if isinstance(pieces, Iterator):
            for _ in pieces:
                pass
