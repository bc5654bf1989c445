"""Trackers by name: where evaluations go besides the run directory; nothing is imported before it is asked for."""

from collections.abc import Iterable
from pathlib import Path

from hiermo.core.errors import UserError
from hiermo.core.registry import Registry
from hiermo.experiment.trackers.tracker import Tracker

TRACKERS = Registry(
    "tracker",
    {
        "tensorboard": "hiermo.experiment.trackers.tensorboard:TensorBoard",
        "mlflow": "hiermo.experiment.trackers.mlflow:MLflow",
        "wandb": "hiermo.experiment.trackers.wandb:Wandb",
    },
)


def usable(names: Iterable[str]) -> dict[str, type[Tracker]]:
    """The classes of these names; refuses a name that there is not, and one whose library is missing."""
    found: dict[str, type[Tracker]] = {}
    for name in names:
        kind = TRACKERS.get(name, (Path.cwd(),))
        if not (isinstance(kind, type) and issubclass(kind, Tracker)):
            raise UserError(f"--log {name}: not a hiermo.experiment.trackers.tracker.Tracker")
        kind.check()
        found[name] = kind
    return found
