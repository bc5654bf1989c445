"""What an engine asks of a problem. A model is one flat vector; workers are numbered from 0."""

from typing import Any, Protocol

from hiermo.core.plan import Nodes


class Problem(Protocol):
    """Losses of n workers over one flat model `[d]`."""

    @property
    def sizes(self) -> Any:
        """Data per worker, whole numbers: the weights of every average."""
        ...

    def initial(self, seed: int) -> Any:
        """The common starting model `[d]`, a function of the seed."""
        ...

    def initial_buffers(self) -> Any:
        """Running statistics of the model (BatchNorm) as one vector `[b]`, or None where it has none."""
        ...

    def grad(self, seed: int, t: int, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        """Gradients `[m, d]` of `workers` at `x` `[m, d]` on their batches of iteration t.

        Where the model has statistics, `buffers` `[m, b]` is updated in place; without it they are left alone.
        """
        ...

    def full_grad(self, workers: Nodes, x: Any, buffers: Any = None) -> Any:
        """Gradients `[m, d]` over all the data of each worker."""
        ...

    def evaluate(self, x: Any, buffers: Any = None) -> dict[str, float]:
        """Metrics of one model `[d]`, `loss` among them."""
        ...
