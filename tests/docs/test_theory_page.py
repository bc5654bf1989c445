"""The page on the theorems says what was measured."""

from importlib.util import module_from_spec, spec_from_file_location
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def script():
    spec = spec_from_file_location("check_theorems", DOCS / "theory/check_theorems.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def numbers():
    return json.loads((DOCS / "theory/numbers.json").read_text())


def test_its_tables_are_those_of_the_numbers(script, numbers):
    """After a change of either: python docs/theory/check_theorems.py page."""
    assert (DOCS / "theory.md").read_text() == script.page(numbers)


def test_what_it_says_in_words_is_so(numbers):
    def holds(name, theorem, kind):
        (found,) = [each for each in numbers[name]["theorems"] if each["name"] == theorem]
        return found[kind]["holds"]

    runs = ("digits", "digits-strong-momentum", "unlike-edges")
    assert all(holds(name, "Theorem 1", "printed") for name in runs)
    assert all(holds(name, each, "corrected") for name in runs for each in ("Theorem 2", "Theorem 3", "j", "Theorem 5"))
    assert not holds("digits", "Theorem 2", "printed") and holds("digits", "Theorem 3", "printed")
    assert not any(holds("digits-strong-momentum", each, "printed") for each in ("Theorem 2", "Theorem 3", "j"))
    assert not any(holds("unlike-edges", each, "printed") for each in ("Theorem 3", "Theorem 5"))
    assert numbers["unlike-edges"]["constants"]["rho"] == pytest.approx(1.6)
    for name in runs[:2]:
        assert numbers[name]["constants"]["mu"] > 1 and not numbers[name]["theorem_6"]["hiermo_is_lower"]
        fifth = numbers[name]["theorems"][-1]["printed"]
        assert fifth["ratio"] < 0.01
    failed = numbers["quadratics"]["failed"]
    assert [key for key, count in failed.items() if count and not key.endswith(", of")] == [
        "Theorem 2, printed",
        "Theorem 3, printed",
        "j, printed",
    ]


def test_the_measured_ratios_are_those_of_the_formulas(numbers):
    flat = numbers["linear"]
    for row in (*flat["theorem_2"], *flat["theorem_3"]):
        assert row["printed"] == pytest.approx(row["expected"], rel=1e-6)
        assert row["corrected"] == pytest.approx(1)
    for row in flat["theorem_3"]:
        assert row["j"]["printed"] == pytest.approx(row["j_expected"], rel=1e-6)
    for row in flat["theorem_6"]:
        assert row["mu"] == pytest.approx(row["expected"], rel=1e-6)
        assert row["gain"] == pytest.approx(1 + row["gamma"] - row["gamma"] * row["mu"])
