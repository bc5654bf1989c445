"""`hiermo ls`, `diff` and `rm` on real runs: what they tell, what they refuse, and that nothing else is removed."""

import csv
from io import StringIO
import json
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import time

from filelock import FileLock
import pytest

from cli.tiny_recipe import tiny
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import parse
from hiermo.experiment.remove import SIDE
from hiermo.experiment.run_directory import GROUP, RunDirectory, create
from hiermo.experiment.train import train

TWO = [{"name": "HierMo"}, {"name": "HierFAVG"}]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A store of four finished runs: a group of two, and HierMo with another period and with another seed."""
    store = tmp_path_factory.mktemp("trained") / "runs"
    settings = {
        "group": tiny(algorithm=TWO),
        "slow": tiny(periods={"tau": 4}),
        "again": tiny(train={"seed": 1}),
    }
    for name, raw in settings.items():
        recipe = parse(raw, name)
        for directory, part in zip(create(store / name, recipe), recipe.algorithms, strict=True):
            list(train(directory, recipe.single(part), problem_of(recipe)))
    return store


@pytest.fixture
def store(trained, tmp_path):
    """A copy that a test may spoil, at the usual place of the working directory."""
    return shutil.copytree(trained, tmp_path / "runs")


@pytest.fixture
def wide(monkeypatch):
    def set_width(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))

    return set_width


def rows(ended) -> list[dict]:
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["rows"]


# ls


def test_ls_lists_what_is_there(hiermo, store):
    ended = hiermo("ls")
    assert ended.code == 0 and not ended.err
    for place in ("again", "group/HierFAVG", "group/HierMo", "slow"):
        assert re.search(rf"^{place} .* finished .* \d+\.\d\d % ", ended.out, flags=re.MULTILINE), ended.out
    assert "runs: logistic on synthetic" in ended.out
    assert ended.out.splitlines()[-1] == "4 runs: 4 finished"
    head = ended.out.splitlines()[1].split()
    assert head[:4] == ["run", "algorithm", "tau", "seed"]  # the period differs, so it is told


def test_ls_filters_and_sorts(hiermo, store):
    found = rows(hiermo("ls", "--json", "--sort", "-periods.tau,seed", "--where", "algorithm == 'HierMo' and loss < 9"))
    assert [Path(row["run"]).name for row in found] == ["slow", "HierMo", "again"]
    assert [row["periods.tau"] for row in found] == [4, 2, 2]
    by_name = rows(hiermo("ls", "--json", "--sort", "label", "--sort", "-run", "--columns", "label,run,tau"))
    assert [row["label"] for row in by_name] == ["HierFAVG", "HierMo", "HierMo", "HierMo"]
    assert [Path(row["run"]).name for row in by_name[1:]] == ["slow", "HierMo", "again"]
    assert list(by_name[0]) == ["label", "run", "periods.tau"]
    gamma = rows(hiermo("ls", "--json", "--sort", "-gamma"))
    assert Path(gamma[-1]["run"]).name == "HierFAVG"  # it has none
    assert hiermo("ls", "--where", "tau > 100").out == "0 runs\n"


def test_ls_tells_the_results_of_the_runs(hiermo, store):
    for row in rows(hiermo("ls", "--json")):
        result = json.loads((Path(row["run"]) / "result.json").read_text())
        for name in ("accuracy", "loss", "iterations", "simulated_seconds", "bytes", "seed", "model"):
            assert row[name] == result[name], name
        assert (row["condition"], row["date"]) == ("finished", result["finished"])


def test_ls_as_csv(hiermo, store):
    table = list(csv.DictReader(StringIO(hiermo("ls", "--csv").out)))
    assert len(table) == 4 and {row["periods.tau"] for row in table} == {"2", "4"}
    assert {row["algorithm.gamma"] for row in table} == {"0.5", ""}
    assert hiermo("ls", "--csv", "--columns", "seed,tau", "--where", "seed == 1").out == "seed,periods.tau\n1,2\n"


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_ls_keeps_paths_whole_in_any_width(hiermo, store, wide, columns):
    wide(columns)
    lines = hiermo("ls").out.splitlines()
    assert max(map(len, lines)) <= columns
    assert sum(line.startswith("group/HierFAVG ") for line in lines) == 1
    assert ("algorithm" in lines[1], "tau" in lines[1], "iterations" in lines[1]) == (
        columns > 40,
        columns > 40,
        columns == 200,
    )
    assert (columns == 200) != any(line.startswith("no room for: iterations") for line in lines)


def test_ls_names_what_it_cannot_read_and_lists_the_rest(hiermo, store):
    (store / "slow" / "result.json").write_text("{")
    for k in range(12):
        (store / f"z{k:02}").mkdir()
    ended = hiermo("ls")
    assert ended.out.endswith("3 runs: 3 finished\n")
    notes = ended.err.splitlines()
    assert notes[0].startswith("note: runs/slow: result.json: damaged: ")
    assert notes[1] == "note: runs/z00: an empty folder"
    assert len(notes) == 11 and notes[-1] == "note: and 3 more that cannot be read; --json names all"
    assert len(json.loads(hiermo("ls", "--json").out)["unreadable"]) == 13


def test_ls_tells_how_runs_stand(hiermo, store):
    for name in ("slow", "again"):
        (store / name / "result.json").unlink()
    RunDirectory(store / "slow").fail("the loss is not finite")
    (store / "group" / "HierMo" / "result.json").unlink()
    (store / "group" / "HierMo" / "provenance.json").unlink()
    provenance = json.loads((store / "again" / "provenance.json").read_text())
    provenance["starts"][-1]["process"]["pid"] = 2**22 + 1  # above what Linux gives
    (store / "again" / "provenance.json").write_text(json.dumps(provenance))
    assert hiermo("ls").out.endswith("4 runs: 1 finished, 1 stopped, 1 failed, 1 new\n")
    (failed,) = rows(hiermo("ls", "--json", "--where", "error != None"))
    assert failed["error"] == "the loss is not finite"


def test_ls_shows_hostile_names_as_text(hiermo, store, wide):
    wide(300)
    name = "[red]x\x1b[2J\n\u202e"
    recipe = parse(tiny(algorithm={"name": "HierMo", "label": "[bold]b"}))
    create(store / name, recipe)
    out = hiermo("ls").out
    assert "\x1b" not in out and "\u202e" not in out
    assert r"[red]x\x1b[2J\n\u202e" in out and "[bold]b" in out
    assert name in [Path(row["run"]).name for row in rows(hiermo("ls", "--json"))]
    create(store / os.fsdecode(b"\xff"), recipe)
    assert r"\udcff" in hiermo("ls").out and r"\udcff" in hiermo("ls", "--csv").out


def test_ls_of_several_stores_and_of_a_run(hiermo, store, tmp_path):
    shutil.copytree(store / "slow", tmp_path / "other" / "x")
    assert {row["run"] for row in rows(hiermo("ls", "runs/group", "other", "--json"))} == {
        "runs/group/HierMo",
        "runs/group/HierFAVG",
        "other/x",
    }
    assert re.search(r"^runs/slow ", hiermo("ls", "runs/slow").out, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no directory nowhere"),
        (["--where", "acuracy > 1"], "did you mean 'accuracy'?"),
        (["--sort", "acuracy"], "--sort: no run has 'acuracy'; did you mean 'accuracy'?"),
        (["--columns", "run,batch"], "--columns: 'batch' may be train.batch or evaluate.batch: write it whole"),
        (["--csv", "--json"], "--csv and --json: choose one of them"),
    ],
)
def test_ls_refuses(hiermo, store, words, said):
    assert said in hiermo("ls", *words).error


def test_ls_does_not_load_torch(store):
    code = (
        "import sys; from hiermo.cli.app import app; app(['ls'], standalone_mode=False); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=store.parent, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("4 runs: 4 finished\nFalse\n"), done.stderr


# diff


def test_diff_tells_in_what_runs_differ(hiermo, store):
    ended = hiermo("diff", "runs/group/HierMo", "runs/slow")
    assert ended.code == 0
    assert re.search(r"^periods\.tau +2 +4 *$", ended.out, flags=re.MULTILINE)
    assert "provenance: the same" in ended.out and "different models" in ended.out
    told = json.loads(hiermo("diff", "runs/group/HierMo", "runs/slow", "--json").out)
    (pair,) = told["pairs"]
    assert pair["recipe"]["periods.tau"] == {"a": 2, "b": 4} and "name" in pair["recipe"]
    results = [json.loads((store / run / "result.json").read_text()) for run in ("group/HierMo", "slow")]
    for name in ("accuracy", "loss", "simulated_seconds", "bytes"):
        a, b = (result[name] for result in results)
        assert pair["result"][name] == {"a": a, "b": b, "difference": b - a}
    points = 100 * (results[1]["accuracy"] - results[0]["accuracy"])
    assert points == 0 or f"{points:+.2f} points" in ended.out
    assert pair["same_bits"] is False


def test_diff_knows_the_same_bits_and_another_machine(hiermo, store):
    shutil.copytree(store / "slow", store / "copy")
    provenance = json.loads((store / "copy" / "provenance.json").read_text())
    provenance["starts"][-1] |= {"cpu": "another", "started": "2020-01-01T00:00:00+00:00"}
    (store / "copy" / "provenance.json").write_text(json.dumps(provenance))
    ended = hiermo("diff", "runs/slow", "runs/copy")
    assert "recipe: the same" in ended.out and "same bits: both ended with the same model" in ended.out
    (pair,) = json.loads(hiermo("diff", "runs/slow", "runs/copy", "--json").out)["pairs"]
    assert list(pair["provenance"]) == ["cpu"] and pair["same_bits"] is True


def test_diff_pairs_the_runs_of_two_groups(hiermo, store):
    shutil.copytree(store / "group", store / "other")
    shutil.copytree(store / "slow", store / "other" / "Extra")
    told = json.loads(hiermo("diff", "runs/group", "runs/other", "--json").out)
    assert [pair["name"] for pair in told["pairs"]] == ["HierFAVG", "HierMo"]
    assert (told["only_a"], told["only_b"]) == ([], ["runs/other/Extra"])
    (store / "other" / "HierMo" / "result.json").unlink()
    out = hiermo("diff", "runs/group", "runs/other").out
    assert "1 of 2 pairs ended with the same bits; 1 are not finished" in out and "only in B: runs/other/Extra" in out


def test_diff_refuses_what_has_no_other(hiermo, store, tmp_path):
    (tmp_path / "empty").mkdir()
    assert (
        "have no run of the same name: HierFAVG, HierMo; a single run"
        in hiermo("diff", "runs/group", "runs/slow").error
    )
    assert "empty: holds no run that can be read" in hiermo("diff", "runs/slow", "empty").error
    assert "there is no directory nowhere" in hiermo("diff", "nowhere", "runs/slow").error


# rm


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_rm_asks_first(hiermo, store):
    before = tree(store)
    ended = hiermo("rm", "runs/slow")
    assert ended.error == "nobody is there to be asked whether to remove them: add --yes"
    assert "1 run to remove: 1 finished" in ended.err
    assert tree(store) == before


@pytest.mark.parametrize(("answer", "gone"), [(b"y\n", True), (b"n\n", False), (b"\n", False), (b"\x04", False)])
def test_rm_takes_the_answer_of_a_terminal(store, answer, gone):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "hiermo", "rm", "runs/slow"]
    with subprocess.Popen(words, cwd=store.parent, stdin=theirs, stdout=theirs, stderr=theirs) as asked:
        os.close(theirs)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, answer)
        try:
            while more := os.read(ours, 1000):
                shown += more
        except OSError:  # the other end is closed
            pass
        assert asked.wait(20) == 0, shown
    os.close(ours)
    assert (store / "slow").exists() != gone
    assert (b"removed 1 run" if gone else b"nothing was removed") in shown


def test_rm_of_a_run_leaves_the_others(hiermo, store):
    before = [path for path in tree(store) if not path.startswith("slow")]
    ended = hiermo("rm", "runs/slow", "runs/slow/", "--yes")
    assert (ended.code, ended.out) == (0, "removed 1 run\n")
    assert tree(store) == before


def test_a_group_names_what_it_has_left_and_goes_with_its_last_run(hiermo, store):
    (store / "group" / "accuracy.png").write_bytes(b"")
    hiermo("rm", "runs/group/HierMo", "-y")
    assert json.loads((store / "group" / GROUP).read_text())["runs"] == ["HierFAVG"]
    assert hiermo("ls", "runs/group").err == "" and len(hiermo("resume", "runs/group", "--json").runs) == 1
    hiermo("rm", "runs", "--where", "label == 'HierFAVG'", "-y")
    assert not (store / "group").exists()


def test_rm_of_a_group_or_sweep(hiermo, store):
    (store / "group" / "sweep.json").write_text("{}")
    assert hiermo("rm", "runs/group", "-y").out == "removed 2 runs\n"
    assert sorted(path.name for path in store.iterdir()) == ["again", "slow"]


def test_rm_by_where(hiermo, store):
    assert hiermo("rm", "runs", "--where", "tau == 99", "-y").code == 0
    assert hiermo("rm", "runs", "--where", "seed == 1 or tau == 4", "-y").out == "removed 2 runs\n"
    assert sorted(path.name for path in store.iterdir()) == ["group"]


def test_rm_keeps_what_is_not_ours(hiermo, store):
    (store / "slow" / "notes.txt").write_text("mine")
    (store / "group" / "paper.tex").write_text("mine")
    ended = hiermo("rm", "runs/slow", "runs/group", "-y")
    assert ended.out == "removed 2 runs\n"
    assert ended.errors == [
        "kept runs/slow: holds what is not of hiermo's making (notes.txt); --all removes that too",
        "kept runs/group: holds what is not of hiermo's making: paper.tex",
    ]
    assert tree(store / "group") == ["paper.tex"] and (store / "slow" / "result.json").is_file()
    assert hiermo("rm", "runs/slow", "-y", "--all").code == 0
    assert not (store / "slow").exists()


def test_rm_takes_what_trackers_wrote(hiermo, store):
    (store / "slow" / "tensorboard").mkdir()
    assert "(tensorboard)" in hiermo("rm", "runs/slow", "-y").errors[0]
    (store / "slow" / "trackers.json").write_text("{}")
    assert hiermo("rm", "runs/slow", "-y").code == 0


def test_rm_refuses_what_is_no_run(hiermo, store, tmp_path):
    """Not even with --all: a folder with a recipe of one's own is the user's."""
    mine = tmp_path / "project"
    mine.mkdir()
    (mine / "recipe.toml").write_text('format = 1\nmodel = "cnn"\n[algorithm]\nname = "HierMo"\n')
    (mine / "thesis.tex").write_text("years of work")
    (tmp_path / "link").symlink_to(store / "slow")
    before = tree(tmp_path)
    for path in ("project", "runs", ".", "/", "..", "nowhere", "link", "project/recipe.toml"):
        assert hiermo("rm", path, "-y", "--all").error
    assert tree(tmp_path) == before
    assert hiermo("rm", "runs/slow", "project", "-y").error  # nothing goes where one of them is wrong
    assert tree(tmp_path) == before


def test_rm_removes_what_is_damaged_or_newer_where_it_is_named(hiermo, store):
    (store / "slow" / "metrics.jsonl").write_bytes(b"\xff")
    (store / "again" / "recipe.toml").write_text("format = 2")
    ended = hiermo("rm", "runs/slow", "runs/again", "-y")
    assert ended.code == 0 and "2 unreadable" in ended.err
    assert sorted(path.name for path in store.iterdir()) == ["group"]


@pytest.mark.parametrize("label", ["../../outside", "/etc", ".."])
def test_a_hostile_group_leads_nowhere(hiermo, store, tmp_path, label):
    outside = shutil.copytree(store / "slow", tmp_path / "outside")
    (store / "group" / GROUP).write_text(json.dumps({"format": 1, "runs": [label, "HierMo"]}))
    hiermo("rm", "runs/group", "-y", "--all")
    assert (outside / "result.json").is_file() and (store / "slow").is_dir()
    (store / "group").mkdir(exist_ok=True)
    (store / "group" / GROUP).write_text(json.dumps({"format": 1, "runs": [label]}))
    assert "must be a list of names of folders beside it" in hiermo("resume", "runs/group").error


def test_rm_does_not_follow_links_out_of_a_store(hiermo, store, tmp_path):
    outside = shutil.copytree(store / "slow", tmp_path / "elsewhere" / "x")
    (store / "linked").symlink_to(outside.parent)
    (store / "again" / "figures").symlink_to(outside)  # in a run: the link goes, not what it leads to
    ended = hiermo("rm", "runs", "--where", "true", "-y", "--all")
    assert "a link leads to it from the store" in ended.errors[0]
    assert (outside / "result.json").is_file() and [path.name for path in store.iterdir()] == ["linked"]


def test_rm_never_removes_a_run_that_is_held(hiermo, store):
    with FileLock(store / "slow" / "lock"):
        ended = hiermo("rm", "runs/slow", "runs/again", "-y")
    assert ended.errors == ["kept runs/slow: another process is running in this directory"]
    assert (store / "slow" / "result.json").is_file() and not (store / "again").exists()


def test_a_run_that_is_being_trained_is_told_and_kept(hiermo, recipe, tmp_path):
    path = recipe(train={"iterations": 40_000_000}, evaluate={"every": 100})
    words = [sys.executable, "-m", "hiermo", "run", path, "--out", "runs/live"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as training:
        try:
            metrics = tmp_path / "runs/live/metrics.jsonl"
            while not (metrics.is_file() and metrics.read_text().count("\n") > 1):
                assert training.poll() is None
                time.sleep(0.05)
            (row,) = rows(hiermo("ls", "--json"))
            assert row["condition"] == "running" and row["iterations"] >= 400
            assert hiermo("rm", "runs/live", "-y").errors == ["kept runs/live: is being trained; stop it first"]
            assert training.poll() is None
        finally:
            training.send_signal(signal.SIGKILL)
            training.wait()
    assert hiermo("ls").out.endswith("1 run: 1 stopped\n")
    assert hiermo("rm", "runs/live", "-y").out == "removed 1 run\n"


def test_a_kill_while_removing_leaves_nothing_that_is_listed(hiermo, store, monkeypatch):
    """The deletion stops after the first file, as a kill would; the next removal clears what it left."""

    def killed(path, ignore_errors=False):
        next(path.iterdir()).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        assert hiermo("rm", "runs/slow", "-y").code == 130
    assert [path.name for path in store.iterdir() if SIDE in path.name]
    ended = hiermo("ls")
    assert ended.out.endswith("3 runs: 3 finished\n") and not ended.err
    hiermo("rm", "runs/again", "-y")
    assert sorted(path.name for path in store.iterdir()) == ["group"]
