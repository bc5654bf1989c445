"""What the pages quote is what the files say; that their code runs is test_every_block.py's."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import re
import subprocess
import sys
import tomllib
from typing import Any

from page_blocks import ROOT, blocks

import hiermo
from hiermo.experiment.recipe import parse

USUAL = {
    "data": "mnist-5k",
    "model": "logistic",
    "tree": {"edges": 2, "workers_per_edge": 2},
    "train": {"iterations": 20},
    "algorithm": "HierMo",
}


def written(document: str, language: str = "python") -> list[str]:
    return [block.text for block in blocks(ROOT / document) if block.language == language]


def loaded(script: str) -> Any:
    spec = spec_from_file_location(Path(script).stem, ROOT / script)
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_readme_shows_hiermo_whole():
    assert (ROOT / "src/hiermo/algorithms/hiermo.py").read_text() in written("README.md")


def test_the_example_algorithm_is_the_one_explained():
    explained = written("CONTRIBUTING.md")[0]
    example = (ROOT / "examples/server_momentum.py").read_text()
    assert explained in example
    assert len(explained.splitlines()) <= 40


def test_links_lead_to_files():
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#\s]+)", document.read_text()):
            assert target.startswith("https://") or (document.parent / target).exists(), f"{document}: {target}"


def test_what_the_page_on_data_comments_out_is_understood_too():
    others = re.findall(r"^# (partition = .*)$", (ROOT / "docs/data.md").read_text(), flags=re.MULTILINE)
    assert len(others) == 3
    for other in others:
        parse({**USUAL, "data": {"source": "mnist", **tomllib.loads(other)}})


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
    made = loaded("docs/make_algorithm_pages.py")
    for name in made.ALGORITHMS.names():
        assert (ROOT / f"docs/algorithms/{name}.md").read_text() == made.page(name), name
        assert (ROOT / f"docs/algorithms/{name}.svg").is_file()


def test_the_trace_of_the_page_on_time_is_understood(tmp_path):
    (trace,) = [text for text in written("docs/clock.md", "text") if text.startswith("node,kind")]
    (tmp_path / "trace.csv").write_text(trace)
    parse({**USUAL, "delays": {"trace": str(tmp_path / "trace.csv")}})


def test_the_reference_pages_are_those_of_the_code(monkeypatch):
    """After a change of a verb, a key of a recipe or a decision: python docs/make_reference_pages.py."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    for name, page in loaded("docs/make_reference_pages.py").PAGES.items():
        assert (ROOT / "docs" / name).read_text() == page(), name


def test_the_library_page_has_every_public_name_once():
    shown = re.findall(r"^::: hiermo\.(\w+)$", (ROOT / "docs/reference.md").read_text(), flags=re.MULTILINE)
    assert sorted(shown) == sorted(set(hiermo.__all__) - {"__version__"})
