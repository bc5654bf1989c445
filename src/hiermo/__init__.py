"""Hierarchical federated learning with momentum at workers and edges."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hiermo._version import __version__

if TYPE_CHECKING:
    from hiermo.algorithms.fedavg import FedAvg
    from hiermo.algorithms.hierfavg import HierFAVG
    from hiermo.algorithms.hiermo import HierMo
    from hiermo.core.algorithm import Algorithm, Model
    from hiermo.core.errors import Diverged, HiermoError, UserError
    from hiermo.engine.run import run
    from hiermo.engine.state import State
    from hiermo.problems.quadratic import Quadratic
    from hiermo.topology.tree import Tree

__all__ = [
    "Algorithm",
    "Diverged",
    "FedAvg",
    "HierFAVG",
    "HierMo",
    "HiermoError",
    "Model",
    "Quadratic",
    "State",
    "Tree",
    "UserError",
    "__version__",
    "run",
]

# where each public name lives: imported on first use, so that `import hiermo` and `hiermo --help` do not wait for torch
_HOME = {
    "Algorithm": "core.algorithm",
    "Diverged": "core.errors",
    "FedAvg": "algorithms.fedavg",
    "HierFAVG": "algorithms.hierfavg",
    "HierMo": "algorithms.hiermo",
    "HiermoError": "core.errors",
    "Model": "core.algorithm",
    "Quadratic": "problems.quadratic",
    "State": "engine.state",
    "Tree": "topology.tree",
    "UserError": "core.errors",
    "run": "engine.run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hiermo' has no attribute '{name}'")
    value = getattr(import_module(f"hiermo.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
