"""One run while it is trained: evaluates, checkpoints, ends early, and goes on after a kill.

What trains it, alone or beside others, is in `train.py`.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from hashlib import sha256
from math import isfinite
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self
import warnings

import numpy as np

from hiermo.clock.clock import Elapsed
from hiermo.clock.ledger import link_names
from hiermo.core.errors import Diverged, UserError
from hiermo.core.files import write_json
from hiermo.core.problem import model_size
from hiermo.core.schedule import eta_of
from hiermo.core.until import SIMULATED, reached
from hiermo.engine.state import State, from_arrays, to_arrays
from hiermo.experiment import checkpoint
from hiermo.experiment.assemble import tensors
from hiermo.experiment.provenance import now, provenance
from hiermo.experiment.recipe import FORMAT, Recipe
from hiermo.experiment.run_directory import PLACE, Metrics, RunDirectory
from hiermo.experiment.timing import clock_of, cloud_rounds, delays_of, elapsed_at, iterations_done, size_facts
from hiermo.problems.supervised import Supervised

COLUMNS = {
    "iteration": "local iterations done by every worker, on average where time decides",
    "cloud_round": "cloud aggregations done",
    "seconds": "wall-clock seconds of training so far, evaluation included",
    "simulated_seconds": "seconds that the run would have taken on the network of its delays",
    "bytes": "sent so far over all links, up and down",
    "loss": "loss of the cloud model on the test set",
    "accuracy": "share of the test set that the cloud model classifies rightly",
    "train_loss": "loss of the cloud model on the training set, or the fixed sample of it",
    "train_accuracy": "share of the training set, or the fixed sample of it, that it classifies rightly",
}
# of the classes of the test set, of the workers on their own samples, of the edges on those of their workers
GROUPED = {"per": "a list with one for each", "worst": "the worst", "spread": "standard deviation over every"}


class Progress(NamedTuple):
    """Where a run stands, after an edge merge."""

    t: int
    cloud_round: int
    metrics: dict[str, Any]  # of the last evaluation
    elapsed_s: float
    simulated_s: float
    sent_bytes: int


class Training:
    """A run directory in the hands of this process, from its last checkpoint on.

    `arguments` are those of `hiermo.run`; every state that it yields is taken, and when `done`, the run is finished.
    """

    def __init__(self, directory: RunDirectory, recipe: Recipe, problem: Supervised, beside: int = 0) -> None:
        """`beside`: how many other runs are computed together with this one."""
        self.directory, self.recipe, self.problem, self.beside = directory, recipe, problem, beside
        (self._part,) = recipe.algorithms
        self._until = recipe.train.until or {}
        self._model = model_size(problem, recipe.train.seed)
        self._last = cloud_rounds(recipe, self._part, self._model)
        self._due = evaluated_rounds(recipe.evaluate.every, self._last)

    def __enter__(self) -> Self:
        with ExitStack() as inside:  # what fails here gives the directory back
            inside.enter_context(self.directory.locked())
            self._begin(inside)
            self._inside = inside.pop_all()
        return self

    def _begin(self, inside: ExitStack) -> None:
        directory, recipe, problem = self.directory, self.recipe, self.problem
        self._started = now()
        directory.result_path.unlink(missing_ok=True)
        directory.failed_path.unlink(missing_ok=True)
        start = provenance(recipe.train.seed, problem.gradients, problem.threads, recipe.engine.device)
        batched = {"computed_with": f"{self.beside} other runs, as one"} if self.beside else {}
        directory.add_provenance({**start, **problem.made_for, "size": size_facts(self._model), **batched})
        if not directory.holdings_path.is_file() and (held := problem.holdings()) is not None:
            write_json(directory.holdings_path, {"format": FORMAT, **held})
        self._good, self._before_s, self._lines = restore(directory, recipe, problem, self._due)
        self._metrics = Metrics(directory.metrics_path, columns(problem), self._lines)
        inside.callback(self._metrics.close)
        self.done = bool(self._lines) and self._good is not None and self._is_end(self._good.rounds)
        self._begun = self._saved = monotonic()

    @property
    def arguments(self) -> dict[str, Any]:
        recipe, algorithm = self.recipe, self._part.made
        tree, periods = recipe.placed(self._part)
        return {
            "algorithm": algorithm,
            "tree": tree,
            "problem": self.problem,
            "periods": periods,
            "iterations": recipe.train.iterations,
            "seed": recipe.train.seed,
            "every": "edge",
            "start": self._good,
            "engine": recipe.engine.name,
            "schedule": eta_of(recipe.schedule.made, algorithm, periods),
            "clock": clock_of(recipe),
        }

    def take(self, state: State, stopping: bool = False) -> Progress:
        """Evaluates where it is due, and writes a checkpoint where it is time, at the end, or when `stopping`."""
        elapsed_s = self._elapsed_s()
        t, simulated_s, sent = place_of(self.recipe, state)
        if state.rounds > (self._good.rounds if self._good else 0) and state.rounds in self._due:
            line = dict(zip(PLACE, (t, state.rounds, elapsed_s, simulated_s, sent), strict=True))
            self._lines.append({**line, **measure(self.problem, state)})
            self._metrics.append(self._lines[-1])
            self.done = self._is_end(state.rounds)
        self._good = state
        if self.done or stopping or monotonic() - self._saved >= self.recipe.engine.checkpoint_s:
            checkpoint.save(self.directory.checkpoint_path, state, elapsed_s)
            self._saved = monotonic()
        return Progress(t, state.rounds, self._lines[-1] if self._lines else {}, elapsed_s, simulated_s, sent)

    def finish(self) -> None:
        """Writes the result."""
        assert self._good is not None
        recipe, part, good = self.recipe, self._part, self._good
        # a state that was read from a file does not know the time
        elapsed = good.elapsed or elapsed_at(recipe, part, self._model, good.position)
        result = result_of(recipe, self.problem, good, elapsed, self._lines[-1], self._started, self._last)
        write_json(self.directory.result_path, result)

    def fail(self, error: Exception) -> None:
        """Keeps the last good state of a run whose numbers broke, and says why it ended."""
        if isinstance(error, Diverged) and self._good is not None:
            checkpoint.save(self.directory.checkpoint_path, self._good, self._elapsed_s())
        self.directory.fail(str(error))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._inside:
            if isinstance(error, Diverged):
                self.fail(error)

    def _elapsed_s(self) -> float:
        return self._before_s + monotonic() - self._begun

    def _is_end(self, rounds: int) -> bool:
        """Whether the evaluation after so many cloud rounds is the run's last."""
        line = self._lines[-1]
        ends = rounds == self._last or (self._until and reached(self._until, line))
        return bool(line["cloud_round"] == rounds and ends)


