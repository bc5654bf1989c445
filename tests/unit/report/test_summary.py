"""Series over seeds: what belongs together, its mean and spread, and the tables for papers."""

import csv
from io import StringIO
import json
from pathlib import Path
import re
import shutil
from statistics import mean, stdev
import subprocess

import pytest

from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import RunDirectory, create
from hiermo.experiment.store import StoredRun, find_runs
from hiermo.report.summary import series_of, summarise, telling
from hiermo.report.tables_for_papers import SPECIAL, csv_table, escaped, latex_table


@pytest.fixture
def runs(tmp_path):
    """Writes runs as they are written, with results that are given, and reads them."""

    def write(*given: dict) -> list[StoredRun]:
        for k, each in enumerate(given):
            changes = dict(each)
            result = {"format": 1, "finished": f"2026-11-18T07:{k:02}:00+00:00", **changes.pop("result", {})}
            train = {"iterations": 40, "seed": changes.pop("seed", 0)}
            raw = {"data": "synthetic", "model": "linear", "tree": {"edges": 2, "workers_per_edge": 2}}
            raw |= {"periods": {"tau": 2, "pi": 2}, "train": train, "algorithm": "HierMo", **changes}
            (directory,) = create(tmp_path / f"{k:03}", parse(raw))
            if "unfinished" not in result:
                directory.result_path.write_text(json.dumps(result))
        return find_runs([tmp_path]).runs

    return write


def reached(accuracy: float | None, loss: float = 1.0, **more) -> dict:
    return {"accuracy": accuracy, "loss": loss, "simulated_seconds": 10.0, "bytes": 2_000_000, **more}


def test_seeds_are_one_series_and_settings_another(runs):
    found = runs(
        {"seed": 1, "periods": {"tau": 10, "pi": 2}, "algorithm": {"name": "HierMo", "gamma": 0.9}},
        {"seed": 0, "periods": {"tau": 10, "pi": 2}, "algorithm": {"name": "HierMo", "gamma": 0.9}},
        {"seed": 0, "periods": {"tau": 4, "pi": 2}, "algorithm": {"name": "HierMo", "gamma": 0.9}},
        {"seed": 0, "periods": {"tau": 10, "pi": 2}, "algorithm": {"name": "HierMo", "gamma": 0.5}},
        {"seed": 0, "periods": {"tau": 10, "pi": 2}, "algorithm": "HierFAVG", "name": "another name"},
    )
    series = series_of(found)
    assert [each.name for each in series] == [
        "HierMo tau=4 gamma=0.9",
        "HierMo tau=10 gamma=0.5",
        "HierMo tau=10 gamma=0.9",
        "HierFAVG tau=10",  # it has no gamma to tell
    ]
    assert [[run.seed for run in each.runs] for each in series] == [[0], [0], [0, 1], [0]]
    assert series[2].settings == {"periods.tau": 10, "algorithm.gamma": 0.9}
    assert telling(found) == ["periods.tau", "algorithm.gamma"]
    assert telling(found[:2]) == [] and [each.name for each in series_of(found[:2])] == ["HierMo"]


def test_names_differ_where_their_values_are_too_long_to_tell(runs):
    long = [*range(100, 120)]
    found = runs({"model": {"name": "mlp", "hidden": [*long, 1]}}, {"model": {"name": "mlp", "hidden": [*long, 2]}})
    first, second = (each.name for each in series_of(found))
    assert first.startswith("HierMo hidden=[100,101,") and second == f"{first} (2)"


def test_one_and_one_point_nought_are_the_same_setting(runs):
    found = runs({"train": {"iterations": 40, "clip_norm": 1}}, {"train": {"iterations": 40, "clip_norm": 1.0}})
    assert len(series_of(found)) == 1


def test_mean_and_deviation_over_seeds(runs):
    accuracies = [0.9, 0.92, 0.97]
    found = runs(
        *({"seed": k, "result": reached(value, bytes=10**k)} for k, value in enumerate(accuracies)),
        {"seed": 3, "result": {"unfinished": True}},
    )
    (row,) = summarise(series_of(found))
    assert (row["series"], row["n"], row["runs"], row["seeds"], row["best"]) == ("HierMo", 3, 4, [0, 1, 2], [])
    assert row["accuracy"] == pytest.approx(mean(accuracies), rel=1e-15)  # rounding of a sum of three
    assert row["accuracy_deviation"] == pytest.approx(stdev(accuracies), rel=1e-12)
    assert (row["bytes"], row["loss_deviation"]) == (37.0, 0.0)


def test_a_seed_that_ran_twice_is_one_sample(runs):
    found = runs({"result": reached(0.5)}, {"result": reached(0.7)}, {"seed": 1, "result": reached(0.9)})
    (row,) = summarise(series_of(found))
    assert (row["n"], row["runs"], row["accuracy"]) == (2, 3, pytest.approx(0.8))  # the later one counts


