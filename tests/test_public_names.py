"""The public surface, pinned: a change here is a change for users."""

import subprocess
import sys

import hiermo


def test_public_names():
    assert hiermo.__all__ == [
        "Algorithm", "Dataset", "Diverged", "FedAvg", "HierFAVG", "HierMo", "HiermoError", "Model", "Partitioned",
        "Problem", "Quadratic", "State", "Supervised", "Tree", "UserError", "__version__", "load_data", "make_model",
        "run",
    ]  # fmt: skip
    assert all(hasattr(hiermo, name) for name in hiermo.__all__)
    assert dir(hiermo) == hiermo.__all__


def test_importing_hiermo_does_not_import_torch():
    code = "import sys, hiermo; hiermo.Tree; hiermo.HierMo(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
