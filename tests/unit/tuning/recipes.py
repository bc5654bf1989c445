"""Small recipes to tune, as values."""

from typing import Any

from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import Recipe, parse

PARTITION = {"kind": "classes", "per_worker": 3}
CONSTANT = {"theta_w": 0.5, "theta_e": 0.25, "theta_c": 0.125, "phi_w2e": 2.0, "phi_e2c": 16.0, "phi_w2c": 32.0}
EDGE_S, CLOUD_S = 0.25 + 2.0, 0.125 + 16.0


def small(**tables: Any) -> Recipe:
    """Synthetic blobs whose owners differ, 4 workers under 2 edges; tables replace those here."""
    raw = {
        "data": {"source": "synthetic", "samples": 400, "test_samples": 200, "partition": PARTITION},
        "model": "logistic",
        "tree": {"edges": 2, "workers_per_edge": 2},
        "periods": [2, 2],
        "train": {"iterations": 40, "batch": 8},
        "evaluate": {"train": True},
        "engine": {"threads": 1},
        "delays": CONSTANT,
        "algorithm": "HierMo",
    }
    return parse({**raw, **tables}, name="small")


def small_with_problem(**tables: Any) -> tuple[Recipe, Any]:
    recipe = small(**tables)
    return recipe, problem_of(recipe)
