"""Trains the runs of a sweep on all cores, and goes on where it was stopped; the caller shows how far it is."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from hiermo.experiment.interrupted import Interrupted
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.run_directory import RunDirectory
from hiermo.experiment.sweep.jobs import Job, cores, jobs_of, processes_for, shape_of
from hiermo.experiment.sweep.workers import Message, WorkerProcess, Workers

LOOKS_S = 15.0  # of estimating, at most: kinds of runs that are left are taken to be like the others
TURN_S = 0.25  # at least so often the caller hears how far it is

Runs = Sequence[tuple[RunDirectory, Recipe]]


@dataclass
class Sweep:
    """How far it is."""

    total: int
    processes: int = 1
    jobs: int = 0  # computations: a batch is one
    batched: int = 0  # runs in batches
    estimate_s: float = 0.0  # before it began, of what was to do
    finished: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    running: dict[str, tuple[int, int, float | None]] = field(default_factory=dict)  # iterations, of, accuracy
    left_s: float = 0.0


def sweep(
    runs: Runs,
    *,
    processes: int | None = None,
    log: Sequence[str] = (),
    retry: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Sweep]:
    """Yields how far it is, first of all the estimate; raises Interrupted where it was asked to stop.

    Finished runs are not made again; those that failed are, where asked for.
    """
    now = Sweep(len(runs))
    todo: list[tuple[RunDirectory, Recipe]] = []
    for directory, recipe in runs:
        if directory.result() is not None:
            now.finished.add(str(directory.path))
        elif not retry and (why := directory.failure()) is not None:
            now.failed[str(directory.path)] = why
        else:
            todo.append((directory, recipe))
    if not todo:
        yield now
        return
    with Workers() as workers:
        at_most = processes_for(processes, len(todo), 0, todo[0][1].engine.device)
        idle = [workers.start() for _ in range(at_most)]  # they load torch at the same time
        scout = _Scout(workers, idle[0], stop)
        batched, run_bytes = _sorted(scout, todo)
        now.processes = processes_for(processes, len(todo), run_bytes, todo[0][1].engine.device)
        jobs = jobs_of(todo, batched, now.processes)
        now.processes = min(now.processes, len(jobs))
        _estimate(scout, jobs)
        jobs.sort(key=lambda job: -job.seconds)  # the longest first, so that none is left at the end
        now.jobs, now.batched = len(jobs), sum(len(job.recipes) for job in jobs if len(job.recipes) > 1)
        now.estimate_s = now.left_s = _span(jobs, now.processes)
        yield now
        for worker in idle[now.processes :]:
            worker.let_go()
        crew = [scout.worker, *idle[1 : now.processes]]
        yield from _Crew(workers, now, jobs, log, stop).work(crew)


class _Scout:
    """Asked about runs before they begin; where it dies of one, that is told when the run is tried."""

    def __init__(self, workers: Workers, worker: WorkerProcess, stop: Callable[[], bool]) -> None:
        self._workers, self.worker, self._stop = workers, worker, stop

    def asked(self, **order: Any) -> dict[str, Any]:
        self.worker.tell(**order)
        while True:
            if self._stop():
                raise Interrupted
            message = self._workers.next(TURN_S)
            if message is None or message.worker is not self.worker:
                continue
            if message.facts is None:
                self.worker = self._workers.start()
                return {}
            return message.facts


def _sorted(scout: _Scout, todo: Runs) -> tuple[dict[Hashable, bool], int]:
    """Shape -> whether its runs are computed as one; and the memory that the hungriest run takes."""
    batched: dict[Hashable, bool] = {}
    most = 0
    for directory, recipe in todo:
        if (shape := shape_of(recipe)) not in batched:
            answer = scout.asked(do="sort", run=str(directory.path.resolve()))
            batched[shape], most = bool(answer.get("batched")), max(most, int(answer.get("bytes", 0)))
    return batched, most


def _estimate(scout: _Scout, jobs: Sequence[Job]) -> None:
    """Each kind of job is tried for a moment."""
    rates: dict[Hashable, float] = {}
    begun = monotonic()
    for job in jobs:
        kind = (shape_of(job.recipes[0]), job.recipes[0].tree, *sorted({r.algorithms[0].name for r in job.recipes}))
        if kind not in rates and monotonic() - begun < LOOKS_S:
            answer = scout.asked(do="look", runs=[str(directory.path.resolve()) for directory in job.directories])
            rates[kind] = float(answer.get("seconds", 0.0)) / job.iterations
        usual = sum(rates.values()) / len(rates)
        job.seconds = rates.get(kind, usual) * job.iterations


def _span(jobs: Sequence[Job], processes: int) -> float:
    """Until the last process is done, if each takes the next job when it has none."""
    busy = [0.0] * processes
    for job in jobs:
        busy[busy.index(min(busy))] += job.seconds
    return max(busy)


class _Crew:
    """Hands out jobs and listens."""

    def __init__(
        self, workers: Workers, now: Sweep, jobs: list[Job], log: Sequence[str], stop: Callable[[], bool]
    ) -> None:
        self._workers, self._now, self._jobs = workers, now, jobs
        self._log, self._stop, self._threads = list(log), stop, max(1, cores() // now.processes)
        self._at: dict[WorkerProcess, Job] = {}
        self._idle: list[WorkerProcess] = []
        self._paths = {str(d.path.resolve()): str(d.path) for job in jobs for d in job.directories}
        pairs = [pair for job in jobs for pair in zip(job.directories, job.recipes, strict=True)]
        self._lengths = {str(directory.path): recipe.train.iterations for directory, recipe in pairs}
        self._costs = {str(d.path): job.seconds / len(job.recipes) for job in jobs for d in job.directories}
        self._begun_s, self._before = monotonic(), dict[str, int]()

    def work(self, idle: Sequence[WorkerProcess]) -> Iterator[Sweep]:
        self._idle = list(idle)
        stopping = False
        while self._jobs or self._at:
            if not stopping and self._stop():
                stopping = True
                for worker in self._at:
                    worker.tell(do="stop")
            while self._jobs and self._idle and not stopping:
                self._hand_out(self._idle.pop())
            if stopping and not self._at:
                raise Interrupted
            message = self._workers.next(TURN_S)
            if message is not None:
                self._hear(message)
            self._now.left_s = self._left_s()
            yield self._now
        if stopping:
            raise Interrupted

    def _hand_out(self, worker: WorkerProcess) -> None:
        job = self._at[worker] = self._jobs.pop(0)
        for directory in job.directories:
            path = str(directory.path)
            self._now.running[path] = (0, self._lengths[path], None)
        paths = [str(directory.path.resolve()) for directory in job.directories]
        worker.tell(do="train", runs=paths, log=self._log, threads=self._threads)

    def _hear(self, message: Message) -> None:
        worker, facts = message
        if facts is None:
            self._mourn(worker)
        elif "idle" in facts:
            for directory in self._at.pop(worker).directories:
                self._now.running.pop(str(directory.path), None)
            self._idle.append(worker)
        else:
            self._hear_of_run(self._paths[facts["run"]], facts)

    def _hear_of_run(self, path: str, facts: dict[str, Any]) -> None:
        if "ended" not in facts:
            self._before.setdefault(path, facts["t"])
            self._now.running[path] = (facts["t"], self._lengths[path], facts["accuracy"])
            return
        self._now.running.pop(path, None)
        if facts["ended"] == "finished":
            self._now.finished.add(path)
        else:
            self._now.failed[path] = facts["error"]

    def _mourn(self, worker: WorkerProcess) -> None:
        """Runs that were computed together are tried alone, for it may be the fault of one; another takes its place."""
        if worker in self._idle:
            self._idle.remove(worker)
        elif worker not in self._at:  # one that was let go
            return
        elif (job := self._at.pop(worker, None)) is not None:
            known = self._now.finished | self._now.failed.keys()
            lost = [(d, r) for d, r in zip(job.directories, job.recipes, strict=True) if str(d.path) not in known]
            for directory, recipe in lost:
                self._now.running.pop(str(directory.path), None)
                if len(job.directories) > 1:
                    self._jobs.append(Job([directory], [recipe], self._costs[str(directory.path)]))
                else:
                    directory.fail(worker.cause())
                    self._now.failed[str(directory.path)] = worker.cause()
        if self._jobs:
            self._idle.append(self._workers.start())

    def _left_s(self) -> float:
        """What is left of the estimate, stretched or shortened as what is done was."""
        now, costs = self._now, self._costs
        done = sum(costs[path] for path in costs if path in now.finished or path in now.failed)
        going = {path: costs[path] * t / of for path, (t, of, _) in now.running.items() if of}
        made = done + sum(going.values()) - sum(costs[p] * t / self._lengths[p] for p, t in self._before.items())
        left = sum(costs.values()) - done - sum(going.values())
        spent = (monotonic() - self._begun_s) * now.processes
        # the estimate counts as much as a tenth of it, so that the first moments do not make it jump
        weight = 0.1 * sum(costs.values())
        pace = (spent + weight) / (made + weight) if made + weight > 0 else 1.0
        return max(0.0, left * pace / now.processes)
