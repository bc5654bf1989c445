"""The examples of one's own data run, from files that their script makes, and learn."""

from itertools import pairwise
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import train

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/own-data"
PAGE = (ROOT / "docs/own-data.md").read_text()
# accuracy after 60 iterations must be well above chance (0.1, for wines and irises 0.33, for tumours 0.63)
AT_LEAST = {
    "arrays": 0.6,
    "csv": 0.7,
    "file_per_worker": 0.7,
    "function": 0.8,
    "hugging_face": 0.6,
    "images": 0.4,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the examples, with their data."""
    copy = tmp_path_factory.mktemp("own data") / "examples"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("made", "__pycache__", "runs"))
    done = subprocess.run([sys.executable, copy / "make_data.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return copy


def run(recipe, out):
    """The last evaluation."""
    (directory,) = create(out, recipe)
    for _ in train(directory, directory.recipe(), problem_of(recipe)):
        pass
    return directory.evaluations()[-1]


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Nothing goes into the user's cache."""
    datasets = pytest.importorskip("datasets", reason="the extra huggingface is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def test_every_example_is_tried():
    assert sorted(file.stem for file in EXAMPLES.glob("*.toml")) == sorted(AT_LEAST)


@pytest.mark.parametrize("name", AT_LEAST)
def test_it_learns(name, folder, tmp_path, request):
    if name == "hugging_face":
        request.getfixturevalue("alone")
    recipe = recipe_file.load(str(folder / f"{name}.toml"), ["train.iterations=60"])
    assert run(recipe, tmp_path / "out")["accuracy"] >= AT_LEAST[name]


def test_the_same_data_in_two_ways_is_the_same_run(folder, tmp_path, alone):
    """An .npz file and pictures in parquet: the same samples, the same test part, the same numbers."""
    recipes = [
        recipe_file.load(str(folder / f"{name}.toml"), ["train.iterations=20"]) for name in ("arrays", "hugging_face")
    ]
    one, other = (run(recipe, tmp_path / recipe.name) for recipe in recipes)
    assert (one["accuracy"], one["loss"]) == (other["accuracy"], other["loss"])


def test_each_worker_has_its_own_file(folder):
    recipe = recipe_file.load(str(folder / "file_per_worker.toml"))
    data = recipe.source.made.load(Path())
    strengths = [data.train_x[data.owners == worker, 0] for worker in range(4)]
    assert all(weaker.max() <= stronger.min() for weaker, stronger in pairwise(strengths))


@pytest.mark.parametrize("name", AT_LEAST)
def test_they_are_short(name):
    lines = [line for line in (EXAMPLES / f"{name}.toml").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) <= 6


def test_the_page_shows_the_examples():
    """What it shows is valid, and what it shows of the table is the example."""
    shown = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(shown) == 6
    for block in shown:
        assert len(block.splitlines()) == 5
        parse(tomllib.loads(block), folders=(EXAMPLES,))
    csv = "".join((EXAMPLES / "csv.toml").read_text().splitlines(keepends=True)[1:])
    assert csv in shown


def test_the_code_on_the_page_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "(4, 4, 4, 4) ('setosa', 'versicolor')\n"), done.stderr


def test_links_on_the_page_lead_to_files():
    for page in (ROOT / "docs/own-data.md", EXAMPLES / "README.md"):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"
