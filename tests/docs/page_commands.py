"""How the lines of a `sh` block are run: `hiermo` in this process, and shortened, so that a page takes seconds.

Whatever is not run is still held against what there is: verbs and options, targets, files, extras.
"""

from itertools import pairwise, takewhile
from math import prod
import os
from pathlib import Path
import re
import shlex
import subprocess
import sys
import tomllib
from unittest.mock import patch
import warnings

from page_blocks import ROOT
from page_props import put
from typer.testing import CliRunner

from hiermo.cli.app import app
from hiermo.core.units import seconds_of
from hiermo.data.directory import data_directory
from hiermo.experiment import recipe_file
from hiermo.experiment.recipe import Recipe

# lines of `hiermo` that are read and not run, and why
NOT_RUN = {
    r"data import ": "needs files of the reader's",
    r"watch\b": "serves a page until it is stopped; tests/cli/test_watch_verb.py",
    r"measure .*--(serve|peer)": "needs two machines; tests/cli/test_measure_verb.py runs both ends",
    r"tune .*--verify": "trains at a whole grid; tests/cli/test_tune_verb.py does so on a small one",
    r"reproduce (?!--list)": "minutes to hours; tests/recipes/test_studies.py makes each of them small",
    r"run .*\bpaper/": "hours; tests/recipes/test_shipped_recipes.py trains each for a moment",
}
MAKES = ("init", "--out", "--to")  # the word after these is a file that the line writes


def run_line(line: str, folder: Path) -> None:
    words = shlex.split(line, comments=True)
    given = dict(word.split("=", 1) for word in takewhile(lambda word: re.match(r"[A-Z_]+=", word), words))
    words = words[len(given) :]
    if not words:
        return
    put(folder, " ".join(word for before, word in zip(["", *words], words, strict=False) if before not in MAKES))
    if any(mark in words for mark in ("|", "&&", ">", ";")):
        _shell(line, folder)
        return
    run = RUN.get(words[0], lambda _, folder: _shell(line, folder))
    if not given:
        run(words, folder)
        return
    with patch.dict(os.environ, {name: value for name, value in given.items() if value != "..."}):
        run(words, folder)


def _hiermo(words: list[str], folder: Path) -> None:
    words = [found for word in words[1:] for found in _expanded(_resolved(word, words[1], folder), folder)]
    line = " ".join(words)
    recipe = _recipe(words)
    if any(re.match(pattern, line) for pattern in NOT_RUN) or _lacks_data(words, recipe):
        invoke([*words, "--help"])  # refuses a verb or an option that is not there
    else:
        invoke([*words, *_shorter(words, recipe)])


def invoke(words: list[str]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what a command warns of is no failure to its user
        ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, f"hiermo {shlex.join(words)}\n{ended.output}\n{ended.exception!r}"
    return ended.stdout


def _resolved(word: str, verb: str, folder: Path) -> str:
    """`runs/digits-...` is the newest whose name begins so; to export, one of the runs in it."""
    if not word.endswith("...") or word == "...":
        return word
    begun = [path for path in folder.glob(word.removesuffix("...") + "*") if _runs(path)]
    assert begun, f"no run directory is called {word}"
    newest = max(begun, key=lambda path: path.stat().st_mtime)
    return (_runs(newest)[0] if verb == "export" else newest).relative_to(folder).as_posix()


def _expanded(word: str, folder: Path) -> list[str]:
    """`runs/*`, as bash would; the values of settings are none of its business."""
    found = [] if "*" not in word or "=" in word else sorted(folder.glob(word))
    return [path.relative_to(folder).as_posix() for path in found] or [word]


def _runs(path: Path) -> list[Path]:
    """A run directory, or those in a folder of several."""
    return sorted(file.parent for file in (*path.glob("recipe.toml"), *path.glob("*/recipe.toml")))


def _recipe(words: list[str]) -> Recipe | None:
    """The recipe that a line names, with what it sets."""
    named = [word for word in words[1:] if re.fullmatch(r"[\w./-]+\.toml|(quick|paper)/[\w-]+", word)]
    settings = [word for before, word in pairwise(words) if before in ("-s", "--set")]
    if not named or "init" in words:
        return None
    plain = [each for each in settings if ".." not in each]  # ranges of a sweep are its own matter
    return recipe_file.load(named[0], plain) if Path(named[0]).exists() or "/" in named[0] else None


def _lacks_data(words: list[str], recipe: Recipe | None) -> bool:
    if words[:2] == ["data", "fetch"]:
        return not (data_directory() / words[2]).is_dir()
    return recipe is not None and recipe.source.made.find(data_directory()) is None


def _shorter(words: list[str], recipe: Recipe | None) -> list[str]:
    """What is added to a line so that it takes a moment: one cloud round of small batches, a small budget."""
    short = 20 if recipe is None else prod(recipe.periods)
    if words[0] in ("run", "sweep"):
        long = [] if "--dry-run" in words else ["-s", f"train.iterations={short}"]
        return ["-s", "train.batch=4", *long]
    if words[0] == "resume" and "--iterations" in words:
        return ["--iterations", str(2 * short)]
    if words[0] == "tune":
        assert seconds_of(words[words.index("--budget") + 1]), words  # the later of two counts
        return ["--budget", "5s"]
    if words[0] == "rm":
        return ["--yes"]  # nobody is there to be asked
    others = {"bounds": ["--iterations", str(short)], "forecast": ["--rounds", "1"], "retime": ["--draws", "2"]}
    return others.get(words[0], [])


def _make(words: list[str], folder: Path) -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    targets = [word for word in words[1:] if "=" not in word]
    assert targets and set(targets) <= set(phony.split()), words


def _pip(words: list[str], folder: Path) -> None:
    """Installs ours, with extras that there are, or from a checkout."""
    assert words[:2] == ["pip", "install"], words
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for word in words[2:]:
        ours = re.fullmatch(r"(?:hiermo|\.)(?:\[([\w,-]+)\])?", word)
        assert not ours or set((ours[1] or "").split(",")) <= {"", *extras}, word


def _git(words: list[str], folder: Path) -> None:
    assert words[:2] == ["git", "clone"] and words[2].startswith("https://"), words


def _cd(words: list[str], folder: Path) -> None:
    """Into the checkout or a folder of it; what a page needs of it is put where the page is run."""
    assert words[1] == "hiermo" or (ROOT / words[1]).is_dir(), words


def _python(words: list[str], folder: Path) -> None:
    """Our own scripts are studies of minutes and hours, whose numbers are kept beside them: they must be there."""
    if (script := next((word for word in words[1:] if word.endswith(".py")), "")).startswith(("docs/", "benchmarks/")):
        assert (ROOT / script).is_file(), words
        compile((ROOT / script).read_text(encoding="utf-8"), script, "exec")
    else:
        _shell(shlex.join([sys.executable, *words[1:]]), folder)


def _export(words: list[str], folder: Path) -> None:
    os.environ.update(word.split("=", 1) for word in words[1:])  # for the rest of the page


def _script(words: list[str], folder: Path) -> None:
    assert os.access(ROOT / words[0], os.X_OK), words


def _activate(words: list[str], folder: Path) -> None:
    assert words[1:] == [".venv/bin/activate"] and "VENV := .venv\n" in (ROOT / "Makefile").read_text(), words


def _shell(line: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", line]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


RUN = {
    "hiermo": _hiermo,
    "make": _make,
    "pip": _pip,
    "git": _git,
    "cd": _cd,
    "python": _python,
    "source": _activate,
    "export": _export,
    "benchmarks/peers/make_environments.sh": _script,
}
