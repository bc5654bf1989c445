"""A process that trains runs of a sweep, as it is told on standard input, and tells how they go on standard output.

One JSON object per line, both ways. It lives as long as there is work, so that torch and the data are loaded once. When
nobody is left to tell it anything, it stops as on request: after a checkpoint.

    {"do": "sort", "run": PATH}            answered by {"batched": true, "bytes": 12345}
    {"do": "look", "runs": [PATH, ...]}    by {"seconds": 12.3}
    {"do": "train", "runs": [PATH, ...], "log": [NAME, ...], "threads": 1}
        by {"run": PATH, "t": 20, "accuracy": 0.9}, and in the end of each {"run": PATH, "ended": "finished"} or
        {"run": PATH, "ended": "failed", "error": "..."}; when all are through, {"idle": "done"} or {"idle": "stopped"}
    {"do": "stop"}
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
import json
import os
from pathlib import Path
from queue import SimpleQueue
import signal
import sys
from threading import Event, Thread
from time import perf_counter, sleep
import traceback
from typing import IO, Any

import torch

from hiermo.core.errors import Diverged, HiermoError
from hiermo.core.problem import computing
from hiermo.data.dataset import Dataset
from hiermo.engine.run_many import run_many
from hiermo.experiment.assemble import dimension, problem_of
from hiermo.experiment.holdings import load_data
from hiermo.experiment.memory import needed_bytes
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.run_directory import Occupied, RunDirectory
from hiermo.experiment.sweep.jobs import problem_of_run
from hiermo.experiment.timing import is_ordered_by_time
from hiermo.experiment.trackers.tracking import tracking
from hiermo.experiment.train import Interrupted, train, train_many
from hiermo.experiment.training import Progress
from hiermo.problems.supervised import Supervised

LOOK_S = 0.7  # of measuring, per job
WAIT_S = 60.0  # for a process that is about to leave a run directory, after a kill of its sweep
KEPT = 8  # problems
TELL_S = 0.2  # between two lines of progress of a run

Job = tuple[RunDirectory, Recipe, Supervised]


class Worker:
    """Does what it is told, one thing after the other."""

    def __init__(self, told: IO[str], tell: IO[str]) -> None:
        self._tell, self._stop = tell, Event()
        self._todo: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._problems: dict[str, Supervised] = {}
        self._data: tuple[str, Dataset] | None = None  # of the last problem: in memory once for all seeds
        Thread(target=self._listen, args=(told,), daemon=True).start()

    def _listen(self, told: IO[str]) -> None:
        for line in told:
            order = json.loads(line)
            if order["do"] == "stop":
                self._stop.set()
            else:
                self._todo.put(order)
        self._stop.set()
        self._todo.put(None)

    def serve(self) -> None:
        while (order := self._todo.get()) is not None:
            if order["do"] == "sort":
                self.say(**self._sorted(Path(order["run"])))
            elif order["do"] == "look":
                self.say(seconds=self._look([Path(path) for path in order["runs"]]))
            else:
                self._share(order["threads"])
                self._train([Path(path) for path in order["runs"]], order["log"])
                self.say(idle="stopped" if self._stop.is_set() else "done")

    def say(self, **facts: Any) -> None:
        try:
            self._tell.write(json.dumps(facts) + "\n")
            self._tell.flush()
        except BrokenPipeError:  # nobody listens any more, which is no fault of the run
            self._stop.set()

    def _share(self, threads: int) -> None:
        """How many threads this process has; it changes no bit."""
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
            self._problems.clear()  # they were made for others

    # --- before the work

    def _sorted(self, path: Path) -> dict[str, Any]:
        """Whether runs of its kind are computed as one, and how much memory a run takes."""
        try:
            recipe = RunDirectory(path).recipe()
            (part,) = recipe.algorithms
            dataset = self._dataset(recipe)
            need = needed_bytes(recipe, dimension(recipe, dataset), dataset)
            kind = self._problem(recipe).kind
            # where time decides the order of events, a run has no rounds in common with others
            return {"batched": kind is not None and not is_ordered_by_time(recipe, part), "bytes": need}
        except HiermoError:  # it will be told when the run is tried
            return {"batched": False, "bytes": 0}

    def _look(self, paths: Sequence[Path]) -> float:
        """Seconds that these runs will take, from some of their iterations and one evaluation."""
        try:
            jobs = [self._job(path) for path in paths]
        except HiermoError:
            return 0.0
        tau = jobs[0][1].placed(jobs[0][1].algorithms[0])[1][0]
        state, marks = None, list[float]()
        try:
            for count, (_, state) in enumerate(run_many([_arguments(*job) for job in jobs]), start=1):  # noqa: B007 - the last one is judged
                if count % len(jobs) == 0:  # all have made their steps; the first ones warm up
                    marks.append(perf_counter())
                    if marks[-1] - marks[0] > LOOK_S:
                        break
        except Diverged:
            pass
        if state is None:
            return 0.0
        begun = perf_counter()
        with computing(jobs[0][2]):
            jobs[0][2].evaluate(state.model, state.model_buffers)
        judging = perf_counter() - begun
        rounds = max(1, len(marks) - 1)
        per_step = (marks[-1] - marks[0]) / (rounds * tau * len(jobs)) if marks else 0.0
        return sum(_length(recipe, per_step, judging) for _, recipe, _ in jobs)

    # --- the work

    def _train(self, paths: Sequence[Path], log: Sequence[str]) -> None:
        jobs = []
        for path in paths:
            with self._caught(path):
                _wait(RunDirectory(path))
                jobs.append(self._job(path))
        if len(jobs) == 1:
            self._alone(jobs[0], log)
        elif jobs:
            self._together(jobs, log)

    def _alone(self, job: Job, log: Sequence[str]) -> None:
        directory, recipe, problem = job
        last = 0.0
        with self._caught(directory.path), tracking(log, directory, recipe) as tracks:
            for progress in train(directory, recipe, problem, self._stop.is_set):
                tracks.show(progress)
                last = self._show(directory.path, progress, last)
            self.say(run=str(directory.path), ended="finished")

    def _together(self, jobs: Sequence[Job], log: Sequence[str]) -> None:
        last = [0.0] * len(jobs)
        try:
            with ExitStack() as inside:
                tracks = [inside.enter_context(tracking(log, *job[:2])) for job in jobs]
                for k, found in train_many(jobs, self._stop.is_set):
                    path = jobs[k][0].path
                    if isinstance(found, Progress):
                        tracks[k].show(found)
                        last[k] = self._show(path, found, last[k])
                    else:
                        how = {"ended": "finished"} if found is None else {"ended": "failed", "error": str(found)}
                        self.say(run=str(path), **how)
        except Interrupted:
            return
        except Exception as error:  # whose it is cannot be told: each is tried alone
            traceback.print_exc()
            sys.stderr.write(f"{len(jobs)} runs together: {error}; trying each alone\n")
            for job in jobs:
                if job[0].result() is None and job[0].failure() is None:
                    self._alone(job, log)

    def _show(self, path: Path, progress: Progress, last: float) -> float:
        if perf_counter() - last < TELL_S:
            return last
        self.say(run=str(path), t=progress.t, accuracy=progress.metrics.get("accuracy"))
        return perf_counter()

    @contextmanager
    def _caught(self, path: Path) -> Iterator[None]:
        """What breaks a run is written down in it, and the others go on."""
        try:
            yield
        except Interrupted:
            return
        except Exception as error:
            why = str(error) if isinstance(error, (HiermoError, OSError)) else f"{type(error).__name__}: {error}"
            if not isinstance(error, HiermoError):
                traceback.print_exc()
            if not isinstance(error, (Occupied, Diverged)):  # one is not ours, the other has said so itself
                RunDirectory(path).fail(why)
            self.say(run=str(path), ended="failed", error=why)

    # --- what runs need

    def _job(self, path: Path) -> Job:
        directory = RunDirectory(path)
        recipe = directory.recipe()
        return directory, recipe, self._problem(recipe)

    def _problem(self, recipe: Recipe) -> Supervised:
        """Made where it is new; some are kept."""
        key = problem_of_run(recipe)
        if key not in self._problems:
            if len(self._problems) >= KEPT:
                self._problems.pop(next(iter(self._problems)))
            self._problems[key] = problem_of(recipe, self._dataset(recipe))
        return self._problems[key]

    def _dataset(self, recipe: Recipe) -> Dataset:
        key = json.dumps([recipe.source.name, recipe.source.values()], default=str)
        if self._data is None or self._data[0] != key:
            self._data = key, load_data(recipe)
        return self._data[1]


def _arguments(directory: RunDirectory, recipe: Recipe, problem: Supervised) -> dict[str, Any]:
    """From the beginning, whatever is in the directory: speed is what is looked at."""
    (part,) = recipe.algorithms
    tree, periods = recipe.placed(part)
    common = {"algorithm": part.made, "tree": tree, "problem": problem, "periods": periods, "every": "edge"}
    return {**common, "iterations": recipe.train.iterations, "seed": recipe.train.seed, "engine": recipe.engine.name}


def _length(recipe: Recipe, per_step: float, judging: float) -> float:
    (part,) = recipe.algorithms
    rounds = recipe.train.iterations
    for period in recipe.placed(part)[1]:
        rounds //= period
    return recipe.train.iterations * per_step + -(-rounds // recipe.evaluate.every) * judging


def _wait(directory: RunDirectory) -> None:
    """Until a process of a sweep that was killed has written its checkpoint."""
    for _ in range(int(WAIT_S)):
        try:
            with directory.locked():
                return
        except Occupied:
            sleep(1)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that tells this one what to do
    tell = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what anyone prints goes to standard error
    Worker(sys.stdin, tell).serve()
    os._exit(0)  # what is left in `tell` has no reader, and would be an error at the end


if __name__ == "__main__":
    main()
