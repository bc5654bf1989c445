"""Runs on all cores, shown while they go on; Ctrl-C lets them write their checkpoints."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hiermo.experiment.sweep.sweep import Sweep


def shown(begin: "Callable[[Callable[[], bool]], Iterator[Sweep]]") -> "Sweep":
    """How it ended; `begin` is given a question that says when to stop, and yields the estimate first of all."""
    from rich.console import Console
    from rich.live import Live

    from hiermo.cli.interrupt import stop_on_signal
    from hiermo.cli.loading import loading
    from hiermo.cli.sweep_display import display
    from hiermo.experiment.interrupted import Interrupted

    console = Console(stderr=True)
    with stop_on_signal() as stop:
        states = begin(stop)
        with loading("loading torch and the data, and trying each kind of run for a moment"):
            now = next(states)
        console.print(_begins(now), highlight=False)
        told = set(now.failed)
        try:
            with Live(display(now), console=console, transient=True, refresh_per_second=4) as live:
                for now in states:
                    for path in now.failed.keys() - told:
                        live.console.print(f"failed: {path}: {now.failed[path]}", markup=False, soft_wrap=True)
                    told |= now.failed.keys()
                    live.update(display(now))
        except Interrupted:
            done = len(now.finished) + len(now.failed)
            typer.echo(f"interrupted after {done} of {now.total} runs; the same command goes on from there", err=True)
            raise typer.Exit(130) from None
    return now


def _begins(now: "Sweep") -> str:
    from hiermo.core.units import duration

    before = len(now.finished) + len(now.failed)
    todo = now.total - before
    if not todo:
        return f"all {now.total} runs were made before"
    how = f"{now.batched} of them in batches" if now.batched else "each by itself"
    made = f", {before} made before" if before else ""
    processes = f"{now.processes} process{'es' if now.processes > 1 else ''}"
    runs = "1 run" if todo == 1 else f"{todo} runs"
    return f"{runs} to make{made}; {how}; about {duration(now.estimate_s)} on {processes}"
