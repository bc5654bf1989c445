"""With what a run was made."""

import json
import shutil
import subprocess

import numpy
import pytest
import torch

from hiermo import __version__
from hiermo.experiment import provenance as made_with
from hiermo.experiment.provenance import git_state, library_version, provenance


def test_what_it_says():
    entry = provenance(seed=3, gradients="pooled", threads=2, device="cpu")
    assert json.loads(json.dumps(entry)) == entry
    assert entry["hiermo"] == __version__
    assert entry["libraries"]["torch"] == torch.__version__
    assert entry["libraries"]["numpy"] == numpy.__version__
    assert (entry["seed"], entry["threads"], entry["device"]) == (3, 2, "cpu")
    assert entry["started"].endswith("+00:00")
    assert entry["cores"] >= 1
    assert entry["cpu"]
    assert entry["platform"]
    assert library_version("no-such-library") is None


def test_no_git_is_no_error(monkeypatch, tmp_path):
    assert git_state(tmp_path) is None  # not a checkout
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) is None  # no git at all


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_commit_and_changes(monkeypatch, tmp_path):
    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    file = tmp_path / "provenance.py"
    file.write_text("")
    monkeypatch.setattr(made_with, "__file__", str(file))
    git("init", "-q")
    assert git_state(tmp_path) is None  # in a checkout, but not of it: installed into a folder of someone's project
    git("add", ".")
    git("commit", "-q", "-m", "one")
    assert git_state(tmp_path) == {"commit": git("rev-parse", "HEAD").strip(), "dirty": False}
    (tmp_path / "new").write_text("")
    assert git_state(tmp_path)["dirty"] is True
