"""Reading a store: whatever its files say, every folder is read or named, and none hides the others."""

from contextlib import contextmanager
import json
from math import inf, nan
import os
from pathlib import Path
import shutil
import subprocess
import sys
import threading
import warnings

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import pytest
import tomli_w

from hiermo.core.errors import UserError
from hiermo.experiment.provenance import this_process
from hiermo.experiment.recipe import parse, to_dict
from hiermo.experiment.run_directory import GROUP, Metrics, RunDirectory, create, opened
from hiermo.experiment.store import Found, find_runs, load_runs, read_run, varied
from hiermo.report.summary import series_of, summarise
from hiermo.report.tables_for_papers import csv_table, latex_table

RAW = {
    "name": "tiny",
    "data": {"source": "synthetic"},
    "model": "linear",
    "tree": {"edges": 2, "workers_per_edge": 2},
    "periods": {"tau": 2, "pi": 2},
    "train": {"iterations": 8},
    "algorithm": "HierMo",
}
LINE = {"iteration": 4, "cloud_round": 1, "seconds": 0.1, "simulated_seconds": 1.5, "bytes": 9, "loss": 1.0}
RESULT = {"format": 1, "accuracy": 0.5, "loss": 1.0, "model_sha256": "ab", "finished": "2026-11-18T07:31:51+00:00"}
START = {"started": "2026-11-18T07:31:49+00:00", "process": {"host": "elsewhere", "pid": 1, "since": 1.0}}
FILES = ("recipe.toml", "provenance.json", "metrics.jsonl", "result.json", "failed.json")


def write_run(path: Path, **changes: object) -> Path:
    """A run as a finished one leaves it, by the functions that write it."""
    (directory,) = create(path, parse(RAW | changes))
    directory.add_provenance(START)
    metrics = Metrics(directory.metrics_path, {}, [LINE])
    metrics.append({**LINE, "iteration": 8, "cloud_round": 2, "accuracy": 0.5})
    metrics.close()
    directory.result_path.write_text(json.dumps(RESULT))
    return path


def use_all(found: Found) -> None:
    """Everything that is made of runs that were read: none of it may fail for what a file said."""
    rows = [run.whole_row() for run in found.runs]
    assert all(row["condition"] in ("finished", "running", "stopped", "failed", "new") for row in rows)
    series = series_of(found.runs)
    assert sum(len(each.runs) for each in series) == len(found.runs)
    summarise(series)
    latex_table(series)
    csv_table(series)


