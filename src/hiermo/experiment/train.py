"""Trains run directories to their end: one, or several whose workers are computed together.

Logging, checkpoints and early stop are statements in one `for` body; the caller shows progress in another.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from hiermo.core.errors import Diverged
from hiermo.engine.run import run
from hiermo.engine.run_many import run_many
from hiermo.experiment.interrupted import Interrupted
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.run_directory import RunDirectory
from hiermo.experiment.training import Progress, Training
from hiermo.problems.supervised import Supervised

__all__ = ["Interrupted", "Progress", "train", "train_many"]

Stop = Callable[[], bool]


def train(
    directory: RunDirectory, recipe: Recipe, problem: Supervised, stop: Stop = lambda: False
) -> Iterator[Progress]:
    """Yields progress at every edge merge; the directory holds the result when it ends.

    `stop` is asked at every edge merge; if it says so, a checkpoint is written and Interrupted raised.
    """
    with Training(directory, recipe, problem) as training:
        for state in () if training.done else run(**training.arguments):
            stopping = stop()
            yield training.take(state, stopping)
            if training.done:
                break
            if stopping:
                raise Interrupted
        training.finish()


def train_many(
    runs: Sequence[tuple[RunDirectory, Recipe, Supervised]], stop: Stop = lambda: False
) -> Iterator[tuple[int, Progress | Diverged | None]]:
    """As `train`, of several at once: (which run, its progress, the error that ended it, or None at its end).

    A run whose numbers break is marked as failed, and the others go on.
    """
    with ExitStack() as inside:
        trainings = [inside.enter_context(Training(*each, beside=len(runs) - 1)) for each in runs]
        left = {k for k, training in enumerate(trainings) if training.done}
        for k in left:
            trainings[k].finish()
            yield k, None
        stopped = False
        for k, found in run_many([training.arguments for training in trainings], left=left, raising=False):
            stopping = stop()
            try:
                if isinstance(found, Diverged):
                    raise found
                progress = trainings[k].take(found, stopping)
            except Diverged as error:
                trainings[k].fail(error)
                left.add(k)
                yield k, error
                continue
            yield k, progress
            if trainings[k].done:
                trainings[k].finish()
                left.add(k)
                yield k, None
            elif stopping:
                stopped = True
                left.add(k)
        if stopped:
            raise Interrupted