def evaluated_rounds(every: int, last: int) -> dict[int, None]:
    """The cloud rounds after which there is an evaluation, in order: every k-th, and the last."""
    return dict.fromkeys((*range(every, last, every), last))


def place_of(recipe: Recipe, state: State) -> tuple[int, float, int]:
    """Iterations of every worker, simulated seconds, bytes sent."""
    (part,) = recipe.algorithms
    elapsed = state.elapsed
    return iterations_done(recipe, part, state.t, elapsed), elapsed.seconds, elapsed.bytes


def restore(
    directory: RunDirectory, recipe: Recipe, problem: Supervised, due: Iterable[int]
) -> tuple[State | None, float, list[Any]]:
    """The last checkpoint, the seconds before it, and the evaluations up to it that this horizon has."""
    if not directory.checkpoint_path.is_file():
        return None, 0.0, []
    (part,) = recipe.algorithms
    arrays, place, before_s = checkpoint.load(directory.checkpoint_path)
    x, (tree, periods) = problem.initial(recipe.train.seed), recipe.placed(part)
    try:
        state = from_arrays(part.made, x, tree.tiers, tensors(arrays, recipe.engine.device), place)
    except UserError as error:
        raise UserError(f"{directory.checkpoint_path}: {error}") from None
    counts = tuple(tier[0].shape[0] for tier in state.tiers)
    same = (counts, state.periods, state.seed, state.model.shape) == (tree.counts, periods, recipe.train.seed, x.shape)
    if not same or to_arrays(state)[0].keys() != arrays.keys():
        raise UserError(
            f"{directory.checkpoint_path} is not of this run: it has another algorithm, model, tree, seed or periods"
        )
    done = [k for k in due if k <= state.rounds]
    lines = [line for line in directory.evaluations() if line["cloud_round"] in done]
    if [line["cloud_round"] for line in lines] != done:
        warnings.warn(f"{directory.metrics_path} lacks evaluations before the checkpoint: starting anew", stacklevel=2)
        return None, 0.0, []
    return state, before_s, lines


def measure(problem: Supervised, state: State) -> dict[str, Any]:
    metrics = problem.evaluate(state.model, state.model_buffers)
    if not all(isfinite(value) for value in metrics.values() if isinstance(value, float)):
        root = len(state.tiers) - 1
        raise Diverged("the loss", root, 0, state.t, len(state.tiers))
    return metrics


def columns(problem: Supervised) -> dict[str, str]:
    return {name: described(name) for name in (*PLACE, *problem.metric_names)}


def described(name: str) -> str:
    """What a column of the metrics file is.

    >>> described("accuracy_worst_worker")
    'accuracy of the cloud model: the worst worker'
    """
    for word, what in GROUPED.items():
        metric, found, each = name.partition(f"_{word}_")
        if found:
            return f"{metric} of the cloud model: {what} {each}"
    return COLUMNS.get(name, "a metric of the cloud model")


def result_of(
    recipe: Recipe, problem: Supervised, state: State, elapsed: Elapsed, line: dict[str, Any], started: str, last: int
) -> dict[str, Any]:
    """What `--json` prints; all but seconds, started, finished and the directory is a function of recipe and seed."""
    (part,) = recipe.algorithms
    values = {name: value for name, value in line.items() if name not in PLACE}
    return {
        "format": FORMAT,
        "algorithm": part.name,
        "label": part.label,
        "seed": recipe.train.seed,
        "iterations": line["iteration"],
        "cloud_rounds": state.rounds,
        "accuracy": values.pop("accuracy", None),
        "loss": values.pop("loss"),
        **values,
        "stopped_by": "iterations" if state.rounds == last else "until",
        SIMULATED: elapsed.seconds,
        "delays": str(delays_of(recipe)),
        "bytes": elapsed.bytes,
        "bytes_per_link": dict(zip(link_names(len(state.tiers)), elapsed.bytes_per_link, strict=True)),
        "data": recipe.source.name,
        "model": recipe.model.name,
        "parameters": problem.dimension,
        "model_sha256": sha256(np.ascontiguousarray(state.model.cpu()).tobytes()).hexdigest(),
        "seconds": line["seconds"],
        "started": started,
        "finished": now(),
    }
