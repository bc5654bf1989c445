"""A recipe that trains in a blink."""

from typing import Any

TINY: dict[str, Any] = {
    "data": {"source": "synthetic", "samples": 200, "test_samples": 100},
    "model": {"name": "logistic"},
    "tree": {"edges": 2, "workers_per_edge": 2},
    "periods": {"tau": 2, "pi": 2},
    "train": {"iterations": 40, "batch": 8},
    "engine": {"threads": 1},
    "algorithm": {"name": "HierMo"},
}


def tiny(**tables: Any) -> dict[str, Any]:
    """A recipe that trains in a blink; tables are merged into it, model and algorithm replaced; None removes."""
    whole = {"algorithm", "model"}
    merged = TINY | {
        k: {**TINY.get(k, {}), **v} if isinstance(v, dict) and k not in whole else v for k, v in tables.items()
    }
    return {key: value for key, value in merged.items() if value is not None}
