"""From a recipe to the objects that train: this is where torch is first imported."""

from functools import partial
from typing import Any

import torch

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset
from hiermo.data.directory import data_directory
from hiermo.data.partitioned import partition
from hiermo.experiment.memory import check_memory
from hiermo.experiment.recipe import Recipe
from hiermo.models.flat import Flat
from hiermo.problems.supervised import Supervised


def problem_of(recipe: Recipe, dataset: Dataset | None = None) -> Supervised:
    """The data, divided among the workers, and the model; refuses what will not fit in memory."""
    dataset = dataset or load_data(recipe)
    n_workers = recipe.tree.build().n_workers
    check_memory(recipe, dimension(recipe, dataset), dataset)
    device = check_device(recipe.engine.device)
    return Supervised(
        partial(recipe.model.made.build, dataset.shape, dataset.classes),
        partition(dataset, recipe.partition.made, n_workers, recipe.train.seed),
        recipe.train.batch,
        recipe.model.made.loss,
        weight_decay=recipe.train.weight_decay,
        clip_norm=recipe.train.clip_norm,
        evaluate_train=recipe.evaluate.train,
        evaluate_batch=recipe.evaluate.batch,
        device=device,
        dtype=recipe.engine.dtype,
        threads=recipe.engine.threads,
    )


def load_data(recipe: Recipe) -> Dataset:
    found: Dataset = recipe.source.made.load(data_directory())
    return found


def dimension(recipe: Recipe, dataset: Dataset) -> int:
    """Number of trainable parameters, without making them."""
    with torch.device("meta"):
        return Flat(recipe.model.made.build(dataset.shape, dataset.classes)).parameters.size


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
