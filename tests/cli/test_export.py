"""`hiermo export`: the printed lines load the model that was evaluated, without hiermo; nothing is half done."""

import json
import logging
from pathlib import Path
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
import tomli_w
import torch

from cli.tiny_recipe import tiny
from hiermo import __version__
from hiermo.data.sources.mnist_5k import Mnist5k
from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.loading_lines import loading_lines
from hiermo.experiment.part import Part
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import Interrupted, train
from hiermo.models.resnet import ResNet18
from hiermo.models.vgg import Vgg16

NETS = """
from torch import nn

class Normed(nn.Module):
    def __init__(self, shape, classes, width=4):
        super().__init__()
        self.conv = nn.Conv2d(shape[0], width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.head = nn.Linear(width * shape[1] * shape[2], classes)

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).relu().flatten(1))

def with_a_frozen_layer(classes):
    layers = nn.Flatten(), nn.Linear(144, 12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, classes)
    layers[1].requires_grad_(False)
    return nn.Sequential(*layers)

class Tied(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.first, self.again = nn.Linear(144, 144), nn.Linear(144, 144)
        self.again.weight = self.first.weight
        self.head = nn.Linear(144, classes)

    def forward(self, x):
        return self.head(self.again(self.first(x.flatten(1)).relu()).relu())

class Branching(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Linear(144, classes)

    def forward(self, x):
        return self.head(x.flatten(1)) * (1 if x.sum().item() > 0 else 2)
"""

CNN = {"name": "cnn", "channels": [4], "hidden": [8]}
HAR = {"name": "cnn-har", "channels": [4], "hidden": [8], "kernel": 3}
SERIES = {"source": "arrays", "path": "series.npz", "layout": "channels_first"}
RUNS = {
    "linear": {"model": {"name": "linear"}, "algorithm": {"name": "HierMo", "eta": 0.02}},
    "logistic": {"model": {"name": "logistic"}, "input": {"normalise": True}},
    "mlp": {"model": {"name": "mlp", "hidden": [8, 8]}},
    "cnn": {"model": CNN, "input": {"normalise": True}},
    "cnn-har": {"model": HAR, "data": SERIES, "input": {"normalise": True}},
    "normed": {"model": {"name": "nets:Normed", "width": 3}},
    "frozen": {"model": {"name": "nets:with_a_frozen_layer"}, "train": {"seed": 3}, "input": {"normalise": True}},
    "tied": {"model": {"name": "nets:Tied"}},
    "double": {"model": {"name": "nets:Normed"}, "engine": {"dtype": "float64"}},
}


def blobs(n, shape, seed):
    """Four classes around a mean each, of pixels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    means = np.random.default_rng(0).uniform(60, 190, (4, *shape))
    return np.clip(means[labels] + rng.normal(0, 60, (n, *shape)), 0, 255).astype(np.uint8), labels


def write_data(folder):
    for name, shape, kind in (("images", (1, 12, 12), np.uint8), ("series", (3, 16), np.float32)):
        (x, y), (test_x, test_y) = blobs(240, shape, 1), blobs(150, shape, 2)
        np.savez(folder / name, train_x=x.astype(kind), train_y=y, test_x=test_x.astype(kind), test_y=test_y)


def trained(folder, name, stop=lambda: False, **tables):
    """A run directory as `hiermo run` leaves it."""
    tables = {"data": {"source": "arrays", "path": "images.npz"}, "algorithm": {"name": "HierMo", "eta": 0.1}} | tables
    recipe_path = folder / f"{name}.toml"
    recipe = {**tiny(**tables), "data": tables["data"]}
    recipe_path.write_text(tomli_w.dumps(recipe), encoding="utf-8")
    loaded = recipe_file.load(str(recipe_path))
    problem = problem_of(loaded)
    directories = create(folder / name, loaded)
    for directory in directories:
        list(train(directory, directory.recipe(), problem, stop))
    return directories[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Trained runs, and the modules they name; the data is gone."""
    folder = tmp_path_factory.mktemp("home")
    write_data(folder)
    (folder / "nets.py").write_text(NETS)
    for name, tables in RUNS.items():
        trained(folder, name, **tables)
    shutil.move(folder / "images.npz", folder / "gone.npz")
    yield folder
    sys.modules.pop("nets", None)


