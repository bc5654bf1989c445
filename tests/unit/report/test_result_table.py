"""The table at the end of a run."""

from io import StringIO

from rich.console import Console

from hiermo.report.table import result_table

ROW = {
    "model": "cnn",
    "data": "mnist",
    "label": "HierMo",
    "accuracy": 0.98765,
    "loss": 0.123456,
    "iterations": 4000,
    "seconds": 12.34,
}


def shown(*rows, **options):
    out = StringIO()
    Console(file=out, width=80, **options).print(result_table(rows))
    return out.getvalue()


def test_a_row_per_run():
    text = shown(ROW, {**ROW, "label": "HierFAVG", "accuracy": 0.5})
    for word in (
        "cnn on mnist",
        "accuracy",
        "loss",
        "iterations",
        "took",
        "98.77 %",
        "0.1235",
        "4000",
        "12.3 s",
        "50.00 %",
    ):
        assert word in text


def test_seconds_and_bytes_of_the_network_where_they_are_known():
    network = {"simulated_seconds": 1234.56, "bytes": 3 * 2**20, "delays": "my [file].csv"}
    text = shown({**ROW, **network}, ROW)
    for word in ("sent", "3 MiB", "simulated", "1,234.6 s", "my [file].csv"):
        assert word in text
    assert "simulated" not in shown(ROW)


def test_no_accuracy():
    assert " - " in shown({**ROW, "accuracy": None})
    assert "50.00 %" in shown({**ROW, "accuracy": None}, {**ROW, "accuracy": 0.5})


def test_the_best_is_bold():
    text = shown(ROW, {**ROW, "accuracy": 0.5}, force_terminal=True, color_system="standard")
    assert "\x1b[1m98.77 %" in text
    assert "\x1b[1m50.00 %" not in text


def test_a_label_is_not_markup():
    assert "a [b]" in shown({**ROW, "label": "a [b]"})


def test_the_worst_worker_has_a_column_where_it_was_measured():
    fair = {**ROW, "accuracy_worst_worker": 0.4321}
    assert "worst worker" in shown(fair) and "43.21 %" in shown(fair)
    assert "worst" not in shown(fair, ROW)


def test_all_columns_fit_in_80_characters():
    fair = {f"accuracy_worst_{each}": 0.4321 for each in ("class", "worker", "edge")}
    network = {"simulated_seconds": 1234.56, "bytes": 3 * 2**20, "delays": "d.csv"}
    text = shown({**ROW, **fair, **network})
    for word in ("98.77 %", "43.21 %", "4000", "1,234.6 s", "3 MiB"):
        assert word in text
