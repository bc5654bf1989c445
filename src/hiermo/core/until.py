"""Early stop: run until a metric is reached."""

from collections.abc import Mapping

from hiermo.core.errors import UserError

FALLS = {"loss"}  # what is to fall below its target; everything else is to rise


def reached(until: Mapping[str, float], metrics: Mapping[str, float]) -> bool:
    """Whether every target of `until` is met.

    >>> reached({"accuracy": 0.9}, {"accuracy": 0.93, "loss": 0.2})
    True
    """
    for name in until:
        if name not in metrics:
            raise UserError(f"until: there is no metric '{name}'; this problem has {', '.join(metrics)}")
    return all(metrics[k] <= v if k in FALLS or k.endswith("_loss") else metrics[k] >= v for k, v in until.items())