def lines_of(ended):
    assert (ended.code, ended.err) == (0, "")
    told, _, lines = ended.out.partition("; load it with\n\n")
    assert told.startswith("wrote ")
    return lines


PLAIN = """
import json, sys
sys.modules["hiermo"] = None  # importing it is an error
import numpy as np
import torch
from safetensors import safe_open
for name in sys.argv[1:]:
    names = {}
    exec(open(name + ".py").read(), names)
    model = names["model"]
    with safe_open(name + ".safetensors", "pt") as file:
        seen = json.loads(file.metadata()["input"])
    data = np.load("series.npz" if name == "cnn-har" else "gone.npz")
    x = torch.as_tensor(data["test_x"]).float() / seen["divided_by"]
    if "mean" in seen:
        wide = (-1,) + (1,) * (x.ndim - 2)
        x = (x - torch.tensor(seen["mean"]).view(wide)) / torch.tensor(seen["deviation"]).view(wide)
    y = torch.as_tensor(data["test_y"])
    with torch.no_grad():
        outputs = model(x)
    losses = torch.nn.functional.cross_entropy(outputs, y), (outputs - torch.eye(4)[y]).square().mean()
    right = (outputs.argmax(1) == y).sum()
    print(json.dumps([name, right.item(), losses[name == "linear"].item()]))
"""


