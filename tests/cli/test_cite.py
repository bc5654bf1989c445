"""`hiermo cite`, and the references behind it."""

import pytest

from hiermo import UserError
from hiermo.algorithms import ALGORITHMS
from hiermo.core.references import bibtex, entries
from hiermo.data.sources import SOURCES


def test_every_algorithm_and_data_set_cites_what_exists():
    for name in ALGORITHMS.names():
        cites = ALGORITHMS.get(name).cites
        assert cites, name
        assert set(cites) <= entries().keys()
    for name in SOURCES.names():
        assert set(getattr(SOURCES.get(name), "cites", ())) <= entries().keys()


def test_entries_are_whole():
    for key, entry in entries().items():
        assert entry.startswith("@") and entry.count("{") == entry.count("}"), key
        assert all(f"{field} = " in entry for field in ("title", "author", "year")), key


def test_each_once_and_ones_own_as_they_are():
    own = "@misc{mine,\n  title = {Mine}\n}"
    assert bibtex(["fedavg", own, "fedavg"]) == entries()["fedavg"] + "\n\n" + own


def test_an_unknown_key_is_refused():
    with pytest.raises(UserError, match="there is no reference 'nobody'"):
        bibtex(["nobody"])


def test_what_a_run_used(hiermo, recipe):
    path = recipe(algorithm=[{"name": "HierFAVG"}, {"name": "SlowMo"}], tree={"flatten": True})
    assert hiermo("run", path, "--out", "o", "--json").code == 0
    found = hiermo("cite", "o")
    assert found.code == 0
    assert [line for line in found.out.splitlines() if line.startswith("@")] == [
        "@misc{hiermo,",
        "@inproceedings{hierfavg,",
        "@inproceedings{slowmo,",
    ]
    assert hiermo("cite", "nowhere").error == "there is no directory nowhere"
