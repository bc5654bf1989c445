"""`hiermo report`: what it writes, tells and refuses."""

import csv
import json

import pytest

from page_stores import TWO, hostile, trained


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("report") / "store", algorithm=TWO)


def test_one_file_that_tells_where_it_is(hiermo, store, tmp_path):
    ended = hiermo("report", store)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("report.html: 4 runs, ")
    page = (tmp_path / "report.html").read_text()
    assert len(page.encode()) < 6_000_000
    assert not [path for path in tmp_path.iterdir() if path.name != "report.html"]


def test_json_is_one_object(hiermo, store, tmp_path):
    (tmp_path / "other").mkdir()
    ended = hiermo("report", store, "other", "-o", "r.html", "--json")
    told = json.loads(ended.out)
    assert told["runs"] == 4 and told["experiments"] == 1
    assert told["bytes"] == (tmp_path / "r.html").stat().st_size
    assert [each["why"] for each in told["unreadable"]] == ["an empty folder"]


def test_figures_and_tables_for_papers(hiermo, store, tmp_path):
    words = ["--png", "png", "--svg", "svg", "--tex", "t.tex", "--csv", "t.csv", "--until", "accuracy=0.3"]
    ended = hiermo("report", store, *words)
    assert ended.code == 0, ended.err
    for kind in ("png", "svg"):
        names = sorted(path.name for path in (tmp_path / kind).iterdir())
        assert names == [f"logistic-on-synthetic-{what}.{kind}" for what in ("curves", "times")]
    drawn = (tmp_path / "svg" / "logistic-on-synthetic-curves.svg").read_text()
    assert "<text" in drawn and "iterations (local steps of every worker)" in drawn and "HierMo" in drawn
    assert r"\toprule" in (tmp_path / "t.tex").read_text()
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [(row["series"], row["n"]) for row in rows] == [("HierFAVG", "2"), ("HierMo", "2")]


def test_figures_of_hostile_names_are_drawn(hiermo, store, tmp_path):
    """Dollars that are no formula, hundreds of letters, and what would turn a line around."""
    for k, name in enumerate(("<b>x</b>", "$\\LaTeX$", "a/../../b")):
        hostile(tmp_path / "h" / str(k), store, ("<b>x</b>", "$\\LaTeX$", "n" * 500, "_hidden", "rest"), source=name)
    ended = hiermo("report", "h", "--png", "png", "--svg", "svg", "--tex", "t.tex")
    assert ended.code == 0, ended.err
    assert all(path.parent == tmp_path / "png" for path in (tmp_path / "png").rglob("*"))
    assert len(list((tmp_path / "png").iterdir())) == 6  # curves and times of each
    assert "<b>" not in (tmp_path / "svg" / "logistic-on-b-x-b-curves.svg").read_text()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["nowhere"], "there is no directory nowhere"),
        (["STORE", "--until", "accuracy"], "--until accuracy: write METRIC=VALUE"),
        (["STORE", "--until", "beauty=1"], "--until beauty: these runs measured accuracy, loss"),
        (["STORE", "-o", "no/such/r.html"], "no/such/r.html: name a file in a folder that exists"),
        (["STORE", "--tex", "."], ".: name a file in a folder that exists"),
        ([], "there is no directory runs"),
        (["empty"], "there is no run in empty; make one with `hiermo run quick/digits`"),
    ],
)
def test_refusals_are_one_sentence(hiermo, store, tmp_path, words, sentence):
    (tmp_path / "empty").mkdir()
    assert sentence in hiermo("report", *(store if word == "STORE" else word for word in words)).error


def test_a_tuning_brings_its_map(hiermo, recipe, tmp_path):
    delays = {"theta_w": 0.5, "phi_w2e": 2.0, "phi_e2c": 8.0}
    path = recipe(data={"partition": {"kind": "classes", "per_worker": 5}}, delays=delays)
    assert hiermo("tune", path, "--budget", "150s", "--verify", "--out", "t").code == 0
    kept = json.loads((tmp_path / "t" / "tuning.json").read_text())
    assert kept["tau"] in kept["map"]["taus"] and kept["pi"] in kept["map"]["pis"]
    above = [each for row in kept["map"]["percent_above_least"] for each in row if each is not None]
    assert min(above) == 0 and max(above) > 1
    assert (tmp_path / "t" / "tuning.json").stat().st_size < 40_000
    assert hiermo("report", "t").code == 0
    embedded = (tmp_path / "report.html").read_text().partition('id="data">')[2].partition("</script>")[0]
    reached, bound = json.loads(embedded)["experiments"][0]["heat"]
    assert (reached["kind"], bound["kind"]) == ("reached", "bound")
    assert (bound["marks"][0]["tau"], bound["marks"][0]["pi"]) == (kept["tau"], kept["pi"])
