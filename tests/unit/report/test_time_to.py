"""Tables and bars of the time to a target."""

from io import StringIO
from pathlib import Path

from matplotlib import pyplot
import pytest
from rich.console import Console

from hiermo.experiment.retime import Retimed
from hiermo.experiment.run_directory import RunDirectory
from hiermo.report.time_to import draw_times, saving, time_table, time_to

TARGET = {"accuracy": 0.9}


def run(label, *seconds, seed=0, draw=0, accuracies=(0.5, 0.9, 0.95)):
    """Evaluations at these seconds; the second one meets the target."""
    lines = [
        {"iteration": 10 * k, "simulated_seconds": s, "bytes": 1000 * k, "accuracy": a}
        for k, (s, a) in enumerate(zip(seconds, accuracies, strict=False), start=1)
    ]
    return Retimed(label, RunDirectory(Path(f"{label}-{seed}")), draw, lines)


RUNS = [
    run("HierMo", 1, 30, 50),
    run("HierMo", 1, 40, 50, draw=1),
    run("HierMo", 1, 50, 60, seed=1),
    run("a $x$ [b]", 1, 100, 150),
    run("never", 1, 2, 3, accuracies=(0.1, 0.2, 0.3)),
]


def shown(table):
    out = StringIO()
    Console(file=out, width=80).print(table)
    return out.getvalue()


def test_the_first_evaluation_that_meets_the_target_counts():
    ours, other, never = time_to(RUNS, TARGET)
    assert (ours.seconds, ours.tried, ours.runs, ours.iterations, ours.bytes) == ((30, 40, 50), 3, 2, 20, 2000)
    assert (ours.mean, ours.deviation) == (40, 10)
    assert other.seconds == (100,) and other.deviation == 0
    assert never.seconds == () and never.json() == {"label": "never", "reached": 0, "of": 1, "runs": 1}


def test_without_a_target_the_whole_run_counts():
    ours, *_ = time_to(RUNS, {})
    assert ours.seconds == (50, 50, 60)


def test_what_hiermo_saves():
    found = time_to(RUNS, TARGET)
    assert [saving(found, each) for each in found] == [None, pytest.approx(0.6), None]
    without = [each for each in found if each.label != "HierMo"]
    assert [saving(without, each) for each in without] == [None, None]


def test_the_table_has_all_of_it_in_80_columns():
    text = shown(time_table(time_to(RUNS, TARGET), TARGET, "my [delays].csv"))
    for word in (
        "accuracy = 0.9",
        "40.0",
        "10.0",
        "30.0",
        "50.0",
        "60 %",
        "a $x$ [b]",
        "not reached",
        "my [delays].csv",
    ):
        assert word in text


def test_bars_name_their_unit_and_who_missed_the_target(tmp_path, monkeypatch):
    found = []
    subplots = pyplot.subplots
    monkeypatch.setattr(pyplot, "subplots", lambda *a, **k: found.append(subplots(*a, **k)) or found[-1])
    path = draw_times(time_to(RUNS, TARGET), TARGET, "d.csv", tmp_path / "bars.png", "cnn on mnist")
    assert path.read_bytes().startswith(b"\x89PNG")
    ((_, axes),) = found
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"a \$x\$ [b]", "HierMo"]  # the least on top
    assert "simulated seconds" in axes.get_xlabel() and "d.csv" in axes.get_xlabel() and "never" in axes.get_xlabel()
    assert axes.get_title(loc="left") == "cnn on mnist: time until accuracy = 0.9"
    assert not pyplot.get_fignums()
