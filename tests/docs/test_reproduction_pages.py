"""The pages about the paper say what the committed results say, and those are of the recipes as they are."""

from pathlib import Path
import re
import sys

import pytest

from hiermo.reproduction.plan import Size, runs_of
from hiermo.reproduction.results import read
from hiermo.reproduction.study import studies

FOLDER = Path(__file__).parents[2] / "docs/reproduction"
sys.path.insert(0, str(FOLDER))
import make_pages  # noqa: E402

MADE = {of.study.name: of for of in make_pages.all_studies()}


@pytest.mark.parametrize("name", MADE)
def test_a_page_is_what_its_results_make(name):
    page = (FOLDER / f"{name}.md").read_text()
    assert page == make_pages.page_of(MADE[name]), "run python docs/reproduction/make_pages.py"
    picture = FOLDER / f"{name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.name in page


def test_the_page_about_all_is_what_they_make():
    assert (FOLDER / "index.md").read_text() == make_pages.index(list(MADE.values()))


@pytest.mark.parametrize("name", MADE)
def test_results_are_of_the_recipes_as_they_are(name):
    """A run is known by all that it depends on: a recipe that was changed has no results any more."""
    study, kept = studies()[name], read(FOLDER / f"{name}.json")
    chosen = [tuple(pair) for pair in kept.extra.get("chosen", [])]
    planned = {run.of for run in runs_of(study, Size(iterations=study.length), chosen)}
    assert kept.runs.keys() <= planned
    for run in kept.runs.values():
        assert run.error is not None or run.about.keys() == {"date", "hiermo", "commit", "torch", "cpu"}


def test_numbers_in_notes_are_those_of_the_tables():
    """Accuracies with two digits that a person wrote stand in a table of the same page, or of one that it links to."""
    wrong = []
    for path in sorted((FOLDER / "notes").glob("*.txt")):
        text = path.read_text()
        pages = [FOLDER / f"{path.stem}.md", *(FOLDER / each for each in re.findall(r"\(([\w-]+\.md)\)", text))]
        tables = "\n".join(page.read_text().partition("## What agrees")[0] for page in pages if page.is_file())
        data = "".join(page.with_suffix(".json").read_text() for page in pages if page.with_suffix(".json").is_file())
        for number in re.findall(r"\b\d\d\.\d\d\b(?= %)", text):
            if number not in tables and f"0.{number.replace('.', '')}" not in data:
                wrong.append(f"{path.name}: {number}")
    assert wrong == []
