"""Hierarchical federated learning with momentum at workers and edges."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hiermo._version import __version__

if TYPE_CHECKING:
    from hiermo.algorithms.cfl import CFL
    from hiermo.algorithms.diloco import DiLoCo
    from hiermo.algorithms.domo import DOMO
    from hiermo.algorithms.fastslowmo import FastSlowMo
    from hiermo.algorithms.fedadc import FedADC
    from hiermo.algorithms.fedavg import FedAvg
    from hiermo.algorithms.fedavgm import FedAvgM
    from hiermo.algorithms.fedmom import FedMom
    from hiermo.algorithms.fednag import FedNAG
    from hiermo.algorithms.fedopt import FedAdagrad, FedAdam, FedYogi
    from hiermo.algorithms.fedprox import FedProx
    from hiermo.algorithms.hieradmo import HierAdMo
    from hiermo.algorithms.hierfavg import HierFAVG
    from hiermo.algorithms.hiermo import HierMo
    from hiermo.algorithms.local_sgd import LocalSGD
    from hiermo.algorithms.mime import Mime, MimeLite
    from hiermo.algorithms.scaffold import SCAFFOLD
    from hiermo.algorithms.slowmo import SlowMo
    from hiermo.checking.check import check_algorithm
    from hiermo.clock.absence import Absence
    from hiermo.clock.clock import Clock
    from hiermo.clock.delays import Delays
    from hiermo.core.algorithm import Algorithm, Model
    from hiermo.core.errors import Diverged, HiermoError, UserError
    from hiermo.core.problem import Problem
    from hiermo.data.dataset import Dataset
    from hiermo.data.load import load_data
    from hiermo.data.partitioned import Partitioned
    from hiermo.engine.run import run
    from hiermo.engine.run_many import run_many
    from hiermo.engine.state import State
    from hiermo.experiment.store import load_runs
    from hiermo.models.make import make_model
    from hiermo.problems.quadratic import Quadratic
    from hiermo.problems.supervised import Supervised
    from hiermo.topology.tree import Tree

__all__ = [
    "CFL",
    "DOMO",
    "SCAFFOLD",
    "Absence",
    "Algorithm",
    "Clock",
    "Dataset",
    "Delays",
    "DiLoCo",
    "Diverged",
    "FastSlowMo",
    "FedADC",
    "FedAdagrad",
    "FedAdam",
    "FedAvg",
    "FedAvgM",
    "FedMom",
    "FedNAG",
    "FedProx",
    "FedYogi",
    "HierAdMo",
    "HierFAVG",
    "HierMo",
    "HiermoError",
    "LocalSGD",
    "Mime",
    "MimeLite",
    "Model",
    "Partitioned",
    "Problem",
    "Quadratic",
    "SlowMo",
    "State",
    "Supervised",
    "Tree",
    "UserError",
    "__version__",
    "check_algorithm",
    "load_data",
    "load_runs",
    "make_model",
    "run",
    "run_many",
]

# where each public name lives: imported on first use, so that `import hiermo` and `hiermo --help` do not wait for torch
_HOME = {
    "Absence": "clock.absence",
    "Algorithm": "core.algorithm",
    "CFL": "algorithms.cfl",
    "Clock": "clock.clock",
    "DOMO": "algorithms.domo",
    "Dataset": "data.dataset",
    "Delays": "clock.delays",
    "DiLoCo": "algorithms.diloco",
    "Diverged": "core.errors",
    "FastSlowMo": "algorithms.fastslowmo",
    "FedADC": "algorithms.fedadc",
    "FedAdagrad": "algorithms.fedopt",
    "FedAdam": "algorithms.fedopt",
    "FedAvg": "algorithms.fedavg",
    "FedAvgM": "algorithms.fedavgm",
    "FedMom": "algorithms.fedmom",
    "FedNAG": "algorithms.fednag",
    "FedProx": "algorithms.fedprox",
    "FedYogi": "algorithms.fedopt",
    "HierAdMo": "algorithms.hieradmo",
    "HierFAVG": "algorithms.hierfavg",
    "HierMo": "algorithms.hiermo",
    "HiermoError": "core.errors",
    "LocalSGD": "algorithms.local_sgd",
    "Mime": "algorithms.mime",
    "MimeLite": "algorithms.mime",
    "Model": "core.algorithm",
    "Partitioned": "data.partitioned",
    "Problem": "core.problem",
    "Quadratic": "problems.quadratic",
    "SCAFFOLD": "algorithms.scaffold",
    "SlowMo": "algorithms.slowmo",
    "State": "engine.state",
    "Supervised": "problems.supervised",
    "Tree": "topology.tree",
    "UserError": "core.errors",
    "check_algorithm": "checking.check",
    "load_data": "data.load",
    "load_runs": "experiment.store",
    "make_model": "models.make",
    "run": "engine.run",
    "run_many": "engine.run_many",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hiermo' has no attribute '{name}'")
    value = getattr(import_module(f"hiermo.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
