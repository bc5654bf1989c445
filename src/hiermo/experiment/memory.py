"""How much memory a run needs, before it takes it."""

import numpy as np
import psutil

from hiermo.core.errors import UserError
from hiermo.core.record import of
from hiermo.core.units import human
from hiermo.data.dataset import Dataset
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe

# the state before and after an iteration, the gradients, and the temporaries of a rule of some terms
COPIES = 4


def state_bytes(recipe: Recipe, part: Part, d: int) -> int:
    """The records of all tiers and the messages that workers keep."""
    tree, _ = recipe.placed(part)
    records = part.made.init(np.zeros(1))  # only the number of fields matters
    kept = tree.counts[1] * len(of(part.made.down, 0)._fields)
    vectors = kept + sum(n * len(of(records, k)) for k, n in enumerate(tree.counts))
    return vectors * d * item_bytes(recipe)


def item_bytes(recipe: Recipe) -> int:
    return 8 if recipe.engine.dtype == "float64" else 4


def needed_bytes(recipe: Recipe, d: int, dataset: Dataset) -> int:
    """Peak of the hungriest algorithm of the recipe."""
    data = sum(array.nbytes for array in (dataset.train_x, dataset.train_y, dataset.test_x, dataset.test_y))
    return data + COPIES * max(state_bytes(recipe, part, d) for part in recipe.algorithms)


def available_bytes() -> int:
    return int(psutil.virtual_memory().available)


def check_memory(recipe: Recipe, d: int, dataset: Dataset) -> None:
    need, have = needed_bytes(recipe, d, dataset), available_bytes()
    if need > have and not recipe.engine.device.startswith("cuda"):
        raise UserError(
            f"this run needs about {human(need)} of memory and {human(have)} are free: "
            f"{recipe.tree.build().n_workers} workers (tree) hold a model of {d:,} parameters (model) each"
        )
