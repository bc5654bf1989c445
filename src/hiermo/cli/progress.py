"""Live progress: one bar per run, on standard error."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from hiermo.core.units import human
from hiermo.experiment.recipe import Recipe

if TYPE_CHECKING:
    from hiermo.experiment.training import Progress as RunProgress


SHORT = {"loss": "loss", "accuracy": "acc"}


class Bars:
    """The bars of several runs, one below the other."""

    def __init__(self, console: Console) -> None:
        narrow = self._narrow = console.width < 110
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=4 if narrow else 24),
            TextColumn("{task.completed:.0f}/{task.total:.0f}" + ("" if narrow else " iterations")),
            TextColumn("{task.fields[measured]}"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            *([] if narrow else [TextColumn("left")]),
            console=console,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def add(self, recipe: Recipe) -> "Bar":
        (part,) = recipe.algorithms
        task = self._progress.add_task(escape(part.label), total=recipe.train.iterations, measured="starting", rate="")
        return Bar(self._progress, task, recipe, self._narrow)


class Bar:
    """One run's bar: iteration, cloud round, loss, accuracy, simulated seconds, bytes, speed, time left.

    Where there are 80 columns only, the loss gives way to the accuracy.
    """

    def __init__(self, progress: Progress, task: TaskID, recipe: Recipe, narrow: bool) -> None:
        self._progress, self._task, self._narrow = progress, task, narrow
        self._n_workers = recipe.tree.build().n_workers
        self._first: tuple[int, float] | None = None

    def show(self, run: "RunProgress") -> None:
        words = [f"round {run.cloud_round}"]
        known = {short: run.metrics[name] for name, short in SHORT.items() if name in run.metrics}
        if self._narrow and len(known) > 1:
            del known["loss"]
        words += [f"{short} {value:.3f}" for short, value in known.items()]
        words += [f"{run.simulated_s:.3g} sim s", human(run.sent_bytes)]
        first_t, first_s = self._first = self._first or (run.t, run.elapsed_s)
        rate = ""
        if run.elapsed_s > first_s and run.t > first_t:
            rate = f"{(run.t - first_t) * self._n_workers / (run.elapsed_s - first_s):,.0f} "
            rate += "steps/s" if self._narrow else "worker-steps/s"
        self._progress.update(self._task, completed=run.t, measured=" ".join(words), rate=rate)

    def finish(self) -> None:
        """Full, also where the run stopped early."""
        self._progress.update(self._task, total=self._progress.tasks[self._task].completed)
