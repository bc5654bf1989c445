"""What `[input]`, `evaluate.per`, `model.weights` and modules of one's own do in a run, as a user has it."""

import json

import pytest
import tomli_w
import torch

from cli.tiny_recipe import TINY
import hiermo as library


@pytest.fixture
def images(tmp_path):
    """A recipe on real digits, written with some tables changed."""

    def write(**tables):
        usual = {
            **TINY,
            "data": {"source": "mnist-5k"},
            "train": {"iterations": 8, "batch": 32},
            "evaluate": {"test": 200},
        }
        path = tmp_path / "r.toml"
        path.write_text(tomli_w.dumps({**usual, **tables}))
        return path

    return write


def test_how_each_fares_is_in_the_metrics_and_the_table(hiermo, images, tmp_path):
    path = images(evaluate={"test": 200, "per": ["class", "worker", "edge"]})
    ended = hiermo("run", path, "--out", "o")
    assert ended.code == 0, ended.err
    for word in ("worst", "class", "worker", "edge"):  # in two lines where the terminal is narrow
        assert word in ended.out
    header, *lines = map(json.loads, (tmp_path / "o/metrics.jsonl").read_text().splitlines())
    assert header["columns"]["accuracy_per_worker"] == "accuracy of the cloud model: a list with one for each worker"
    assert set(header["columns"]) == set(lines[-1])
    assert [len(lines[-1][f"accuracy_per_{each}"]) for each in ("class", "worker", "edge")] == [10, 4, 2]
    result = json.loads((tmp_path / "o/result.json").read_text())
    assert result["accuracy_worst_worker"] == min(lines[-1]["accuracy_per_worker"])
    # the same training, judged less
    assert hiermo("run", images(), "--out", "plain").code == 0
    assert json.loads((tmp_path / "plain/result.json").read_text())["model_sha256"] == result["model_sha256"]


def test_a_run_stops_when_the_worst_worker_is_good_enough(hiermo, images):
    train = {"iterations": 400, "batch": 32, "until": {"accuracy_worst_worker": 0.3}}
    (run,) = hiermo("run", images(train=train, evaluate={"test": 200, "per": ["worker"]}), "--json").runs
    assert run["stopped_by"] == "until" and run["accuracy_worst_worker"] >= 0.3 and run["iterations"] < 400


def test_augmented_runs_resume_to_the_same_bits(hiermo, images, bits, tmp_path):
    given = {"normalise": True, "crop": 3, "flip": True}
    path = images(input=given)
    assert hiermo("run", path, "--out", "whole").code == 0
    assert hiermo("run", path, "--out", "half", "-s", "train.iterations=4").code == 0
    assert hiermo("resume", "half", "--iterations", "8").code == 0
    whole, half = bits(tmp_path / "whole"), bits(tmp_path / "half")
    assert whole == half
    plain = hiermo("run", images(), "--json").runs[0]
    assert plain["model_sha256"] != whole.result["model_sha256"]
    starts = json.loads((tmp_path / "half/provenance.json").read_text())["starts"]
    assert len(starts) == 2
    mean = library.load_data("mnist-5k", workers=1).train_x.mean() / 255
    assert starts[1]["input"]["mean"] == pytest.approx([mean], rel=1e-12)  # float64 over 3 million pixels
    assert starts[1]["shape"] == [1, 28, 28]


def test_a_run_starts_from_exported_weights(hiermo, images, tmp_path):
    assert hiermo("run", images(), "--out", "first").code == 0
    assert hiermo("export", "first", "--to", "start.safetensors").code == 0
    model = {"name": "logistic", "weights": "start.safetensors"}
    (run,) = hiermo("run", images(model=model, algorithm={"name": "HierFAVG", "eta": 1e-9}), "--json").runs
    first = json.loads((tmp_path / "first/result.json").read_text())
    assert run["loss"] == pytest.approx(first["loss"], rel=1e-5)  # steps of 1e-9 do not show in float32
    unfit = hiermo("run", images(model={"name": "mlp", "weights": "start.safetensors"}))
    assert 'model.weights = "' in unfit.error and "is not of this model" in unfit.error
    assert "there is no such file" in hiermo("run", images(model={**model, "weights": "gone.safetensors"})).error


def test_a_module_of_ones_own_by_import_path(hiermo, images, tmp_path):
    (tmp_path / "nets_beside.py").write_text(
        "import torch\n\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self, shape, classes, width=4):\n"
        "        super().__init__()\n"
        "        self.first = torch.nn.Linear(shape[1] * shape[2], width)\n"
        "        self.norm = torch.nn.BatchNorm1d(width)\n"
        "        self.last = torch.nn.Linear(width, classes)\n\n"
        "    def forward(self, x):\n"
        "        return self.last(torch.relu(self.norm(self.first(x.flatten(1)))))\n"
    )
    (run,) = hiermo("run", images(model={"name": "nets_beside:Net", "width": 6}), "--json").runs
    assert run["parameters"] == 784 * 6 + 6 + 12 + 6 * 10 + 10
    assert (
        "model.widht is not an argument of Net; did you mean 'width'?"
        in hiermo("run", images(model={"name": "nets_beside:Net", "widht": 6})).error
    )


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"input": {"crop": 28}}, "input.crop = 28 would shift images of [1, 28, 28] out of sight; use less"),
        ({"data": {"source": "mnist-5k", "partition": "natural"}}, "the partition natural needs to know whose"),
        ({"data": {"source": "csv", "path": "gone.csv"}}, "gone.csv"),
    ],
)
def test_refused(hiermo, images, tables, said):
    assert said in hiermo("run", images(**tables)).error


def test_the_two_engines_agree_on_augmented_images():
    """To rounding: float64, a few steps of a convex model."""
    data = library.load_data("mnist-5k", workers=4)
    tree = library.Tree.regular(edges=2, workers_per_edge=2)
    ends = []
    for engine in ("stacked", "pernode"):
        problem = library.Supervised(
            library.make_model("logistic", data), data, 16, dtype="float64", crop=2, flip=True, normalise=True
        )
        *_, state = library.run(library.HierMo(), tree, problem, periods=(2, 1), iterations=4, engine=engine)
        ends.append(torch.as_tensor(state.model))
    assert torch.allclose(*ends, rtol=1e-12, atol=1e-12)
