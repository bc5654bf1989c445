"""From a recipe to the objects that train: this is where torch is first imported."""

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset
from hiermo.experiment.holdings import holdings, load_data
from hiermo.experiment.memory import check_memory
from hiermo.experiment.recipe import Recipe
from hiermo.models.flat import Flat
from hiermo.models.weights import load_weights
from hiermo.problems.supervised import Supervised


def problem_of(recipe: Recipe, dataset: Dataset | None = None) -> Supervised:
    """The data, divided among the workers, and the model; refuses what will not fit in memory."""
    dataset = dataset or load_data(recipe)
    tree = recipe.tree.build()
    check_memory(recipe, dimension(recipe, dataset), dataset)
    device = check_device(recipe.engine.device)
    return Supervised(
        partial(start_of, recipe, dataset.shape, dataset.classes),
        holdings(recipe, dataset),
        recipe.train.batch,
        recipe.model.made.loss,
        normalise=recipe.input.normalise,
        crop=recipe.input.crop,
        flip=recipe.input.flip,
        per=recipe.evaluate.per,
        edges=tree.groups,
        weight_decay=recipe.train.weight_decay,
        clip_norm=recipe.train.clip_norm,
        evaluate_test=recipe.evaluate.test,
        evaluate_train=recipe.evaluate.train,
        evaluate_batch=recipe.evaluate.batch,
        device=device,
        dtype=recipe.engine.dtype,
        gradients=recipe.engine.gradients,
        convolutions=recipe.engine.convolutions,
        threads=recipe.engine.threads,
    )


def start_of(recipe: Recipe, shape: tuple[int, ...], classes: int) -> nn.Module:
    """The model before training: its own initialisation, or the weights of a file."""
    module: nn.Module = recipe.model.made.build(shape, classes)
    if recipe.start.weights is not None:
        load_weights(module, Path(recipe.start.weights), recipe.start.skip)
    return module


def dimension(recipe: Recipe, dataset: Dataset) -> int:
    """Number of trainable parameters, without making them."""
    return Flat(unmade(recipe, dataset)).parameters.size


def unmade(recipe: Recipe, dataset: Dataset) -> nn.Module:
    """The model without its numbers, if it can be had so."""
    try:
        with torch.device("meta"):
            module: nn.Module = recipe.model.made.build(dataset.shape, dataset.classes)
            Flat(module)
            return module
    except (UserError, NotImplementedError, RuntimeError):  # a module of one's own may look at its numbers
        with torch.random.fork_rng(devices=[]):
            made: nn.Module = recipe.model.made.build(dataset.shape, dataset.classes)
            return made


def check_device(device: str) -> str:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"engine.device = '{device}' cannot be used here: {reason}") from None
    return device


def tensors(arrays: dict[str, Any], device: str) -> dict[str, Any]:
    """Arrays of a checkpoint as this run keeps them."""
    return {name: torch.as_tensor(array, device=device) for name, array in arrays.items()}
