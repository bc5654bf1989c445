"""What a dry run tells: messages off the plan, memory off the records, the paper's delays."""

import pytest

from hiermo.core.errors import UserError
from hiermo.core.problem import ModelSize
from hiermo.core.units import human
from hiermo.experiment import memory
from hiermo.experiment.assemble import dimension, load_data
from hiermo.experiment.estimate import estimate
from hiermo.experiment.memory import check_memory, needed_bytes
from hiermo.experiment.recipe import parse
from hiermo.experiment.timing import times_of_cloud_merges

RAW = {
    "data": {"source": "synthetic", "features": 7},
    "model": {"name": "logistic"},
    "tree": {"groups": [[0, 1], [2, 3, 4]], "flatten": True},
    "periods": {"tau": 2, "pi": 3},
    "train": {"iterations": 12},
    "algorithm": [{"name": "HierMo"}, {"name": "HierFAVG"}, {"name": "FedAvg"}],
}


def test_messages_by_hand():
    recipe = parse(RAW)
    found = {}
    for part in recipe.algorithms:
        loads = [load for link in times_of_cloud_merges(recipe, part, ModelSize(80))[-1].links for load in link]
        found[part.name] = sum(load.messages for load in loads), sum(load.vectors for load in loads)
    edge, cloud = 2 * 5, 2 * 2  # up and down, for 5 workers or 2 edges
    messages = 2 * (3 * edge + cloud)
    assert found["HierMo"] == (messages, 2 * messages)  # model and momentum
    assert found["HierFAVG"] == (messages, messages)
    assert found["FedAvg"] == (2 * edge, 2 * edge)


def test_dry_run():
    told = estimate(parse({**RAW, "delays": {"theta_w": 2.0}}))
    assert told["tree"] == "5 workers, 2 edges, cloud"
    assert told["parameters"] == 80
    assert told["data"] == "synthetic, iid: 400 samples per worker"
    assert [run["label"] for run in told["runs"]] == ["HierMo", "HierFAVG", "FedAvg"]
    assert all(run["simulated_seconds"] == 24 and run["cloud_rounds"] == 2 for run in told["runs"])
    assert "5 samples per worker" in estimate(parse({**RAW, "data": {"source": "synthetic", "samples": 25}}))["data"]


def test_running_statistics_travel_too(tmp_path):
    (tmp_path / "normed.py").write_text(
        "from torch import nn\n\ndef net():\n    return nn.Sequential(nn.Linear(7, 10), nn.BatchNorm1d(10))\n"
    )
    recipe = parse({**RAW, "model": "normed:net", "algorithm": "HierMo"}, folders=[tmp_path])
    (run,) = estimate(recipe)["runs"]
    parameters, statistics = 7 * 10 + 10 + 20, 2 * 10 + 1
    assert run["traffic"] == human(4 * run["messages"] * (2 * parameters + statistics))


def test_memory_grows_with_workers_and_model(monkeypatch):
    recipe = parse(RAW)
    data = load_data(recipe)
    assert dimension(recipe, data) == 80
    held = sum(array.nbytes for array in (data.train_x, data.train_y, data.test_x, data.test_y))
    vectors = 5 * 2 + 2 * 3 + 1 * 2 + 2 * 2  # HierMo's records, and the messages that workers keep
    assert needed_bytes(recipe, 1000, data) == held + memory.COPIES * vectors * 1000 * 4
    double = parse({**RAW, "engine": {"dtype": "float64"}})
    assert needed_bytes(double, 1000, data) == held + memory.COPIES * vectors * 1000 * 8
    monkeypatch.setattr(memory, "available_bytes", lambda: needed_bytes(recipe, 1000, data))
    check_memory(recipe, 1000, data)
    with pytest.raises(
        UserError, match=r"needs about .* are free: 5 workers \(tree\) hold a model of 1,001 parameters"
    ):
        check_memory(recipe, 1001, data)


def test_sizes_for_people():
    sizes = {
        0: "0 B",
        999: "999 B",
        1000: "1000 B",
        1024: "1 KiB",
        1536: "1.5 KiB",
        3 * 2**30: "3 GiB",
        5 * 2**40: "5 TiB",
    }
    assert {size: human(size) for size in sizes} == sizes
    assert human(2000 * 2**40) == "2000 TiB"
