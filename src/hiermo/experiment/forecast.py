"""What a cloud round would take on a tree of any size: seconds and bytes, without training, without dividing data."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from hiermo.clock.ledger import link_names
from hiermo.core.errors import UserError
from hiermo.core.plan import Merge, Setting
from hiermo.core.problem import ModelSize
from hiermo.experiment.holdings import load_data
from hiermo.experiment.memory import item_bytes
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.timing import clock_of, delays_of
from hiermo.topology.tree import Tree

Show = Callable[[str, int], object]  # what is gone through, and how many cloud rounds of it are done


def forecast(
    recipe: Recipe,
    workers: int | None = None,
    edges: int | None = None,
    rounds: int = 10,
    every: bool = False,
    show: Show = lambda what, done: None,
) -> dict[str, Any]:
    """Means over some cloud rounds, of the recipe's first algorithm that has edges; if asked, of `every` one too."""
    tree = grown(recipe.tree.build(), workers, edges)
    chosen = next((part for part in recipe.algorithms if part.made.tiers in (None, 3)), None)
    if chosen is None:
        raise UserError("no algorithm of the recipe has edges: add one that has, as in -s algorithm=HierMo")
    model = size_of_model(recipe, tree.n_workers)
    parts = recipe.algorithms if every else (chosen,)
    told = [of_algorithm(recipe, part, tree, model, rounds, show) for part in parts]
    first = told[parts.index(chosen)]
    facts = {
        "recipe": recipe.name,
        "workers": tree.n_workers,
        "edges": tree.counts[1],
        "tree": str(tree),
        "periods": list(recipe.periods),
        "rounds": rounds,
        "delays": str(delays_of(recipe)),
        "model": recipe.model.name,
        "parameters": model.parameters,
        "flops_per_iteration": model.flops,
    }
    return facts | first | {"algorithms": told}


def grown(tree: Tree, workers: int | None, edges: int | None) -> Tree:
    """A tree with so many workers, divided among the edges as evenly as it goes."""
    if tree.tiers != 3:
        raise UserError(f"forecast compares three tiers with two, and the recipe's tree is {tree}")
    if workers is None and edges is None:
        return tree
    n, each = workers or tree.n_workers, edges or tree.counts[1]
    if n < each:
        raise UserError(f"--workers {n}: fewer than the {each} edges; every edge needs one")
    return Tree(np.arange(n) * each // n, np.zeros(each, int))


def size_of_model(recipe: Recipe, n_workers: int) -> ModelSize:
    from hiermo.experiment.assemble import unmade
    from hiermo.models.flat import Flat
    from hiermo.problems.flops import gradient_flops

    data = load_data(recipe)
    module = unmade(recipe, data)
    flat = Flat(module)
    return ModelSize(
        flat.parameters.size,
        item_bytes(recipe),
        flat.buffers.size,
        len(data.train_y) / n_workers / recipe.train.batch,
        gradient_flops(module, data.shape, recipe.train.batch),
    )


def of_algorithm(recipe: Recipe, part: Part, tree: Tree, model: ModelSize, rounds: int, show: Show) -> dict[str, Any]:
    """With edges, and without them as `two_tier`; as far as the algorithm goes."""
    found: dict[str, Any] = {"algorithm": part.name, "label": part.label}
    if part.made.tiers in (None, 3):
        found |= _rounds(recipe, part, tree, recipe.periods, model, rounds, show)
    if part.made.tiers in (None, 2):
        flat = (prod(recipe.periods),)
        found["two_tier"] = _rounds(recipe, part, tree.flatten(), flat, model, rounds, show)
    return found


def _rounds(
    recipe: Recipe, part: Part, tree: Tree, periods: tuple[int, ...], model: ModelSize, rounds: int, show: Show
) -> dict[str, Any]:
    setting = Setting(tree, periods, rounds * prod(periods), recipe.train.seed)
    events = clock_of(recipe).of_run(part.made.bind(setting), setting, model).events()
    ends, position = [0.0], 0
    what = f"{part.label}, {tree.tiers} tiers"
    show(what, 0)
    for position, event in enumerate(events, start=1):
        if isinstance(event, Merge) and event.tier == tree.tiers - 1:
            ends.append(events.at(position).seconds)
            show(what, min(rounds, len(ends) - 1))
    end = events.at(position)
    names = link_names(tree.tiers)
    return {
        "seconds_per_cloud_round": end.seconds / rounds,
        "seconds_deviation": float(np.std(np.diff(ends))) if len(ends) == rounds + 1 else None,
        "bytes_per_cloud_round": {
            name: round(sent / rounds) for name, sent in zip(names, end.bytes_per_link, strict=True)
        },
        "bytes_up_and_down": {
            name: [round(load.bytes(model) / rounds) for load in link]
            for name, link in zip(names, end.links, strict=True)
        },
    }
