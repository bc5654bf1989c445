"""`hiermo reproduce`: a study from the command to its table and figure; what was made is not made again."""

from dataclasses import replace
import json
import os
import shutil

import pytest

from hiermo.reproduction.study import studies

QUICK = ("reproduce", "time-to-accuracy-logistic", "--seeds", "1", "--only", "HierMo", "--only", "FedAvg")


def test_a_study_ends_in_results_a_table_a_figure_and_a_verdict(hiermo, tmp_path):
    ended = hiermo(*QUICK, "--out", "o", "--json")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert [each["label"] for each in told["outcomes"]] == ["HierMo", "FedAvg"]
    (claim,) = told["claims"]
    assert claim["verdict"] == "confirmed"
    assert "less time than 1 of 1" in claim["measured"]
    assert "2 runs to make" in ended.err
    names = [f"time-to-accuracy-logistic.{kind}" for kind in ("json", "md", "png")]
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == sorted([*names, "runs"])
    page = (tmp_path / "o/time-to-accuracy-logistic.md").read_text()
    assert "hiermo reproduce time-to-accuracy-logistic --seeds 1 --only HierMo --only FedAvg" in page

    # the file of results is enough: the run directories may go, and one more algorithm is one more run
    shutil.rmtree(tmp_path / "o/runs")
    again = hiermo(*QUICK, "--out", "o", "--json")
    assert json.loads(again.out) == told
    assert "to make" not in again.err
    more = hiermo(*QUICK, "--only", "FedNAG", "--out", "o")
    assert "1 run to make" in more.err
    assert [path.name.partition(",")[0] for path in (tmp_path / "o/runs/time-to-accuracy-logistic").iterdir()] == [
        "FedNAG"
    ]
    assert "less time than 2 of 2" in more.out.replace("\n", " ")


def test_the_list_says_what_each_checks(hiermo):
    ended = hiermo("reproduce", "--list", "--json")
    studies = {each["name"]: each for each in json.loads(ended.out)}
    assert {"cnn-mnist", "non-iid", "effect-of-tau", "time-to-accuracy-1", "hieropt-mnist"} <= studies.keys()
    assert studies["cnn-mnist"]["checks"][0] == "the published accuracies"
    shown = hiermo("reproduce", "--list").out
    assert all(name in shown for name in studies)


def test_show_trains_nothing(hiermo, tmp_path):
    ended = hiermo("reproduce", "logistic-mnist", "--show", "--out", "o")
    assert ended.code == 0
    assert "0 of 36 runs" in ended.out
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "name a study, as in `hiermo reproduce logistic-mnist`"),
        (("logistic",), "there is no study 'logistic'"),
        (("logistic-mnist", "--only", "FedNAC"), "--only FedNAC: this study has HierMo, "),
        (("logistic-mnist", "--iterations", "19"), "--iterations 19: a cloud round of this study is 20 iterations"),
    ],
)
def test_refusals(hiermo, words, sentence):
    assert hiermo("reproduce", *words).error.startswith(sentence)


def test_a_damaged_file_of_results_is_named(hiermo, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o/linear-mnist.json").write_text('{"format": 1, "runs": [')
    assert hiermo("reproduce", "linear-mnist", "--show", "--out", "o").error.startswith(
        "o/linear-mnist.json: damaged: "
    )


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set")
def test_periods_are_chosen_under_a_budget_and_trained(hiermo, tmp_path, monkeypatch):
    """The paper's HierOPT with four workers and three pairs of periods, in a 250th of the time."""
    tree, grid = ("tree.edges=2", "tree.workers_per_edge=2"), ("periods.tau=2,4,8", "periods.pi=2,2,1")
    few = replace(studies()["hieropt-mnist"], settings=tree, together=grid)
    monkeypatch.setitem(studies(), few.name, few)
    ended = hiermo("reproduce", few.name, "--scale", "0.004", "--jobs", "2", "--json", "--out", "o")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    kept = json.loads((tmp_path / "o/hieropt-mnist-scale-0.004.json").read_text())["extra"]
    assert kept["tuned"].keys() == {"400", "200"}
    assert [each["budget_s"] for each in kept["tuned"].values()] == [1.6, 0.8]
    assert told["runs"] == told["planned"] <= 3 + len(kept["chosen"])
    (claim,) = told["claims"]
    assert claim["measured"].count("below the best") == 2
    assert (tmp_path / "o/hieropt-mnist-scale-0.004.png").stat().st_size > 5000
