"""From a recipe to who holds which samples; without torch, for `hiermo data show` needs none."""

from hiermo.data.dataset import Dataset
from hiermo.data.directory import data_directory
from hiermo.data.load import loaded
from hiermo.data.partitioned import Partitioned, partition
from hiermo.data.two_level import two_level
from hiermo.experiment.recipe import Recipe
from hiermo.topology.assign import assign


def load_data(recipe: Recipe) -> Dataset:
    return loaded(recipe.source.made, data_directory())


def holdings(recipe: Recipe, dataset: Dataset) -> Partitioned:
    """The data set, divided among the workers of the recipe's tree."""
    tree, seed, rule = recipe.tree.build(), recipe.train.seed, recipe.partition.made
    if recipe.edges is None:
        dealt = partition(dataset, rule, tree.n_workers, seed)
    else:
        dealt = two_level(dataset, recipe.edges.made, rule, tree.groups, seed)
    if recipe.tree.assign != "given":
        dealt = dealt.reordered(assign(dealt.counts(), tree, recipe.tree.assign, seed))
    return dealt if recipe.share.share == 1 else dealt.sampled(recipe.share.share, seed)