def table_of(*paths, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_runs(*paths, **how)


@pytest.fixture
def store(tmp_path):
    """One run that must be found whatever stands beside it."""
    write_run(tmp_path / "store" / "m-good")
    return tmp_path / "store"


def others(store: Path) -> dict[str, str]:
    """What is named beside the good run, which is read."""
    found = find_runs([store])
    assert [run.path.name for run in found.runs] == ["m-good"]
    use_all(found)
    return {path.relative_to(store).as_posix(): why for path, why in found.unreadable}


def test_a_run_is_read_as_it_was_written(store):
    (run,) = find_runs([store]).runs
    row = run.row()
    assert run.recipe == to_dict(parse(RAW))
    assert (row["algorithm"], row["data"], row["model"], row["seed"]) == ("HierMo", "synthetic", "linear", 0)
    assert (row["accuracy"], row["loss"], row["iterations"], row["cloud_rounds"]) == (0.5, 1.0, 8, 2)
    assert (row["simulated_seconds"], row["bytes"], row["date"]) == (1.5, 9, RESULT["finished"])
    assert (run.condition, run.keys["periods.tau"], len(run.evaluations)) == ("finished", 2, 2)
    last = read_run(run.path, last_only=True)
    assert last.evaluations == run.evaluations[-1:] and last.row() == row


def test_the_table_has_a_row_per_run_or_per_evaluation(store):
    write_run(store / "b", algorithm="HierFAVG")
    table = load_runs(store)
    assert list(table["label"]) == ["HierFAVG", "HierMo"]
    assert list(table["periods.tau"]) == [2, 2]
    assert str(table["date"].dtype).startswith("datetime64") and table["date"].dt.year.tolist() == [2026, 2026]
    lines = load_runs(store / "b", store, evaluations=True)  # found twice, read once
    assert list(lines["iteration"]) == [4, 8, 4, 8]
    assert set(lines["label"]) == {"HierMo", "HierFAVG"}
    assert table.attrs["unreadable"] == []


def test_an_empty_store_is_an_empty_table(tmp_path):
    table = table_of(tmp_path)
    assert len(table) == 0 and "accuracy" in table and table.attrs["unreadable"] == [(str(tmp_path), "an empty folder")]
    with pytest.raises(UserError, match="there is no directory"):
        load_runs(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("steps", "condition"),
    [
        ([], "new"),
        (["start"], "stopped"),
        (["start here"], "running"),
        (["start here", "fail"], "failed"),
        (["start here", "end"], "finished"),
        (["start of a number beyond all"], "stopped"),
    ],
)
def test_how_a_run_stands(tmp_path, steps, condition):
    (directory,) = create(tmp_path / "a", parse(RAW))
    here = this_process()
    for step in steps:
        {
            "start": lambda: directory.add_provenance(START),
            "start here": lambda: directory.add_provenance({**START, "process": here}),
            "start of a number beyond all": lambda: directory.add_provenance(
                {**START, "process": {**here, "pid": 10**30}}
            ),
            "fail": lambda: directory.fail("the loss is not finite"),
            "end": lambda: directory.result_path.write_text(json.dumps(RESULT)),
        }[step]()
    assert read_run(directory.path).condition == condition


def test_foreign_folders_are_named(store):
    (store / "a").mkdir()
    (store / "z").mkdir()
    (store / "z" / "notes.txt").write_text("x")
    (store / ".hidden").mkdir()
    (store / "mlruns" / "0").mkdir(parents=True)
    (store / "tuned").mkdir()
    (store / "tuned" / "pilot.json").write_text("{}")
    assert others(store) == {"a": "an empty folder", "z": "not a run directory: it has no recipe.toml"}


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("recipe.toml", "format = 2\n", "format 2"),
        ("recipe.toml", "a = [", "not valid TOML"),
        ("recipe.toml", b"\xff\xfe\x00", "cannot be read"),
        ("recipe.toml", "", "format none"),
        ("recipe.toml", "format = 1\nalgorithm = 3\n", "no [algorithm] table"),
        ("recipe.toml", "format = 1\n[algorithm]\nname = 3\n", "algorithm.name is '3'"),
        ("recipe.toml", "format = 1\n[algorithm]\nname = 'x'\n[train]\nseed = 'x'\n", "train.seed is 'x'"),
        ("recipe.toml", f"format = 1\n[algorithm]\nname = 'x'\neta = {'9' * 5000}\n", "4300 digits"),
        ("recipe.toml", f"format = 1\n[algorithm]\nname = 'x'\n{'.'.join('a' * 2000)} = 1\n", "damaged"),
        ("result.json", '{"format": 2}', "format 2"),
        ("result.json", '{"format": 1, "accuracy": "0.9"}', "accuracy is '0.9'"),
        ("result.json", '{"format": 1, "bytes": 1' + "0" * 400 + "}", "damaged"),
        ("result.json", '{"format": 1, "finished": 3}', "finished is '3'"),
        ("result.json", '{"format": 1, "accu', "damaged"),
        ("result.json", "[" * 100_000, "damaged"),
        ("result.json", "[]", "format None"),
        ("provenance.json", '{"format": 1, "starts": 3}', "no list of starts"),
        ("provenance.json", '{"format": 1, "starts": [3]}', "no list of starts"),
        ("provenance.json", '{"format": 1, "starts": [{"process": 3}]}', "process is '3'"),
        ("provenance.json", '{"format": 1}', "no list of starts"),
        ("metrics.jsonl", '{"format": 3}\n', "format 3"),
        ("metrics.jsonl", '{"format": 1}\n{"iteration": 1}\n', "not an evaluation"),
        ("metrics.jsonl", '{"format": 1}\n{"iteration": "1", "cloud_round": 1}\n', "iteration is '1'"),
        ("metrics.jsonl", b"\x00\xff\n", "damaged"),
        ("metrics.jsonl", "", "damaged"),
        ("failed.json", "no JSON", "damaged"),
    ],
)
def test_what_is_wrong_with_a_run_is_named(store, file, content, why):
    bad = write_run(store / "a-bad")
    (bad / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    named = others(store)
    assert list(named) == ["a-bad"] and why in named["a-bad"] and str(store) not in named["a-bad"], named


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
def test_what_is_no_file_is_named(store, file, make):
    bad = write_run(store / "a-bad")
    (bad / file).unlink(missing_ok=True)
    make(bad / file)
    named = others(store)
    assert list(named) == ["a-bad"], named


def test_values_that_are_no_numbers_are_read(store):
    run = write_run(store / "a")
    (run / "result.json").write_text(json.dumps({**RESULT, "accuracy": nan, "loss": inf, "simulated_seconds": None}))
    (run / "metrics.jsonl").write_text(
        '{"format": 1}\n' + json.dumps({**LINE, "accuracy": nan, "loss": -inf, "run": "mine", "per": [nan]}) + "\n"
    )
    found = find_runs([store])
    use_all(found)
    row = found.runs[0].row()
    assert row["accuracy"] != row["accuracy"] and row["loss"] == -inf and row["run"] == str(run)
    assert summarise(series_of(found.runs[:1]))[0]["accuracy"] is None
    assert table_of(store)["loss"].tolist() == [-inf, 1.0]


def test_a_file_beyond_all_sizes_is_named(store):
    bad = write_run(store / "a-bad")
    with (bad / "result.json").open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk, and would take all of the memory
    assert "larger than 64 MiB" in others(store)["a-bad"]


def test_links_in_a_circle_and_into_nowhere(store):
    (store / "a").symlink_to(store / "a")
    (store / "b").symlink_to(store)
    (store / "c").symlink_to(store / "m-good")
    (store / "d").symlink_to("nothing")
    found = find_runs([store])
    assert len(found.runs) == 1  # once, by whichever name comes first
    assert {path.name: why for path, why in found.unreadable} == dict.fromkeys("ad", "a link that leads nowhere")


def test_what_is_too_deep_is_named(store):
    deep = store.joinpath(*"123456789")
    write_run(deep / "run")
    assert others(store) == {"1/2/3/4/5/6/7/8": "more than 8 folders deep, and not looked into"}


@pytest.mark.parametrize("runs", [["m-good", "gone"], ["../../x"], [3], "m-good", None])
def test_a_group_that_names_what_is_not_there(store, runs):
    (store / GROUP).write_text(json.dumps({"format": 1, "runs": runs}))
    ((place, why),) = others(store).items()
    if runs == ["m-good", "gone"]:
        assert (place, why) == ("gone", "the group names this run, and it is not there")
    else:
        assert place == GROUP and "must be a list of names of folders beside it" in why


@pytest.mark.parametrize("label", ["../outside", "/etc", "..", ".", "", "a/b", "a\\b", "C:x", "a\0b"])
def test_a_group_cannot_lead_out_of_its_folder(tmp_path, label):
    write_run(tmp_path / "outside")
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / GROUP).write_text(json.dumps({"format": 1, "runs": [label]}))
    with pytest.raises(UserError, match=r"runs\.json: damaged: `runs` must be a list of names of folders"):
        opened(tmp_path / "group")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions as on Unix")