def test_the_lines_load_the_model_that_was_evaluated_without_hiermo(hiermo, home, monkeypatch):
    monkeypatch.chdir(home)
    for name in RUNS:
        lines = lines_of(hiermo("export", name, "--to", f"{name}.safetensors"))
        assert "hiermo" not in lines
        (home / f"{name}.py").write_text(lines)
    words = [sys.executable, "-c", PLAIN, *RUNS]
    done = subprocess.run(words, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name, right, loss in map(json.loads, done.stdout.splitlines()):
        result = json.loads((home / name / "result.json").read_text())
        # sums of some hundred products in another order, and for one run of another precision
        assert loss == pytest.approx(result["loss"], rel=1e-4, abs=1e-6), name
        # one sample may lie on the border of two classes
        assert abs(right - 150 * result["accuracy"]) <= 1 + 1e-9, name
        assert right > 75, name  # of four classes


def test_the_lines_of_networks_that_hiermo_makes():
    for name, made, shape in (("vgg16", Vgg16(batch_norm=False), (3, 32, 32)), ("resnet18", ResNet18(), (3, 8, 8))):
        with torch.device("meta"):
            module = made.build(shape, 7)
            seen = {"divided_by": 255, "mean": [0.5], "deviation": [0.2]}
            lines = loading_lines(Path("m.safetensors"), Part(name, made), module, shape, 7, seen).splitlines()
            assert lines[:2] == ["import safetensors.torch, hiermo", ""]
            names = {}
            exec("\n".join(lines[:3]), names)
        assert repr(names["model"]) == repr(module)
        assert lines[3] == 'model.eval().load_state_dict(safetensors.torch.load_file("m.safetensors"))'
        words = "(pixels / 255 - mean) / deviation, which the file's metadata has as `input`"
        assert lines[4] == f"# inputs: float32 [n, {', '.join(map(str, shape))}], {words}"
    assert lines[2] == 'model = hiermo.make_model("resnet18", shape=(3, 8, 8), classes=7)()'


def test_what_is_printed(hiermo, home, monkeypatch):
    monkeypatch.chdir(home)
    accuracy = json.loads((home / "normed/result.json").read_text())["accuracy"]
    ended = hiermo("export", "normed", "--to", "normed.safetensors", "--force")
    assert ended.out == (
        f"wrote normed.safetensors: HierMo after 40 iterations, accuracy {accuracy:.2%}; load it with\n\n"
        "import safetensors.torch, nets\n\n"
        "model = nets.Normed(shape=(1, 12, 12), classes=4, width=3)\n"
        'model.eval().load_state_dict(safetensors.torch.load_file("normed.safetensors"))\n'
        "# inputs: float32 [n, 1, 12, 12], pixels / 255\n"
    )


def test_the_file_tells_where_it_is_from(hiermo, home, tmp_path):
    assert hiermo("export", home / "cnn", "--to", "m.safetensors").code == 0
    with safe_open(tmp_path / "m.safetensors", "np") as file:
        about = file.metadata()
    result = json.loads((home / "cnn/result.json").read_text())
    seen = json.loads(about.pop("input"))
    assert seen["divided_by"] == 255
    pixels = np.load(home / "gone.npz")["train_x"] / 255
    # float64 sums of 34560 numbers
    assert seen["mean"] == pytest.approx([pixels.mean()], rel=1e-9)
    assert seen["deviation"] == pytest.approx([pixels.std()], rel=1e-9)
    assert json.loads(about.pop("model")) == {
        "name": "cnn",
        "hidden": [8],
        "channels": [4],
        "start": "pytorch",
    }
    assert about == {
        "format": "pt",
        "hiermo": __version__,
        "hiermo_format": "1",
        "shape": "[1, 12, 12]",
        "classes": "4",
        "class_names": '["0", "1", "2", "3"]',
        "data": "arrays",
        "algorithm": "HierMo",
        "seed": "0",
        "iterations": "40",
        "cloud_rounds": "10",
        "accuracy": str(result["accuracy"]),
        "loss": str(result["loss"]),
    }


@pytest.mark.parametrize("name", ["normed", "double"])
def test_statistics_are_the_clouds(hiermo, home, tmp_path, name):
    assert hiermo("export", home / name, "--to", "m.safetensors").code == 0
    found = load_file(tmp_path / "m.safetensors")
    kept = load_file(home / name / "checkpoint.safetensors")
    width = 3 if name == "normed" else 4
    mean, variance, batches = np.split(kept["buffers2"][0], [width, 2 * width])
    assert kept["buffers2"].dtype == (np.float32 if name == "normed" else np.float64)
    np.testing.assert_array_equal(found["norm.running_mean"], mean.astype(np.float32))
    np.testing.assert_array_equal(found["norm.running_var"], variance.astype(np.float32))
    assert (found["norm.running_var"] > 0).all()
    assert found["norm.running_var"].dtype == np.float32  # the module's own type
    assert found["norm.num_batches_tracked"] == 40 == batches.round()
    assert found["norm.num_batches_tracked"].dtype == np.int64
    model = np.concatenate([found[key].ravel() for key in ("conv.weight", "conv.bias", "norm.weight", "norm.bias")])
    np.testing.assert_array_equal(model, kept["tier2.x"][0][: model.size].astype(np.float32))


def test_an_exported_file_is_a_start(hiermo, home, tmp_path):
    shutil.copy(home / "gone.npz", tmp_path / "images.npz")
    shutil.copy(home / "nets.py", tmp_path)
    assert hiermo("export", home / "normed", "--to", "m.safetensors").code == 0
    model = {"name": "nets:Normed", "width": 3, "weights": "m.safetensors", "skip": ["head.*"]}
    data = {"source": "arrays", "path": "images.npz"}
    (tmp_path / "r.toml").write_text(tomli_w.dumps({**tiny(model=model), "data": data}))
    problem = problem_of(recipe_file.load("r.toml"))
    kept = load_file(home / "normed/checkpoint.safetensors")
    head = 3 * 12 * 12 * 4 + 4
    np.testing.assert_array_equal(problem.initial(5)[:-head], kept["tier2.x"][0][:-head])
    assert not np.array_equal(problem.initial(5)[-head:], problem.initial(6)[-head:])  # drawn, as without a file
    np.testing.assert_array_equal(problem.initial_buffers(5), kept["buffers2"][0])


def test_an_unfinished_run_gives_the_model_of_its_last_cloud_merge(hiermo, home, tmp_path):
    write_data(tmp_path)
    asked = iter([False] * 6)  # edge merges: cloud merges at every second, the checkpoint is after the seventh
    with pytest.raises(Interrupted):
        trained(tmp_path, "half", lambda: next(asked, True), evaluate={"every": 2})
    assert hiermo("export", "half", "--to", "m.safetensors").out.startswith(
        "wrote m.safetensors: HierMo after 14 iterations; load it with"
    )
    with safe_open(tmp_path / "m.safetensors", "np") as file:
        about, weight = file.metadata(), file.get_tensor("1.weight")
    assert (about["iterations"], about["cloud_rounds"]) == ("14", "3")
    assert "accuracy" not in about  # the third was not evaluated
    cloud = load_file(tmp_path / "half/checkpoint.safetensors")["tier2.x"][0]
    np.testing.assert_array_equal(weight.ravel(), cloud[:-4])


def test_before_the_first_cloud_merge_there_is_nothing_to_export(hiermo, tmp_path):
    write_data(tmp_path)
    with pytest.raises(Interrupted):
        trained(tmp_path, "young", lambda: True)
    assert hiermo("export", "young", "--to", "m.safetensors").error == (
        "young has not come to its first cloud merge; go on with it: hiermo resume young"
    )


def test_several_runs(hiermo, recipe, tmp_path):
    write_data(tmp_path)
    assert hiermo("run", recipe(algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}]), "--out", "o").code == 0
    assert hiermo("export", "o", "--to", "m.safetensors").error == (
        f"o holds 2 runs; name one of them: {Path('o/HierMo')}, {Path('o/HierFAVG')}"
    )
    assert hiermo("export", "o/HierMo", "--to", "m.safetensors").code == 0


