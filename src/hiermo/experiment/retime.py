"""A finished run under other delays, without training it again: what was learnt in a cloud round stays, and when."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hiermo.clock.delays import Delays
from hiermo.core.errors import UserError
from hiermo.core.problem import ModelSize, model_size
from hiermo.core.until import SIMULATED, reached
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.run_directory import RunDirectory
from hiermo.experiment.timing import depends_on_delays, is_ordered_by_time, size_of, times_of_cloud_merges


class Retimed(NamedTuple):
    """One run, under one draw of the delays."""

    label: str
    directory: RunDirectory
    draw: int
    lines: list[dict[str, Any]]  # its evaluations, with the seconds and bytes of these delays

    def when(self, until: dict[str, float]) -> dict[str, Any] | None:
        """The first evaluation that meets all targets."""
        return next((line for line in self.lines if reached(until, line)), None)


def retime(
    directory: RunDirectory, delays: Delays, draws: Sequence[int], *, full_gradients: bool = True
) -> list[Retimed]:
    """Its evaluations under each draw; refuses a run that would have been another one under other delays.

    Without `full_gradients`, a gradient over all data of a worker takes no time.
    """
    recipe = directory.recipe()
    (part,) = recipe.algorithms
    lines = directory.evaluations()
    if not lines:
        raise UserError(f"{directory.path}: has no evaluation yet; train it with `hiermo resume {directory.path}`")
    other = replace(recipe, delays=delays)
    if depends_on_delays(other, part):
        _check_own(directory, recipe, delays)
        draws = [recipe.train.seed]  # under others it would have been another run
    model = _size(directory, recipe)
    if not full_gradients:
        model = model._replace(batches=0.0)
    last = max(line["cloud_round"] for line in lines)
    found = []
    for draw in draws:
        times = times_of_cloud_merges(other, part, model, draw, rounds=last)
        told = [(line, times[line["cloud_round"] - 1]) for line in lines]
        new = [{**line, SIMULATED: elapsed.seconds, "bytes": elapsed.bytes} for line, elapsed in told]
        found.append(Retimed(part.label, directory, draw, new))
    return found


def _check_own(directory: RunDirectory, recipe: Recipe, delays: Delays) -> None:
    """Refuses delays that are not its own, of a run whose course depends on them."""
    (part,) = recipe.algorithms
    if recipe.delays is not None and _same(recipe.delays, delays):
        return
    why = (
        f"{part.label} goes by the time at which its edges arrive"
        if is_ordered_by_time(replace(recipe, delays=delays), part)
        else "who is absent depends on the time ([absence])"
    )
    raise UserError(f"{directory.path}: {why}: under other delays it is another run; train it with --delays")


def _same(a: Delays, b: Delays) -> bool:
    """Whatever they and their traces are called: a trace is known by its checksum."""
    names = {"name": "", "trace": ""}
    return {**a.table, **names} == {**b.table, **names}


def _size(directory: RunDirectory, recipe: Recipe) -> ModelSize:
    """As its provenance says; of a run of before that was written down, by making its problem again."""
    (part,) = recipe.algorithms
    if directory.provenance_path.is_file():
        starts = directory.read_json(directory.provenance_path).get("starts", [])
        if starts and "size" in starts[-1]:
            return size_of(starts[-1]["size"], recipe.placed(part)[0].n_workers)
    from hiermo.experiment.assemble import problem_of

    return model_size(problem_of(recipe), recipe.train.seed)