def test_a_mean_over_some_of_the_seeds_is_not_told(runs):
    found = runs({"result": reached(0.5)}, {"seed": 1, "result": reached(None)})
    (row,) = summarise(series_of(found))
    assert (row["accuracy"], row["accuracy_deviation"], row["loss"]) == (None, None, 1.0)


def test_the_best(runs):
    names = ("HierMo", "HierFAVG", "FedAvg", "CFL")
    values = ((0.9, 1.0), (0.9000004, 1.0), (0.8, 0.5), (None, 2.0))
    found = runs(
        *(
            {"algorithm": n, "tree": {"edges": 2, "workers_per_edge": 2, "flatten": True}, "result": reached(*v)}
            for n, v in zip(names, values, strict=True)
        )
    )
    best = {row["series"]: row["best"] for row in summarise(series_of(found))}
    # what looks the same in a table is the same
    assert best == {"HierMo": ["accuracy"], "HierFAVG": ["accuracy"], "FedAvg": ["loss"], "CFL": []}


HOSTILE = "a_b & 50% #1 $x$ ^~ {y} -- 'q' `r` é"


def test_the_latex_table(runs):
    found = runs(
        *(
            {"seed": k, "algorithm": {"name": "HierMo", "label": HOSTILE}, "result": reached(0.9 + k / 100)}
            for k in (0, 1)
        ),
        *({"seed": k, "algorithm": "HierFAVG", "result": reached(0.8)} for k in (0, 1)),
    )
    text = latex_table(series_of(found))
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
    assert r"mean $\pm$ standard deviation (of a sample) over 2 seeds" in text
    rows = [line.strip() for line in text.splitlines() if line.endswith(r"\\")]
    assert rows[0] == r"series & accuracy (\%) & loss & simulated time (s) & sent (MB) \\"
    assert rows[1].startswith(escaped(HOSTILE))
    assert r"$\mathbf{90.50} \pm 0.71$" in rows[1] and r"$80.00 \pm 0.00$" in rows[2]
    assert all(len(re.findall(r"(?<!\\)&", row)) == 4 for row in rows)
    plain = re.sub(r"\\[&%$#_{}]", "", text)  # what is left is structure
    assert plain.count("{") == plain.count("}") and plain.count("$") % 2 == 0 and plain.count("%") == 1


def test_every_special_character_is_escaped():
    for character in "\\&%$#_{}~^":
        assert character in SPECIAL and SPECIAL[character] != character
    assert escaped("\\input{x}\n") == r"\textbackslash{}input\{x\}\textbackslash{}n"


def test_captions_say_what_was_averaged(runs):
    found = runs(
        {"result": reached(0.9)},
        {"seed": 1, "result": reached(0.9)},
        {"algorithm": "HierFAVG", "result": reached(None)},
    )
    assert "over the seeds of each series" in latex_table(series_of(found))
    assert "& seeds &" in latex_table(series_of(found)) and "& -- &" in latex_table(series_of(found))
    assert "one seed each" in latex_table(series_of(found[:1])) and r"\pm" not in latex_table(series_of(found[:1]))
    assert "No run has finished" in latex_table([])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_it_compiles(runs, tmp_path):
    found = runs({"algorithm": {"name": "HierMo", "label": HOSTILE}, "result": reached(0.9)})
    head = r"\documentclass{article}\usepackage{booktabs}\usepackage[T1]{fontenc}\begin{document}"
    (tmp_path / "t.tex").write_text(f"{head}\n{latex_table(series_of(found))}\n\\end{{document}}\n")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_csv_table_is_unrounded(runs):
    found = runs(
        {"periods": {"tau": 2, "pi": 2}, "result": reached(1 / 3)},
        {"periods": {"tau": 4, "pi": 2}, "algorithm": {"name": "HierMo", "label": "a,b"}, "result": reached(0.5)},
    )
    rows = list(csv.DictReader(StringIO(csv_table(series_of(found)))))
    assert {row["periods.tau"]: float(row["accuracy"]) for row in rows} == {"2": 1 / 3, "4": 0.5}
    assert rows[1]["label"] == "a,b"
    assert {row["accuracy_deviation"] for row in rows} == {""}
    assert csv_table([]).startswith("series,label,n,runs,accuracy,")


def test_runs_elsewhere_are_not_needed(runs):
    """Nothing of a series is read again: the folder may be gone."""
    found = runs({"result": reached(0.9)})
    shutil.rmtree(found[0].path)
    assert summarise(series_of(found))[0]["accuracy"] == 0.9
    assert isinstance(found[0].directory, RunDirectory) and isinstance(found[0].path, Path)
