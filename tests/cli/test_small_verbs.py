"""`hiermo init`, `list`, `doctor`, and the command line's own answers."""

import subprocess
import sys

import pytest

from hiermo import __version__

LIGHT = """
import sys
from hiermo.cli.app import main
for words in sys.stdin.read().splitlines():
    sys.argv = ["hiermo", *words.split()]
    try:
        main()
    except SystemExit as ended:
        heavy = [name for name in ("torch", "matplotlib", "pandas", "sklearn") if name in sys.modules]
        sys.stderr.write(f"{words}: {ended.code or 0} {heavy}\\n")
"""


def test_init_writes_a_recipe_that_runs_as_it_is(hiermo, tmp_path):
    ended = hiermo("init")
    assert ended.code == 0
    assert ended.out == "wrote recipe.toml; run it with: hiermo run recipe.toml\n"
    text = (tmp_path / "recipe.toml").read_text()
    assert text.count("#") > 15
    runs = hiermo("run", "recipe.toml", "-s", "train.iterations=40", "--json").runs
    assert [run["label"] for run in runs] == ["HierMo", "HierFAVG"]
    assert all(run["accuracy"] > 0.2 for run in runs)


def test_init_overwrites_nothing(hiermo, tmp_path):
    (tmp_path / "recipe.toml").write_text("mine")
    (tmp_path / "folder").mkdir()
    assert hiermo("init").error == "recipe.toml exists already: name another file"
    assert (tmp_path / "recipe.toml").read_text() == "mine"
    assert hiermo("init", "folder").code == 0
    assert (tmp_path / "folder/recipe.toml").read_text().startswith("# A recipe")
    assert hiermo("init", "folder").error == "folder/recipe.toml exists already: name another file"
    assert hiermo("init", "other.toml").code == 0
    assert hiermo("init", "nowhere/r.toml").error == "nowhere/r.toml: cannot be written: No such file or directory"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("algorithms", ["HierMo", "worker and edge", "2/2", "FedADC", "1/2", "fedadc", "gamma_a=0.5", "LocalSGD"]),
        ("datasets", ["mnist-5k", "mnist", "synthetic", "samples=2000", "yes"]),
        ("models", ["linear", "logistic", "cnn", "hidden=(512,)"]),
        ("recipes", ["quick/digits", "HierMo against HierFAVG"]),
    ],
)
def test_list(hiermo, what, words):
    ended = hiermo("list", what)
    assert ended.code == 0
    assert all(word in ended.out for word in words), ended.out


def test_list_says_which_data_is_here(hiermo, monkeypatch, tmp_path):
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path))
    (row,) = [line for line in hiermo("list", "datasets").out.splitlines() if line.startswith("mnist ")]
    assert row.split()[1] == "no"


def test_doctor(hiermo, monkeypatch, tmp_path):
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path))
    ended = hiermo("doctor")
    assert ended.code == 0
    for word in (
        __version__,
        "python",
        "torch",
        "cores",
        "memory",
        "devices",
        "cpu",
        "set by HIERMO_DATA",
        "not found",
        "batched for stacks of fully connected layers",
    ):
        assert word in ended.out


def test_doctor_tells_how_a_recipe_would_be_computed(hiermo):
    ended = hiermo("doctor", "quick/digits")
    (row,) = [line for line in ended.out.splitlines() if line.startswith("gradients of quick/digits")]
    assert row.endswith("pooled: it has a Conv2d")
    assert hiermo("doctor", "no-such-recipe").code == 2


def test_version_and_help(hiermo):
    assert hiermo("--version") == (0, f"hiermo {__version__}\n", "")
    for ask in (["--help"], ["-h"]):
        ended = hiermo(*ask)
        assert ended.code == 0
        assert all(verb in ended.out for verb in ("run", "resume", "init", "list", "doctor", "hiermo run quick/digits"))
    helped = hiermo("run", "--help").out
    assert all(word in helped for word in ("RECIPE", "KEY=VALUE", "--out", "--seed", "--dry-run", "--json"))


def test_no_arguments_show_the_help(hiermo):
    ended = hiermo()
    assert ended.code == 2
    assert "resume" in ended.out + ended.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["train"], "'train'"),
        (["run"], "RECIPE"),
        (["run", "quick/digits", "--sed", "1"], "--sed"),
        (["run", "quick/digits", "--seed", "x"], "--seed"),
        (["run", "quick/digits", "--seed", "-1"], "--seed"),
        (["list", "colours"], "colours"),
        (["list"], "algorithms|datasets"),
        (["resume"], "DIR"),
        (["resume", "o", "--iterations", "many"], "--iterations"),
    ],
)
def test_wrong_words(hiermo, words, named):
    ended = hiermo(*words)
    assert ended.code == 2
    assert not ended.out
    assert named in ended.err
    assert "Traceback" not in ended.err


def test_what_needs_no_torch_does_not_import_it(tmp_path):
    codes = {
        "--help": 0,
        "--version": 0,
        "run --help": 0,
        "list algorithms": 0,
        "list datasets": 0,
        "list models": 0,
        "list recipes": 0,
        "check FedAvg": 0,
        "init": 0,
        "run nothing.toml": 2,
        "run quick/digits -s train.iterations=7": 2,
        "resume nothing": 2,
    }
    words = [sys.executable, "-c", LIGHT]
    ended = subprocess.run(words, input="\n".join(codes), cwd=tmp_path, capture_output=True, text=True, check=True)
    told = [line for line in ended.stderr.splitlines() if not line.startswith("error: ")]
    assert told == [f"{words}: {code} []" for words, code in codes.items()]


SPY = """
import sys, os, pathlib
class Spy:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            sys.meta_path.remove(self)
            found = sorted(str(file) for file in pathlib.Path("o").rglob("*.toml"))
            print(found, flush=True)
            os._exit(7)
sys.meta_path.insert(0, Spy())
"""


def test_the_resolved_recipe_is_written_before_torch_is_imported(recipe, tmp_path, monkeypatch):
    (tmp_path / "path").mkdir()
    (tmp_path / "path/sitecustomize.py").write_text(SPY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    recipe(algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}])
    words = [sys.executable, "-m", "hiermo", "run", "r.toml", "--out", "o"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 7, ended.stderr
    assert ended.stdout == "['o/HierFAVG/recipe.toml', 'o/HierMo/recipe.toml']\n"
