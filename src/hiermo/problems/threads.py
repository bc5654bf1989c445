"""Many workers side by side, each on one intra-op thread.

A sum over threads depends on their number; one thread per worker makes a gradient's bits independent of it, and is no
slower. Torch's own threads must sleep meanwhile: they spin while they wait, on the cores that the workers need.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
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

    def run(self, tasks: Sequence[Task], *, in_turns: bool = False) -> None:
        """`in_turns`: tasks in pieces advance side by side, so that all end together also where a core is slow."""
        if len(tasks) == 1 or self.threads == 1 or getattr(_thread, "pooled", False):
            self.run_in_order(tasks)
            return
        waiting: deque[Task | Iterator[None]] = deque(tasks)

        def serve() -> None:
            try:
                while waiting:
                    _go_on(waiting, in_turns)
            except BaseException:
                waiting.clear()
                raise

        with one_intraop_thread():  # what it sets last is also what later threads of others start with
            served = [self._executor.submit(serve) for _ in range(min(self.threads, len(tasks)))]
            wait(served)
            for each in served:
                each.result()

    def run_in_order(self, tasks: Sequence[Task]) -> None:
        with one_intraop_thread():
            in_order(tasks)

    @cached_property
    def _executor(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, "hiermo", _begin)


def _begin() -> None:
    torch.set_num_threads(1)
    _thread.pooled = True


def _go_on(waiting: "deque[Task | Iterator[None]]", in_turns: bool) -> None:
    """One task, or one piece of it."""
    try:
        task = waiting.popleft()
    except IndexError:
        return  # another thread was faster
    pieces = task() if callable(task) else task
    if not isinstance(pieces, Iterator):
        return
    for _ in pieces:
        if in_turns:
            waiting.append(pieces)
            return
