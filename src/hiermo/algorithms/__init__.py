"""One file = one paper; arithmetic only; files do not import each other."""

from hiermo.core.registry import Registry

# the ten of the HierMo paper in the order of its table, then those beyond it
ALGORITHMS = Registry(
    "algorithm",
    {
        "HierMo": "hiermo.algorithms.hiermo:HierMo",
        "HierFAVG": "hiermo.algorithms.hierfavg:HierFAVG",
        "CFL": "hiermo.algorithms.cfl:CFL",
        "DOMO": "hiermo.algorithms.domo:DOMO",
        "FedADC": "hiermo.algorithms.fedadc:FedADC",
        "FedMom": "hiermo.algorithms.fedmom:FedMom",
        "SlowMo": "hiermo.algorithms.slowmo:SlowMo",
        "FedNAG": "hiermo.algorithms.fednag:FedNAG",
        "Mime": "hiermo.algorithms.mime:Mime",
        "MimeLite": "hiermo.algorithms.mime:MimeLite",
        "FedAvg": "hiermo.algorithms.fedavg:FedAvg",
        "FastSlowMo": "hiermo.algorithms.fastslowmo:FastSlowMo",
        "HierAdMo": "hiermo.algorithms.hieradmo:HierAdMo",
        "FedProx": "hiermo.algorithms.fedprox:FedProx",
        "SCAFFOLD": "hiermo.algorithms.scaffold:SCAFFOLD",
        "FedAdam": "hiermo.algorithms.fedopt:FedAdam",
        "FedYogi": "hiermo.algorithms.fedopt:FedYogi",
        "FedAdagrad": "hiermo.algorithms.fedopt:FedAdagrad",
        "FedAvgM": "hiermo.algorithms.fedavgm:FedAvgM",
        "DiLoCo": "hiermo.algorithms.diloco:DiLoCo",
        "LocalSGD": "hiermo.algorithms.local_sgd:LocalSGD",
    },
)
