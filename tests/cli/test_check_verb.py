"""`hiermo check`: a line per check, and an exit code."""

import json
from pathlib import Path
import shutil
import sys

import pytest

from hiermo.checking.check import CHECKS

EXAMPLE = Path(__file__).parents[2] / "examples/server_momentum.py"
BAD = "    def step(self, w, down, grad):  # one local iteration of a worker\n        w.x[...] = 0.0\n"


@pytest.fixture(autouse=True)
def modules(tmp_path, monkeypatch):
    """Three files in the working directory; what is imported from it is forgotten afterwards."""
    shutil.copy(EXAMPLE, tmp_path / "good.py")
    (tmp_path / "bad.py").write_text(
        EXAMPLE.read_text().replace(BAD.splitlines()[0] + "\n", BAD).replace("= 0.01", "= None")
    )
    (tmp_path / "broken.py").write_text("import absent_dependency")
    for name in ("good", "bad", "broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in ("good", "bad", "broken"):
        sys.modules.pop(name, None)


def test_good(hiermo):
    ended = hiermo("check", "good:ServerMomentum")
    assert (ended.code, ended.err) == (0, "")
    assert [line.split("  ")[0].removesuffix(" ok") for line in ended.out.splitlines()] == [c.name for c in CHECKS]
    assert all(line.endswith(" ok") for line in ended.out.splitlines())


def test_a_registered_name(hiermo):
    assert hiermo("check", "FedAvg").code == 0


def test_as_json(hiermo):
    ended = hiermo("check", "good:ServerMomentum", "--json")
    found = json.loads(ended.out)
    assert (ended.code, ended.err, found["algorithm"]) == (0, "", "good:ServerMomentum")
    assert found["checks"] == [{"name": check.name, "ok": True, "message": None} for check in CHECKS]


def test_bad(hiermo):
    ended = hiermo("check", "bad:ServerMomentum")
    assert ended.errors == ["bad:ServerMomentum fails 1 of 3 checks: values"]
    *good, bad = ended.out.splitlines()
    assert all(line.endswith(" ok") for line in good)
    assert bad.startswith("values      eta must be a number, not None (")


def test_bad_as_json(hiermo, tmp_path):
    text = (tmp_path / "bad.py").read_text().replace("= None", "= 0.01")
    (tmp_path / "bad.py").write_text(text)
    ended = hiermo("check", "bad:ServerMomentum", "--json")
    assert ended.errors == ["bad:ServerMomentum fails 1 of 15 checks: in place"]
    *good, bad = json.loads(ended.out)["checks"]
    assert all(check["ok"] and check["message"] is None for check in good)
    assert (bad["name"], bad["ok"]) == ("in place", False)
    assert "`step` raised ValueError: assignment destination is read-only" in bad["message"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("absent:ServerMomentum", "'absent:ServerMomentum': there is no module 'absent' (looked in "),
        ("good:ServerMomentun", "module good has no 'ServerMomentun'; did you mean 'ServerMomentum'?"),
        ("HierMoo", "there is no algorithm 'HierMoo'; did you mean 'HierMo'?"),
        ("good.py", "there is no algorithm 'good.py'"),
        ("a/b:C", "is not an import path: write package.module:Name"),
        ("broken:Any", "'broken:Any' cannot be imported: ModuleNotFoundError: No module named 'absent_dependency'"),
    ],
)
def test_unknown_path(hiermo, path, words):
    assert words in hiermo("check", path).error


def test_not_an_algorithm(hiermo):
    ended = hiermo("check", "good:Aggregator")
    assert ended.errors == ["good:Aggregator fails 1 of 1 checks: dataclass"]
    assert "is not an algorithm" in ended.out