def test_what_may_not_be_read_is_named(store):
    """In another process, as a user whom permissions bind: root reads everything."""
    write_run(store / "a-folder")
    write_run(store / "b-file")
    (store / "a-folder").chmod(0)
    (store / "b-file" / "result.json").chmod(0)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from hiermo.experiment.store import find_runs\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "found = find_runs([Path('.')])\n"
        "print(*(run.path for run in found.runs))\n"
        "print(*(f'{path}: {why}' for path, why in found.unreadable), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=store, capture_output=True, text=True, check=False)
    (store / "a-folder").chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "m-good",
        "a-folder: cannot be read: Permission denied",
        "b-file: cannot be read: Permission denied",
    ]


@contextmanager
def again_and_again(action):
    """In another thread, until the block is left."""
    ended = threading.Event()
    failed = []

    def work():
        while not ended.is_set():
            try:
                action()
            except BaseException as error:
                failed.append(error)
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert not failed


def test_a_run_that_comes_and_goes_while_it_is_read(store):
    def come_and_go():
        write_run(store / "z")
        shutil.rmtree(store / "z")

    with again_and_again(come_and_go):
        for _ in range(150):
            found = find_runs([store])
            use_all(found)
            assert found.runs[0].path.name == "m-good"


def test_a_run_that_is_being_written(store):
    """It is read at every moment, whatever it has come to."""
    directory = RunDirectory(write_run(store / "a"))

    def go_on():
        directory.result_path.unlink(missing_ok=True)
        directory.add_provenance(START)
        metrics = Metrics(directory.metrics_path, {}, [LINE])
        for k in range(3):
            metrics.append({**LINE, "cloud_round": k})
        metrics.close()
        directory.fail("broke")
        directory.failed_path.unlink()
        directory.result_path.write_text("")  # a foreign writer that does not rename
        directory.result_path.unlink()
        directory.provenance_path.unlink()

    seen = set()
    with again_and_again(go_on):
        for _ in range(150):
            found = find_runs([store])
            use_all(found)
            assert len(found.runs) + len(found.unreadable) == 2
            assert all(why.startswith("result.json: damaged") for _, why in found.unreadable)
            seen |= {run.condition for run in found.runs}
    assert seen > {"finished"}


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner)
)
KEYS = sorted({*RESULT, *LINE, *START, "starts", "error", "iterations", "cloud_rounds", "seconds", "parameters", "run"})
near = st.dictionaries(st.sampled_from(KEYS), anything, max_size=6).map(lambda values: {"format": 1, **values})


