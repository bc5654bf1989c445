"""Many workers side by side, each on one intra-op thread.

A sum over threads depends on their number; one thread per worker makes a gradient's bits independent of it, and is no
slower. Torch's own threads must sleep meanwhile: they spin while they wait, on the cores that the workers need.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from threading import local

import torch

from hiermo.core.problem import Task, in_order

_thread = local()


@contextmanager
def one_intraop_thread() -> Iterator[None]:
    """What torch computes here, in this thread, it computes on one thread; may be nested."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Pool:
    """Runs independent tasks on `threads` threads; a task that has tasks itself does them in order."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def run(self, tasks: Sequence[Task]) -> None:
        if len(tasks) == 1 or self.threads == 1 or getattr(_thread, "pooled", False):
            self.run_in_order(tasks)
        else:
            with one_intraop_thread():  # what it sets last is also what later threads of others start with
                list(self._executor.map(_call, tasks))

    def run_in_order(self, tasks: Sequence[Task]) -> None:
        with one_intraop_thread():
            in_order(tasks)

    @cached_property
    def _executor(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, "hiermo", _begin)


def _begin() -> None:
    torch.set_num_threads(1)
    _thread.pooled = True


def _call(task: Task) -> None:
    task()
