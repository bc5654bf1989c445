"""What the page beside other frameworks says of hiermo is so, and of the others as far as their packages are here.

Files of the others are looked up where HIERMO_PEERS names the folder of their environments
(`benchmarks/peers/make_environments.sh`, its `.venvs`).
"""

import os
from pathlib import Path
import re

import pytest
import typer

import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.cli.app import app
from hiermo.data.sources import SOURCES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/comparison.md").read_text()
BEGIN, END = "<!-- short -->", "<!-- /short -->"
PACKAGES = {"flgo": "flgo", "fedml": "fedml", "flower": "flwr", "pfl": "pfl", "fluke": "fluke"}


def between(text: str) -> str:
    return text.partition(BEGIN)[2].partition(END)[0]


def row(label: str) -> list[str]:
    """The cells of the page's last row of this name, hiermo's first."""
    found = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith(f"| {label} |")]
    return found[-1][1:]


def test_the_readme_has_the_short_table():
    readme = (ROOT / "README.md").read_text()
    if BEGIN not in readme:
        pytest.skip("the README has no marks for the table")
    assert between(readme) == between(PAGE)


def test_all_rows_have_all_columns():
    tables = re.findall(r"(?:^\|.*\n)+", PAGE, flags=re.MULTILINE)
    assert len(tables) == 5
    for table in tables:
        assert {line.count(" | ") for line in table.splitlines() if "---" not in line} == {6}
    assert 8 <= between(PAGE).count("\n|") - 2 <= 12


@pytest.mark.parametrize("peer", PACKAGES)
def test_the_versions_are_the_pinned_ones(peer):
    pinned = (ROOT / f"benchmarks/peers/requirements/{peer}.txt").read_text().splitlines()[0]
    assert f"({pinned.replace('==', ' ')})" in PAGE


def test_what_it_says_of_hiermo():
    assert f"hiermo {hiermo.__version__}," in PAGE
    assert row("algorithms by name")[0] == str(len(ALGORITHMS.names()))
    files = {"arrays", "csv", "images", "hugging-face"}
    assert row("data sets by name")[0] == f"{len(set(SOURCES.names()) - files)}, and four kinds of files"
    wide = row("algorithms that use edges")[0].replace(";", ",").split(", ")
    assert {name.removesuffix(" on three tiers") for name in wide} == {
        name for name in ALGORITHMS.names() if ALGORITHMS.get(name).tiers != 2
    }
    shipped = row("FedAdam, FedYogi, FedAdagrad"), row("SCAFFOLD"), row("FedProx"), row("FedAvgM")
    assert {cells[0] for cells in shipped} == {"yes"}


def test_its_verbs_are_those_of_the_command_line():
    assert set(re.findall(r"`hiermo (\w+)`", PAGE)) <= set(typer.main.get_command(app).commands)


@pytest.mark.parametrize("peer", PACKAGES)
def test_the_files_are_there(peer):
    package = PACKAGES[peer]
    named = re.findall(rf"`({package}/[\w/]+\.py)`", PAGE)
    assert named
    if "HIERMO_PEERS" not in os.environ:
        pytest.skip("HIERMO_PEERS names no environments of theirs")
    (site,) = Path(os.environ["HIERMO_PEERS"], peer).glob("lib/python3*/site-packages")
    assert [name for name in named if not (site / name).is_file()] == []


def test_the_ten_of_the_paper():
    """Names that the packages have, counted in the short table as they are listed in the long one."""
    listed = row("the ten of the HierMo paper")
    counts = re.search(r"of the ten algorithms in the HierMo paper \| (.*) \|", PAGE)[1].split(" | ")
    assert listed[0] == "all" and counts[0] == "10"
    assert [str(len(cell.split(", "))) for cell in listed[1:]] == counts[1:]
    ten = ("HierMo", "HierFAVG", "CFL", "DOMO", "FedADC", "FedMom", "SlowMo", "FedNAG", "Mime", "FedAvg")
    assert set(ten) <= set(ALGORITHMS.names())
