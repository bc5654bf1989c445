"""Where the time of a run goes: gradients, data, rules, merges, evaluation.

Merges and evaluation are seconds of the clock. What is between two merges is done by several threads at once; it is
divided in the proportion of the CPU seconds that gradients, data and rules took in them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from time import perf_counter, thread_time
from typing import Any

from hiermo.data.batches import Batches
from hiermo.engine.loop import Loop
from hiermo.engine.stacked import Stacked
from hiermo.problems.supervised import Supervised

PARTS = ("gradients", "data", "rules", "merges", "evaluation")
WATCHED: list[tuple[Any, str, Callable[[], float]]] = [
    (Stacked, "worked_off", thread_time),
    (Supervised, "grad", thread_time),
    (Supervised, "_inputs", thread_time),
    (Batches, "in_a_row", thread_time),
    (Stacked, "in_blocks", perf_counter),
    (Loop, "merge", perf_counter),
    (Supervised, "evaluate", perf_counter),
]


@contextmanager
def watched() -> Iterator[Counter[str]]:
    """Seconds in each of the watched functions, while inside."""
    seconds: Counter[str] = Counter()
    lock = Lock()

    def timed(function: Callable[..., Any], name: str, clock: Callable[[], float]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            begun = clock()
            try:
                return function(*args, **kwargs)
            finally:
                with lock:
                    seconds[name] += clock() - begun

        return call

    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in WATCHED]
    for owner, name, clock in WATCHED:
        setattr(owner, name, timed(getattr(owner, name), name, clock))
    try:
        yield seconds
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def shares(seconds: Counter[str]) -> dict[str, float]:
    """Of the whole, in per cent."""
    # batches are drawn before the first step of a stretch, and their samples fetched inside a gradient
    inside = seconds["_inputs"]
    cpu = {
        "gradients": seconds["grad"] - inside,
        "data": inside + seconds["in_a_row"],
        "rules": seconds["worked_off"] - seconds["grad"],
    }
    parts = {name: seconds["in_blocks"] * value / sum(cpu.values()) for name, value in cpu.items()}
    parts |= {"merges": seconds["merge"], "evaluation": seconds["evaluate"]}
    return {name: 100 * parts[name] / sum(parts.values()) for name in PARTS}