def test_an_existing_file_is_kept_unless_forced(hiermo, home, tmp_path):
    (tmp_path / "m.safetensors").write_text("mine")
    words = ("export", home / "mlp", "--to", "m.safetensors")
    assert hiermo(*words).error == (
        "--to m.safetensors: the file exists already; name another, or add --force to overwrite it"
    )
    assert (tmp_path / "m.safetensors").read_text() == "mine"
    assert hiermo(*words, "--force").code == 0
    assert load_file(tmp_path / "m.safetensors")
    assert {path.name for path in tmp_path.iterdir()} == {"m.safetensors"}


@pytest.mark.parametrize(
    ("run", "to", "words"),
    [
        ("mlp", "m.pt", "--to m.pt: the name must end in .safetensors or .onnx"),
        ("mlp", "m", "--to m: the name must end in .safetensors or .onnx"),
        ("mlp", "no/m.safetensors", "--to no/m.safetensors: there is no folder no"),
        ("absent", "m.safetensors", "there is no directory {home}/absent"),
        (".", "m.safetensors", "{home} is not a run directory: it has no recipe.toml"),
    ],
)
def test_refusals(hiermo, home, tmp_path, run, to, words):
    assert hiermo("export", home / run, "--to", to).error == words.format(home=home)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_no_file(hiermo, home, tmp_path):
    (tmp_path / "m.onnx").mkdir()
    assert hiermo("export", home / "mlp", "--to", "m.onnx", "--force").error == "--to m.onnx: that is a folder"


@pytest.fixture
def spoilt(home, tmp_path):
    """A copy of a run, to be damaged."""
    shutil.copytree(home / "mlp", tmp_path / "run")
    return tmp_path / "run"


def test_without_a_checkpoint(hiermo, spoilt):
    (spoilt / "checkpoint.safetensors").unlink()
    assert hiermo("export", "run", "--to", "m.safetensors").error == (
        "run has no checkpoint yet; train it first: hiermo resume run"
    )


def test_a_damaged_checkpoint_is_named(hiermo, spoilt):
    file = spoilt / "checkpoint.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    assert hiermo("export", "run", "--to", "m.safetensors").error.startswith(
        "run/checkpoint.safetensors: damaged checkpoint: "
    )


ANOTHER = "run/checkpoint.safetensors is not of this run: it has another model"


@pytest.mark.parametrize("other", ["cnn", "normed"])
def test_the_checkpoint_of_another_run(hiermo, home, spoilt, other):
    shutil.copy(home / other / "checkpoint.safetensors", spoilt)
    assert hiermo("export", "run", "--to", "m.safetensors").error == ANOTHER


