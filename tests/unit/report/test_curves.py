"""Pictures out of run directories."""

import matplotlib
from matplotlib import pyplot
import pytest

from hiermo.core.files import write_json
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import Metrics, create
from hiermo.report.curves import draw_accuracy

RAW = {
    "data": {"source": "synthetic"},
    "model": {"name": "linear"},
    "tree": {"edges": 2, "workers_per_edge": 2},
    "periods": {"tau": 2, "pi": 2},
    "train": {"iterations": 40},
    "algorithm": [{"name": "HierMo", "label": label} for label in ("a $_$", "_hidden", "c")],
}


@pytest.fixture
def drawn(monkeypatch):
    """The axes of the pictures that were drawn."""
    found = []
    subplots = pyplot.subplots

    def spying(*args, **kwargs):
        figure, axes = subplots(*args, **kwargs)
        found.extend(axes.reshape(-1))
        return figure, axes

    monkeypatch.setattr(pyplot, "subplots", spying)
    return found


def runs(folder, metrics, n=10):
    directories = create(folder, parse(RAW))
    for k, directory in enumerate(directories):
        lines = [
            {"iteration": 4 * t, "cloud_round": t, **dict.fromkeys(metrics, (k + 1) / (t + 4))} for t in range(1, n + 1)
        ]
        Metrics(directory.metrics_path, {}, lines).close()
    return directories


def is_png(path):
    content = path.read_bytes()
    return content.startswith(b"\x89PNG\r\n\x1a\n") and content.endswith(b"IEND\xaeB`\x82") and len(content) > 10_000


def test_a_curve_per_run(tmp_path, drawn):
    directories = runs(tmp_path / "o", ("loss", "accuracy"))
    path = draw_accuracy(directories, tmp_path / "o/accuracy.png")
    assert is_png(path)
    (axes,) = drawn
    assert axes.get_ylabel() == "test accuracy (%)"
    assert len(axes.lines) == 3
    for k, line in enumerate(axes.lines):
        assert list(line.get_xdata()) == list(range(4, 41, 4))
        assert line.get_ydata()[0] == pytest.approx(100 * (k + 1) / 5)
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in axes.lines}) == 3
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label.split("  ")[0] for label in shown] == [r"a \$_\$", " _hidden", "c"]  # neither formula nor hidden
    assert "4 workers, 2 edges, cloud; tau = 2, pi = 2" in axes.get_title(loc="left")
    assert not pyplot.get_fignums()  # closed
    assert matplotlib.get_backend() == "agg"


def test_a_panel_each_for_iterations_seconds_and_bytes(tmp_path, drawn):
    directories = runs(tmp_path / "o", ("loss", "accuracy", "simulated_seconds"), n=3)
    for directory in directories:
        lines = [{**line, "bytes": 2_000_000 * line["cloud_round"]} for line in directory.evaluations()]
        Metrics(directory.metrics_path, {}, lines).close()
        write_json(directory.result_path, {"format": 1, "delays": "the delays of a file"})
    assert is_png(draw_accuracy(directories, tmp_path / "o/accuracy.png"))
    labels = [axes.get_xlabel() for axes in drawn]
    assert labels[0].startswith("iterations") and labels[2] == "MB sent over all links, up and down"
    assert labels[1] == "simulated seconds\nthe delays of a file"
    assert list(drawn[2].lines[0].get_xdata()) == [2, 4, 6]
    (above,) = drawn[0].child_axes
    assert above.get_xlabel() == "cloud rounds"
    assert above.get_xlim()[1] == pytest.approx(drawn[0].get_xlim()[1] / 4)  # four iterations each


def test_no_axis_of_cloud_rounds_where_they_differ(tmp_path, drawn):
    """CFL's arrivals are several to the same iteration."""
    first, *others = runs(tmp_path / "o", ("loss", "accuracy"), n=3)
    Metrics(first.metrics_path, {}, [{**line, "iteration": 4} for line in first.evaluations()]).close()
    draw_accuracy([first, *others], tmp_path / "o/accuracy.png")
    assert not drawn[0].child_axes


def test_the_loss_where_there_is_no_accuracy(tmp_path, drawn):
    assert is_png(draw_accuracy(runs(tmp_path / "o", ("loss",)), tmp_path / "o/accuracy.png"))
    assert drawn[0].get_ylabel() == "test loss"
    assert drawn[0].lines[0].get_ydata()[0] == pytest.approx(1 / 5)


def test_a_run_without_an_evaluation_and_one_with_one(tmp_path, drawn):
    directories = runs(tmp_path / "o", ("loss", "accuracy"), n=1)
    directories[0].metrics_path.unlink()
    assert is_png(draw_accuracy(directories, tmp_path / "o/accuracy.png"))


def test_more_curves_than_colours(tmp_path, drawn):
    labels = [f"number {k}" for k in range(12)]
    raw = {**RAW, "algorithm": [{"name": "HierMo", "label": label} for label in labels]}
    directories = create(tmp_path / "o", parse(raw))
    for directory in directories:
        Metrics(directory.metrics_path, {}, [{"iteration": 4, "cloud_round": 1, "loss": 1.0, "accuracy": 0.5}]).close()
    assert is_png(draw_accuracy(directories, tmp_path / "o/accuracy.png"))
    assert len(drawn[0].lines) == 12
