"""The built wheel, installed into a clean environment with the dependencies it declares, lists and runs a recipe."""

import json
import os
from pathlib import Path
import subprocess
import sys
import venv

import pytest

ROOT = Path(__file__).parents[2]


def call(*words: object, cwd: Path) -> str:
    outside = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.timeout(600)
def test_the_wheel_works_in_a_clean_environment(tmp_path):
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    scripts = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    constraints = ROOT / "constraints.txt"
    call(scripts / "python", "-m", "pip", "install", "-q", "--no-compile", "-c", constraints, wheel, cwd=tmp_path)

    listed = call(scripts / "hiermo", "list", "recipes", cwd=tmp_path)
    assert "quick/digits" in listed
    assert "paper/logistic-mnist" in listed
    words = ("run", "quick/digits", "-s", "train.iterations=40", "--out", "out", "--json")
    runs = json.loads(call(scripts / "hiermo", *words, cwd=tmp_path))["runs"]
    assert [run["algorithm"] for run in runs] == ["HierMo", "HierFAVG", "FedAvg"]
    provenance = json.loads((tmp_path / "out" / "HierMo" / "provenance.json").read_text())
    assert provenance["starts"][0]["git"] is None  # installed, not a checkout
