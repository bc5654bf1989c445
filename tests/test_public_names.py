"""The public surface, pinned: a change here is a change for users."""

import subprocess
import sys

import hiermo


def test_public_names():
    assert hiermo.__all__ == [
        "CFL", "DOMO", "SCAFFOLD", "Absence", "Algorithm", "Clock", "Dataset", "Delays", "DiLoCo", "Diverged",
        "FastSlowMo", "FedADC", "FedAdagrad", "FedAdam", "FedAvg", "FedAvgM", "FedMom", "FedNAG", "FedProx", "FedYogi",
        "HierAdMo", "HierFAVG", "HierMo", "HiermoError", "LocalSGD", "Mime", "MimeLite", "Model", "Partitioned",
        "Problem", "Quadratic", "SlowMo", "State", "Supervised", "Tree", "UserError", "__version__", "check_algorithm",
        "load_data", "load_runs", "make_model", "run", "run_many",
    ]  # fmt: skip
    assert all(hasattr(hiermo, name) for name in hiermo.__all__)
    assert dir(hiermo) == sorted(hiermo.__all__)


def test_importing_hiermo_does_not_import_torch():
    code = "import sys, hiermo; hiermo.Tree; hiermo.HierMo(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