def spoiled(data, text: bytes, file: str) -> bytes:
    """Cut short, overwritten in places, or with other values under the known names."""
    how = data.draw(st.sampled_from(["cut", "overwritten", "other values", "rubbish"]))
    if how == "cut":
        return text[: data.draw(st.integers(0, len(text)))]
    if how == "overwritten":
        at = data.draw(st.integers(0, len(text)))
        return text[:at] + data.draw(st.binary(max_size=8)) + text[at + data.draw(st.integers(0, 8)) :]
    if how == "rubbish":
        return data.draw(st.binary(max_size=64))
    if file == "recipe.toml":
        return tomli_w.dumps(data.draw(hostile_recipe())).encode(errors="replace")
    if file == "metrics.jsonl":
        lines = [{"format": 1}, *data.draw(st.lists(near, max_size=3)), {**LINE, **data.draw(near)}]
        return "".join(json.dumps(line) + "\n" for line in lines).encode()
    value = data.draw(near)
    if file == "provenance.json":
        value["starts"] = data.draw(st.lists(near, max_size=2) | anything)
    return json.dumps(value).encode()


@st.composite
def hostile_recipe(draw):
    """The recipe of a run, with other values in some places."""
    recipe = to_dict(parse(RAW))
    value = scalars.filter(lambda value: value is not None) | st.lists(st.integers() | st.text(max_size=5), max_size=3)
    for table in draw(st.lists(st.sampled_from(sorted(recipe)), max_size=4)):
        if isinstance(recipe[table], dict) and draw(st.booleans()):
            recipe[table] = {**recipe[table], draw(st.sampled_from(sorted(recipe[table]))): draw(value)}
        else:
            recipe[table] = draw(value)
    return recipe


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_file_holds(store, data):
    bad = store / "a-bad"
    if not bad.exists():
        write_run(bad)
        (bad / "failed.json").write_text('{"format": 1, "error": "broke"}')
    files = data.draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=2, unique=True))
    before = {file: (bad / file).read_bytes() for file in files}
    try:
        for file in files:
            (bad / file).write_bytes(spoiled(data, before[file], file))
        found = find_runs([store])
        assert len(found.runs) + len(found.unreadable) == 2
        assert found.runs[-1].path.name == "m-good"
        use_all(found)
        # a row needs the last evaluation alone: what is damaged before it is not looked at
        assert len(found.runs) <= len(table_of(store)) <= 2
        assert table_of(store, evaluations=True)["run"].nunique() <= len(found.runs)
    finally:
        for file, content in before.items():
            (bad / file).write_bytes(content)


def test_what_varies(store):
    write_run(store / "b", periods={"tau": 4, "pi": 2}, train={"iterations": 8, "seed": 3}, name="other")
    write_run(store / "c", periods={"tau": 2.0, "pi": 2} | {"tau": 2})
    assert varied(find_runs([store]).runs) == ["periods.tau"]
    assert varied([]) == []
