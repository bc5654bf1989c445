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
    from hiermo.core.problem import Problem
    from hiermo.data.dataset import Dataset
    from hiermo.data.load import load_data
    from hiermo.data.partitioned import Partitioned
    from hiermo.engine.run import run
    from hiermo.engine.state import State
    from hiermo.models.make import make_model
    from hiermo.problems.quadratic import Quadratic
    from hiermo.problems.supervised import Supervised
    from hiermo.topology.tree import Tree

__all__ = [
    "Algorithm",
    "Dataset",
    "Diverged",
    "FedAvg",
    "HierFAVG",
    "HierMo",
    "HiermoError",
    "Model",
    "Partitioned",
    "Problem",
    "Quadratic",
    "State",
    "Supervised",
    "Tree",
    "UserError",
    "__version__",
    "load_data",
    "make_model",
    "run",
]

# where each public name lives: imported on first use, so that `import hiermo` and `hiermo --help` do not wait for torch
_HOME = {
    "Algorithm": "core.algorithm",
    "Dataset": "data.dataset",
    "Diverged": "core.errors",
    "FedAvg": "algorithms.fedavg",
    "HierFAVG": "algorithms.hierfavg",
    "HierMo": "algorithms.hiermo",
    "HiermoError": "core.errors",
    "Model": "core.algorithm",
    "Partitioned": "data.partitioned",
    "Problem": "core.problem",
    "Quadratic": "problems.quadratic",
    "State": "engine.state",
    "Supervised": "problems.supervised",
    "Tree": "topology.tree",
    "UserError": "core.errors",
    "load_data": "data.load",
    "make_model": "models.make",
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
