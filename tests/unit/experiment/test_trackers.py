"""Trackers: every evaluation is there once, with the recipe and the end of the run; training is as without them."""

from contextlib import suppress
import os
import subprocess
import sys

import pytest
from safetensors.numpy import load_file

from cli.reading_back import READERS, assert_each_point_once, keep_offline
from cli.tiny_recipe import tiny
from hiermo.core.errors import Diverged, UserError
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.extend import extend
from hiermo.experiment.recipe import parse
from hiermo.experiment.run_directory import create
from hiermo.experiment.trackers import TRACKERS, usable
from hiermo.experiment.trackers.plain import LONGEST_LIST, LONGEST_TEXT, numbers, scalars
from hiermo.experiment.trackers.tracker import Point, TrackedRun, Tracker
from hiermo.experiment.trackers.tracking import tracking
from hiermo.experiment.train import Interrupted, train

NAMES = tuple(TRACKERS.builtin)
RECIPE = parse(tiny(name="small", evaluate={"per": ["class"]}))


@pytest.fixture(autouse=True)
def here(monkeypatch):
    keep_offline(monkeypatch)


@pytest.fixture(params=NAMES)
def name(request):
    pytest.importorskip(request.param, reason=f"needs hiermo[{request.param}]")
    return request.param


@pytest.fixture(scope="module")
def problem():
    return problem_of(RECIPE)


def made(folder, recipe=RECIPE):
    (directory,) = create(folder, recipe)
    return directory


def go(directory, problem, *names, stop=lambda: False, recipe=None):
    recipe = recipe or directory.recipe()
    with tracking(names, directory, recipe) as tracks:
        for progress in train(directory, recipe, problem, stop):
            tracks.show(progress)


def stopping_at(merges):
    left = iter(range(merges))
    return lambda: next(left, None) is None


def bits(directory):
    lines = [{k: v for k, v in line.items() if k != "seconds"} for line in directory.evaluations()]
    state = {key: array.tobytes() for key, array in load_file(directory.checkpoint_path).items()}
    return lines, directory.result()["model_sha256"], state


def test_a_finished_run(tmp_path, problem, name):
    directory, plain = made(tmp_path / "o"), made(tmp_path / "plain")
    go(directory, problem, name)
    go(plain, problem)
    assert bits(directory) == bits(plain)
    assert_each_point_once(directory.path, name)
    found, result = READERS[name](directory.path), directory.result()
    assert len(found.points["accuracy"]) == 10
    assert {"loss", "seconds", "simulated_seconds", "bytes", "cloud_round", "loss_per_class/9"} <= found.points.keys()
    assert str(found.settings["algorithm.name"]) == "HierMo"
    assert float(found.settings["periods.tau"]) == 2
    assert found.status == "finished"
    assert found.result["model_sha256"] == result["model_sha256"]
    assert not (plain.path / "trackers.json").exists()


@pytest.mark.parametrize("left", [2, 5])
def test_going_on_adds_what_is_missing(tmp_path, problem, name, left):
    directory = made(tmp_path / "o")
    with pytest.raises(Interrupted):
        go(directory, problem, name, stop=stopping_at(left))
    assert READERS[name](directory.path).status == "interrupted"
    go(directory, problem, name)
    assert_each_point_once(directory.path, name)
    assert READERS[name](directory.path).status == "finished"


def test_points_after_the_last_checkpoint_are_not_there_twice(tmp_path, problem, name):
    """As a kill leaves it: logged, in the metrics file, and computed again."""
    directory = made(tmp_path / "o")
    with suppress(Interrupted):
        go(directory, problem, name, stop=stopping_at(6))
    saved = directory.checkpoint_path.read_bytes()
    with suppress(Interrupted):
        go(directory, problem, name, stop=stopping_at(8))
    assert READERS[name](directory.path).points["loss"][-1][0] > 16
    directory.checkpoint_path.write_bytes(saved)
    go(directory, problem, name)
    assert_each_point_once(directory.path, name)


def test_a_tracker_that_comes_late_gets_all(tmp_path, problem, name):
    directory = made(tmp_path / "o")
    with suppress(Interrupted):
        go(directory, problem, stop=stopping_at(9))
    go(directory, problem, name)
    assert_each_point_once(directory.path, name)


def test_a_finished_run_is_logged_afterwards(tmp_path, problem, name):
    directory = made(tmp_path / "o")
    go(directory, problem)
    for _ in range(2):  # and once more changes nothing
        with tracking((name,), directory, directory.recipe()):
            pass
        assert_each_point_once(directory.path, name)
        assert READERS[name](directory.path).status == "finished"


def test_a_longer_horizon(tmp_path, problem, name):
    directory = made(tmp_path / "o")
    go(directory, problem, name)
    extend(directory, 60)
    go(directory, problem, name)
    assert_each_point_once(directory.path, name)
    found = READERS[name](directory.path)
    assert float(found.settings["train.iterations"]) == 60
    assert float(found.result["iterations"]) == 60


def test_a_run_that_breaks(tmp_path, name):
    recipe = parse(tiny(model={"name": "linear"}, algorithm={"name": "HierFAVG", "eta": 1e38}))
    directory = made(tmp_path / "o", recipe)
    with pytest.raises(Diverged):
        go(directory, problem_of(recipe), name)
    found = READERS[name](directory.path)
    assert found.status == "failed"
    assert "is not finite" in found.result["error"]


