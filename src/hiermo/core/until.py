"""Early stop: run until a metric is reached."""

from collections.abc import Mapping
from typing import Any

from hiermo.core.errors import UserError

SIMULATED = "simulated_seconds"  # what a clock says, beside the metrics of a problem


def reached(until: Mapping[str, float], metrics: Mapping[str, Any]) -> bool:
    """Whether every target of `until` is met.

    >>> reached({"accuracy": 0.9}, {"accuracy": 0.93, "loss": 0.2})
    True
    """
    for name in until:
        if name not in metrics:
            raise UserError(f"until: there is no metric '{name}'; this problem has {', '.join(metrics)}")
    return all(metrics[k] <= v if _falls(k) else metrics[k] >= v for k, v in until.items())


def _falls(metric: str) -> bool:
    """Losses, and differences between workers, are to fall below their target; everything else is to rise."""
    return "loss" in metric.split("_") or "spread" in metric.split("_")