def test_a_checkpoint_with_statistics_that_the_model_has_not(hiermo, spoilt):
    file = spoilt / "checkpoint.safetensors"
    with safe_open(file, "np") as opened:
        about = opened.metadata()
    save_file(load_file(file) | {f"buffers{k}": np.ones((n, 2)) for k, n in enumerate((4, 2, 1))}, file, about)
    assert hiermo("export", "run", "--to", "m.safetensors").error == ANOTHER


@pytest.mark.parametrize("content", [None, '{"format": 1, "starts": []}', '{"format": 1, "starts": [{"seed": 0}]}'])
def test_a_run_that_does_not_tell_its_data(hiermo, spoilt, content):
    (spoilt / "provenance.json").unlink()
    if content:
        (spoilt / "provenance.json").write_text(content)
    assert hiermo("export", "run", "--to", "m.safetensors").error == (
        "run/provenance.json does not say what data the model was made for; the run is not whole, or too old"
    )


def test_onnx_computes_the_same_on_real_digits(hiermo, tmp_path, caplog):
    import onnx
    import onnxruntime

    (tmp_path / "digits_net.py").write_text(NETS)
    tables = {"data": {"source": "mnist-5k"}, "model": {"name": "digits_net:Normed"}, "input": {"normalise": True}}
    whole = {**tiny(**tables), "data": tables["data"], "algorithm": {"name": "HierMo", "eta": 0.05}}
    (tmp_path / "r.toml").write_text(tomli_w.dumps(whole))
    try:
        assert hiermo("run", "r.toml", "--out", "o").code == 0
        assert hiermo("export", "o", "--to", "m.safetensors").code == 0
        lines = lines_of(hiermo("export", "o", "--to", "m.onnx"))
        assert not [told for told in caplog.records if told.levelno >= logging.WARNING]  # of torch about torch
        assert lines == (
            "import onnxruntime\n\n"
            'session = onnxruntime.InferenceSession("m.onnx")\n'
            '(outputs,) = session.run(None, {"input": inputs})  # inputs: float32 [n, 1, 28, 28], '
            "(pixels / 255 - mean) / deviation, which the file's metadata has as `input`\n"
        )
        names = {}
        exec(lines_of(hiermo("export", "o", "--to", "m.safetensors", "--force")), names)
        model = onnx.load("m.onnx")
        onnx.checker.check_model(model)
        about = {each.key: each.value for each in model.metadata_props}
        seen = json.loads(about["input"])
        digits = Mnist5k().load(tmp_path)
        x = ((digits.test_x / 255 - seen["mean"][0]) / seen["deviation"][0]).astype(np.float32)
        session = onnxruntime.InferenceSession("m.onnx")
        for n in (1, 7, len(x)):
            (outputs,) = session.run(None, {"input": x[:n]})
            expected = names["model"](torch.as_tensor(x[:n])).detach().numpy()
            # float32 sums of 3136 products in another order: 1e-6 each, some larger by cancellation
            np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
        right = (outputs.argmax(1) == digits.test_y).mean()
        assert right == pytest.approx(float(about["accuracy"]), abs=1.5 / len(x))  # one on the border
        assert right > 0.5
        assert about["algorithm"] == "HierMo"
        assert "format" not in about
    finally:
        sys.modules.pop("digits_net", None)


@pytest.mark.parametrize("package", ["onnx", "onnxscript"])
def test_onnx_needs_its_packages(hiermo, home, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert hiermo("export", home / "mlp", "--to", "m.onnx").error == (
        f"--to m.onnx needs the package {package}: pip install 'hiermo[onnx]'"
    )
    assert not list(tmp_path.iterdir())


def test_a_model_that_onnx_cannot_say(hiermo, home, tmp_path):
    shutil.copy(home / "gone.npz", tmp_path / "images.npz")
    (tmp_path / "nets.py").write_text(NETS)
    trained(tmp_path, "run", model={"name": "nets:Branching"})
    error = hiermo("export", "run", "--to", "m.onnx").error
    assert error.startswith("--to m.onnx: torch cannot write this model as ONNX: ")
    assert not (tmp_path / "m.onnx").exists()
    assert hiermo("export", "run", "--to", "m.safetensors").code == 0


def test_help_names_the_verb(hiermo):
    assert "export" in hiermo("--help").out