def test_two_runs_at_once_are_kept_apart(tmp_path, problem, name):
    """As a sweep trains them: the first evaluations of both come before the end of either."""
    recipe = parse(tiny(evaluate={"per": ["class"]}, algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}]))
    runs = [(each, each.recipe()) for each in create(tmp_path / "pair", recipe)]
    loops = [train(*run, problem) for run in runs]
    with tracking((name,), *runs[0]) as one, tracking((name,), *runs[1]) as two:
        for first, second in zip(*loops, strict=True):
            one.show(first)
            two.show(second)
    for each, _ in runs:
        assert_each_point_once(each.path, name)
        assert READERS[name](each.path).settings["algorithm.name"] == each.path.name


def test_evaluations_of_the_same_iteration(tmp_path, name):
    """Edges of CFL arrive at the cloud one by one: three evaluations for every four iterations."""
    raw = tiny(train={"iterations": 20}, algorithm={"name": "CFL"})
    recipe = parse({**raw, "tree": {"groups": [[0], [1, 2], [3]]}})
    directory, problem = made(tmp_path / "o", recipe), problem_of(recipe)
    with suppress(Interrupted):
        go(directory, problem, name, stop=stopping_at(10))
    go(directory, problem, name)
    steps = [t for t, _ in READERS[name](directory.path).points["loss"]]
    assert steps == [4 * (k // 3 + 1) for k in range(15)]
    assert_each_point_once(directory.path, name)


def test_a_run_of_another_process_is_left_alone(tmp_path, problem):
    directory = made(tmp_path / "o")
    with directory.locked(), pytest.raises(UserError, match="another process"):
        go(directory, problem, "tensorboard")
    assert not (directory.path / "tensorboard").exists()


class Broken(Tracker):
    """Raises when it is told to."""

    at = "open"

    def __init__(self, run: TrackedRun, points: list[Point]) -> None:
        self._fail("open")

    def log(self, point: Point) -> None:
        self._fail("log")

    def close(self, status, result) -> None:
        self._fail("close")

    def _fail(self, at: str) -> None:
        if at == self.at:
            raise OSError(28, "No space left on device")


@pytest.mark.parametrize("at", ["open", "log", "close"])
def test_a_tracker_that_breaks_is_left_out(tmp_path, problem, monkeypatch, at):
    monkeypatch.setitem(TRACKERS.builtin, "broken", f"{__name__}:Broken")
    monkeypatch.setattr(usable(["broken"])["broken"], "at", at)
    directory, plain = made(tmp_path / "o p"), made(tmp_path / "plain")
    go(plain, problem)
    with pytest.warns(UserWarning) as told:
        go(directory, problem, "broken", "tensorboard")
    (warning,) = told
    again = f"`hiermo resume '{directory.path}' --log broken` adds what is missing"
    assert str(warning.message) == (
        f"--log broken: [Errno 28] No space left on device; the run goes on without it, and {again}"
    )
    assert bits(directory) == bits(plain)
    assert_each_point_once(directory.path, "tensorboard")


def test_a_place_that_cannot_be_written(tmp_path, problem, name):
    directory = made(tmp_path / "o")
    folder = tmp_path / "mlruns" if name == "mlflow" else directory.path / name
    folder.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match=f"--log {name}: "):
        go(directory, problem, name)
    assert directory.result()["iterations"] == 40
    folder.unlink()
    with tracking((name,), directory, directory.recipe()):
        pass
    assert_each_point_once(directory.path, name)


def test_a_server_that_is_away(tmp_path, problem, monkeypatch):
    pytest.importorskip("mlflow", reason="needs hiermo[mlflow]")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")  # nobody listens at the port for discarding
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    directory = made(tmp_path / "o")
    with pytest.warns(UserWarning, match=r"--log mlflow: .*Connection refused"):
        go(directory, problem, "mlflow")
    assert directory.result()["iterations"] == 40


def test_another_store_gets_the_whole_run(tmp_path, problem, monkeypatch):
    tracking_client = pytest.importorskip("mlflow.tracking", reason="needs hiermo[mlflow]")
    directory = made(tmp_path / "o")
    with suppress(Interrupted):
        go(directory, problem, "mlflow", stop=stopping_at(5))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "other").as_uri())
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    go(directory, problem, "mlflow")
    client = tracking_client.MlflowClient(tracking_uri=(tmp_path / "other").as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("mine").experiment_id])
    assert len(client.get_metric_history(run.info.run_id, "loss")) == 10


def test_names_and_places():
    with pytest.raises(UserError, match="there is no tracker 'tensorbord'; did you mean 'tensorboard'"):
        usable(["tensorbord"])
    with pytest.raises(
        UserError, match=r"--log json:JSONDecoder: not a hiermo\.experiment\.trackers\.tracker\.Tracker"
    ):
        usable(["json:JSONDecoder"])
    assert usable([]) == {}


def test_without_an_account_nobody_is_asked(monkeypatch, tmp_path):
    """In a process of its own, for W&B reads its settings once."""
    pytest.importorskip("wandb", reason="needs hiermo[wandb]")
    code = "from hiermo.experiment.trackers import usable; usable(['wandb'])"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WANDB_")}
    home = {**kept, "HOME": str(tmp_path), "NETRC": str(tmp_path / "none"), "WANDB_CONFIG_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=home, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1].endswith(
        "--log wandb: nobody is logged in: run `wandb login`, or set WANDB_MODE=offline to keep it here"
    )


def test_what_is_too_long():
    line = {"loss": 0.5, "loss_per_worker": [0.1] * (LONGEST_LIST + 1), "loss_per_edge": [0.1] * LONGEST_LIST}
    assert len(numbers(line)) == 1 + LONGEST_LIST
    text = scalars({"tree": {"groups": [list(range(1000))]}})["tree.groups"]
    assert len(text) == LONGEST_TEXT and text.endswith("...")
    assert scalars({"a": None, "b": True, "c": {"d": [1, "x"]}}) == {"b": True, "c.d": '[1, "x"]'}
