"""One file = one paper; arithmetic only; files do not import each other."""

from hiermo.core.registry import Registry

ALGORITHMS = Registry(
    "algorithm",
    {
        "HierMo": "hiermo.algorithms.hiermo:HierMo",
        "HierFAVG": "hiermo.algorithms.hierfavg:HierFAVG",
        "FedAvg": "hiermo.algorithms.fedavg:FedAvg",
    },
)
