"""The theorems on what a recipe describes: its data, tree, periods and first HierMo, with full gradients in float64."""

from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hiermo.algorithms.hiermo import HierMo
from hiermo.core.errors import UserError
from hiermo.core.plan import Nodes
from hiermo.core.schedule import Constant
from hiermo.data.dataset import Dataset
from hiermo.engine.run import check_iterations
from hiermo.experiment.assemble import check_device, dimension, start_of
from hiermo.experiment.holdings import holdings, load_data
from hiermo.experiment.memory import check_memory
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe
from hiermo.problems.supervised import Supervised
from hiermo.tuning.check import Show, check
from hiermo.tuning.observed import Loss
from hiermo.tuning.theorems import Checked
from hiermo.tuning.virtual import Rows, check_form

ROUNDS = 20  # of the cloud, where nobody says: what builds up from merge to merge has done so by then


class Whole(NamedTuple):
    """Data to compute a loss on, without any to test it."""

    train_x: Any
    train_y: Any
    parts: Any
    classes: int
    test_x: None = None
    test_y: None = None


class WholeData(Supervised):
    """Full gradients by the code that makes those of batches, where a model has it: in a third of the time."""

    def full_grad(self, workers: Nodes, x: Tensor, buffers: Tensor | None = None) -> Tensor:
        if self._block is None:
            return super().full_grad(workers, x, buffers)
        result = torch.zeros_like(x)

        def whole(row: int, worker: int) -> None:
            part = self.parts[worker]
            for some in np.array_split(part, -(-len(part) // self.evaluate_batch)):
                index = torch.as_tensor(some, device=self.device)
                piece = self._several(index, x[row : row + 1], (0, [worker], 0))[0]
                result[row] += piece * (len(some) / len(part))

        self._pool.run([partial(whole, row, int(worker)) for row, worker in enumerate(workers)])
        return self._decayed(result, x)


def checkable(recipe: Recipe, iterations: int | None = None) -> tuple[Recipe, Part]:
    """The recipe as it will be checked, and its HierMo; refuses what the theorems are not about."""
    chosen = next((part for part in recipe.algorithms if isinstance(part.made, HierMo)), None)
    if chosen is None:
        names = ", ".join(part.name for part in recipe.algorithms)
        raise UserError(f"the theorems are about HierMo, and the recipe has {names}: set -s algorithm=HierMo")
    check_form(chosen.made, recipe.tree.build())
    if recipe.schedule.made != Constant():
        raise UserError("the theorems are about a constant eta: set -s train.schedule=constant")
    if not recipe.absence.nobody:
        raise UserError("in the theorems every worker takes part: leave the table [absence] out")
    most = ROUNDS * prod(recipe.periods)
    wanted = min(recipe.train.iterations, most) if iterations is None else iterations
    check_iterations(wanted, recipe.periods)
    train = replace(recipe.train, iterations=wanted)
    return replace(recipe.single(chosen), train=train, engine=replace(recipe.engine, dtype="float64")), chosen


def check_recipe(recipe: Recipe, part: Part, problem: Supervised, show: Show = lambda t: None) -> Checked:
    tau, pi = recipe.periods
    return check(
        part.made,
        recipe.tree.build(),
        problem,
        periods=(tau, pi),
        iterations=recipe.train.iterations,
        seed=recipe.train.seed,
        loss=training_loss(problem),
        show=show,
    )


def whole_problem(recipe: Recipe, dataset: Dataset | None = None) -> Supervised:
    """All the data of every worker, and its loss; refuses models whose loss is not a function of their weights."""
    dataset = dataset or load_data(recipe)
    check_memory(recipe, dimension(recipe, dataset), dataset)
    held = holdings(recipe, dataset)
    problem = WholeData(
        partial(start_of, recipe, dataset.shape, dataset.classes),
        Whole(dataset.train_x, dataset.train_y, held.parts, dataset.classes),
        recipe.train.batch,
        recipe.model.made.loss,
        normalise=recipe.input.normalise,
        weight_decay=recipe.train.weight_decay,
        evaluate_test=1,  # nobody asks for it
        evaluate_batch=recipe.evaluate.batch,
        per=("worker",),
        device=check_device(recipe.engine.device),
        dtype="float64",
        gradients=recipe.engine.gradients,
        convolutions=recipe.engine.convolutions,
        threads=recipe.engine.threads,
    )
    wrong = "draws random numbers (dropout)" if problem.stochastic else ""
    wrong = wrong or ("keeps running statistics (BatchNorm)" if problem.flat.buffers.size else "")
    if wrong:
        raise UserError(f"model '{recipe.model.name}' {wrong}: its loss is not a function of its weights alone")
    return problem


def training_loss(problem: Supervised) -> Loss:
    """F: the mean over workers by data, and half the weight decay times the square of the model."""
    shares = np.asarray(problem.sizes) / np.sum(problem.sizes)

    def loss(x: Rows) -> float:
        with problem.computing():
            each = problem.evaluate(torch.as_tensor(x, device=problem.device))["loss_per_worker"]
        return float(shares @ np.array(each)) + problem.weight_decay / 2 * float(x @ x)

    return loss


def left_out(recipe: Recipe) -> list[str]:
    """What the recipe asks for and full gradients do not have."""
    asked = {
        "train.clip_norm": recipe.train.clip_norm is not None,
        "input.crop": bool(recipe.input.crop),
        "input.flip": recipe.input.flip,
    }
    return [key for key, given in asked.items() if given]
