"""The code in README, CONTRIBUTING and the page on tuning runs, and what they quote is what the files say."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import re
import subprocess
import sys
import tomllib

import pytest

from hiermo.experiment.recipe import parse

ROOT = Path(__file__).parents[2]


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/tuning.md"])
def test_its_code_runs_when_pasted(document, tmp_path):
    """All blocks one after the other, as a reader would, in a folder that has none of our files."""
    script = tmp_path / "pasted.py"
    script.write_text("\n".join(blocks(document)))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= 1


def test_the_readme_shows_hiermo_whole():
    assert (ROOT / "src/hiermo/algorithms/hiermo.py").read_text() in blocks("README.md")


def test_the_example_algorithm_is_the_one_explained():
    explained = blocks("CONTRIBUTING.md")[0]
    example = (ROOT / "examples/server_momentum.py").read_text()
    assert explained in example
    assert len(explained.splitlines()) <= 40


def test_links_lead_to_files():
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)", document.read_text()):
            assert target.startswith("https://") or (document.parent / target).exists(), f"{document}: {target}"


def test_the_recipes_of_the_page_on_data_are_understood():
    shown = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/data.md").read_text(), flags=re.DOTALL)
    assert len(shown) == 4
    usual = {
        "data": "mnist",
        "model": "logistic",
        "tree": {"edges": 2, "workers_per_edge": 2},
        "train": {"iterations": 20},
        "algorithm": "HierMo",
    }
    for text in shown:
        parse({**usual, **tomllib.loads(text)})
        for other in re.findall(r"^# (partition = .*)$", text, flags=re.MULTILINE):
            parse({**usual, "data": {"source": "mnist", **tomllib.loads(other)}})


def test_the_example_runs_from_its_recipe(tmp_path):
    words = ["run", ROOT / "examples/server_momentum.toml", "-s", "train.iterations=40", "--out", tmp_path / "out"]
    done = subprocess.run([sys.executable, "-m", "hiermo", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ServerMomentum" in done.stdout


def test_make_help_lists_every_target():
    text = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make (\w+)", shown, flags=re.MULTILINE)) == set(phony.split())


def test_the_algorithm_pages_are_those_of_the_algorithms():
    """After a change of an algorithm file: python docs/make_algorithm_pages.py."""
    spec = spec_from_file_location("make_algorithm_pages", ROOT / "docs/make_algorithm_pages.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    for name in made.ALGORITHMS.names():
        assert (ROOT / f"docs/algorithms/{name}.md").read_text() == made.page(name), name
        assert (ROOT / f"docs/algorithms/{name}.svg").is_file()


def test_the_page_on_time_is_right(tmp_path):
    """Its tables are understood, and its code runs."""
    page = (ROOT / "docs/clock.md").read_text()
    usual = {"data": "mnist-5k", "model": "logistic", "train": {"iterations": 20}, "algorithm": "HierMo"}
    usual["tree"] = {"edges": 2, "workers_per_edge": 5}
    shown = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert len(shown) == 4
    for text in shown:
        parse({**usual, **tomllib.loads(text)})
    trace = tmp_path / "trace.csv"
    trace.write_text(re.search(r"```text\n(node,kind.*?)```", page, flags=re.DOTALL)[1])
    parse({**usual, "delays": {"trace": str(trace)}})
    script = tmp_path / "pasted.py"
    script.write_text("\n".join(blocks("docs/clock.md")))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5
