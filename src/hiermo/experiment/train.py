"""Trains one run directory to its end: evaluates, checkpoints, stops early, and goes on after a kill.

Logging, checkpoints and early stop are statements in one `for` body; the caller shows progress in another.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from math import isfinite
from time import monotonic
from typing import Any, NamedTuple
import warnings

import numpy as np

from hiermo.clock.clock import Elapsed
from hiermo.clock.ledger import link_names
from hiermo.core.errors import Diverged, UserError
from hiermo.core.files import write_json
from hiermo.core.problem import model_size
from hiermo.core.schedule import eta_of
from hiermo.core.until import SIMULATED, reached
from hiermo.engine.run import run
from hiermo.engine.state import State, from_arrays, to_arrays
from hiermo.experiment import checkpoint
from hiermo.experiment.assemble import tensors
from hiermo.experiment.provenance import now, provenance
from hiermo.experiment.recipe import FORMAT, Recipe
from hiermo.experiment.run_directory import Metrics, RunDirectory
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

PLACE = ("iteration", "cloud_round", "seconds", SIMULATED, "bytes")


class Progress(NamedTuple):
    """Where a run stands, after an edge merge."""

    t: int
    cloud_round: int
    metrics: dict[str, Any]  # of the last evaluation
    elapsed_s: float
    simulated_s: float
    sent_bytes: int


class Interrupted(Exception):  # noqa: N818 - the user's wish, not an error
    """The run stopped on request, after a checkpoint."""


def train(
    directory: RunDirectory, recipe: Recipe, problem: Supervised, stop: Callable[[], bool] = lambda: False
) -> Iterator[Progress]:
    """Yields progress at every edge merge; the directory holds the result when it ends.

    `stop` is asked at every edge merge; if it says so, a checkpoint is written and Interrupted raised.
    """
    (part,) = recipe.algorithms
    tree, periods = recipe.placed(part)
    until = recipe.train.until or {}
    model = model_size(problem, recipe.train.seed)
    last = cloud_rounds(recipe, part, model)
    due = evaluated_rounds(recipe.evaluate.every, last)
    with directory.locked():
        started = now()
        directory.result_path.unlink(missing_ok=True)
        start = provenance(recipe.train.seed, problem.gradients, problem.threads, recipe.engine.device)
        directory.add_provenance({**start, **problem.made_for, "size": size_facts(model)})
        good, before_s, lines = restore(directory, recipe, problem, due)
        states = run(
            part.made,
            tree,
            problem,
            periods=periods,
            iterations=recipe.train.iterations,
            seed=recipe.train.seed,
            every="edge",
            start=good,
            engine=recipe.engine.name,
            schedule=eta_of(recipe.schedule.made, part.made, periods),
            clock=clock_of(recipe),
        )
        metrics = Metrics(directory.metrics_path, columns(problem), lines)
        done = good is not None and bool(lines) and _is_end(lines[-1], good.rounds, last, until)
        begun = saved = monotonic()
        try:
            for state in () if done else states:
                elapsed_s = before_s + monotonic() - begun
                t, simulated_s, sent = place_of(recipe, state)
                if state.rounds > (good.rounds if good else 0) and state.rounds in due:
                    lines.append(
                        {
                            **dict(zip(PLACE, (t, state.rounds, elapsed_s, simulated_s, sent), strict=True)),
                            **measure(problem, state),
                        }
                    )
                    metrics.append(lines[-1])
                    done = _is_end(lines[-1], state.rounds, last, until)
                good, stopping = state, stop()
                if done or stopping or monotonic() - saved >= recipe.engine.checkpoint_s:
                    checkpoint.save(directory.checkpoint_path, good, elapsed_s)
                    saved = monotonic()
                yield Progress(t, state.rounds, lines[-1] if lines else {}, elapsed_s, simulated_s, sent)
                if done:
                    break
                if stopping:
                    raise Interrupted
        except Diverged:
            if good is not None:
                checkpoint.save(directory.checkpoint_path, good, before_s + monotonic() - begun)
            raise
        finally:
            metrics.close()
        assert good is not None
        # a state that was read from a file does not know the time
        elapsed = good.elapsed or elapsed_at(recipe, part, model, good.position)
        write_json(directory.result_path, result_of(recipe, problem, good, elapsed, lines[-1], started, last))


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


def _is_end(line: dict[str, Any], rounds: int, last: int, until: dict[str, float]) -> bool:
    """Whether the evaluation after so many cloud rounds is the run's last."""
    return bool(line["cloud_round"] == rounds and (rounds == last or (until and reached(until, line))))


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
