"""An algorithm of somebody else's package, offered by an entry point: listed, checked and named by recipes."""

import json
import os
import subprocess
import sys

import pytest
import tomli_w

from cli.tiny_recipe import tiny

MODULE = '''
from dataclasses import dataclass
from hiermo import Algorithm, Model

@dataclass(frozen=True, kw_only=True)
class HalfStep(Algorithm):
    """Plain SGD at half the step."""

    eta: float = 0.02
    up = down = Model

    def init(self, x):
        return (Model(x),)

    def step(self, w, down, grad):
        return Model(w.x - self.eta / 2 * grad(w.x))
'''


@pytest.fixture
def hiermo(tmp_path):
    """The command line, where a package `halves` is installed."""
    site = tmp_path / "site"
    (site / "halves-1.0.dist-info").mkdir(parents=True)
    (site / "halves.py").write_text(MODULE)
    (site / "halves-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n")
    (site / "halves-1.0.dist-info/entry_points.txt").write_text("[hiermo.algorithms]\nHalfStep = halves:HalfStep\n")

    def call(*words):
        done = subprocess.run(
            [sys.executable, "-m", "hiermo", *words],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_it_is_checked(hiermo):
    found = json.loads(hiermo("check", "HalfStep", "--json"))
    assert found["algorithm"] == "HalfStep"
    assert all(check["ok"] for check in found["checks"])


def test_it_is_listed(hiermo):
    (row,) = [line for line in hiermo("list", "algorithms").splitlines() if line.startswith("HalfStep ")]
    assert "eta=0.02" in row


def test_a_recipe_can_name_it(hiermo, tmp_path):
    (tmp_path / "r.toml").write_text(tomli_w.dumps(tiny(algorithm={"name": "HalfStep", "eta": 0.1})))
    (run,) = json.loads(hiermo("run", "r.toml", "--out", "o", "--json"))["runs"]
    assert run["label"] == "HalfStep"
    assert run["accuracy"] > 0.1
