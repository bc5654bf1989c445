"""Metrics of `Supervised` against plain torch."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import vector_to_parameters

from hiermo import Supervised, UserError
from hiermo.data.partition.iid import Iid
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic

DATA = Synthetic(samples=40, test_samples=25, features=5, classes=3, noise=2.0).load(Path())
DIVIDED = partition(DATA, Iid(), 2)
EXACT = 1e-12  # float64, sums of at most 40 terms
BATCH = 10  # 25 = 10 + 10 + 5


def logistic():
    return nn.Linear(5, 3)


def normalised():
    return nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 3))


def evaluated(model=logistic, data=DIVIDED, **options):
    problem = Supervised(model, data, 8, **{"evaluate_batch": BATCH, "dtype": "float64", **options})
    return problem, problem.initial(3)


def by_hand(problem, x, inputs, targets, buffers=None):
    """(loss, accuracy) of an ordinary module in evaluation mode, on everything at once."""
    module = deepcopy(problem.module).eval()
    vector_to_parameters(x, module.parameters())
    if buffers is not None:
        module[1].running_mean, module[1].running_var = buffers[:6], buffers[6:12]
    with torch.no_grad():
        outputs = module(torch.from_numpy(inputs).double())
    y = torch.from_numpy(targets)
    return functional.cross_entropy(outputs, y).item(), (outputs.argmax(1) == y).double().mean().item()


@pytest.mark.parametrize("batch", [1, BATCH, 25, 1000])
def test_loss_and_accuracy_on_the_test_set(batch):
    problem, x = evaluated(evaluate_batch=batch)
    loss, accuracy = by_hand(problem, x, DATA.test_x, DATA.test_y)
    assert problem.metric_names == ["loss", "accuracy"]
    assert problem.evaluate(x) == pytest.approx({"loss": loss, "accuracy": accuracy}, rel=EXACT)
    assert 0 < accuracy < 1


def test_own_metrics_stand_beside_and_may_return_any_number():
    metrics = {
        "top2": lambda outputs, y: (outputs.topk(2).indices == y[:, None]).any(1).double().mean(),
        "seven": lambda outputs, y: 7,
    }
    problem, x = evaluated(metrics=metrics)
    found = problem.evaluate(x)
    assert list(found) == problem.metric_names == ["loss", "accuracy", "top2", "seven"]
    outputs = torch.from_numpy(DATA.test_x).double() @ x[:15].view(3, 5).T + x[15:]
    second = outputs.argsort(1)[:, -2:]
    assert found["top2"] == pytest.approx((second == torch.from_numpy(DATA.test_y)[:, None]).any(1).double().mean())
    assert found["seven"] == pytest.approx(7, rel=EXACT)
    assert found["accuracy"] < found["top2"] < 1


def test_own_loss_is_evaluated_too():
    problem, x = evaluated(loss=lambda outputs, y: outputs.square().mean())
    outputs = torch.from_numpy(DATA.test_x).double() @ x[:15].view(3, 5).T + x[15:]
    assert problem.evaluate(x)["loss"] == pytest.approx(outputs.square().mean().item(), rel=EXACT)


def test_on_the_training_set_as_well():
    problem, x = evaluated(evaluate_train=True)
    found = problem.evaluate(x)
    assert list(found) == problem.metric_names == ["loss", "accuracy", "train_loss", "train_accuracy"]
    for prefix, inputs, targets in (("", DATA.test_x, DATA.test_y), ("train_", DATA.train_x, DATA.train_y)):
        loss, accuracy = by_hand(problem, x, inputs, targets)
        assert (found[f"{prefix}loss"], found[f"{prefix}accuracy"]) == pytest.approx((loss, accuracy), rel=EXACT)


def test_on_a_fixed_sample_of_the_training_set():
    tables = []

    def seen(outputs, y):
        tables.append(outputs)
        return len(y)

    problem, x = evaluated(evaluate_train=9, metrics={"seen": seen}, threads=1)
    first, second = problem.evaluate(x), problem.evaluate(x)
    assert first == second
    assert first["train_seen"] == 9
    everything = torch.from_numpy(DATA.train_x).double() @ x[:15].view(3, 5).T + x[15:]
    sample = tables[3]  # after the three batches of the test set
    assert ((everything[:, None] - sample).abs().amax(-1) < EXACT).sum(0).tolist() == [1] * 9
    many, _ = evaluated(evaluate_train=1000)
    assert many.evaluate(x) == evaluated(evaluate_train=True)[0].evaluate(x)


def test_without_a_test_set_the_training_set_serves():
    data = SimpleNamespace(train_x=DATA.train_x, train_y=DATA.train_y, test_x=None, test_y=None, parts=DIVIDED.parts)
    problem, x = evaluated(data=data)
    loss, accuracy = by_hand(problem, x, DATA.train_x, DATA.train_y)
    assert problem.evaluate(x) == pytest.approx({"loss": loss, "accuracy": accuracy}, rel=EXACT)


def test_in_evaluation_mode_with_the_statistics_given():
    problem, x = evaluated(normalised)
    buffers = torch.cat([torch.linspace(-1, 1, 6), torch.linspace(0.5, 2, 6), torch.tensor([4.0])]).double()
    kept = buffers.clone()
    loss, accuracy = by_hand(problem, x, DATA.test_x, DATA.test_y, buffers)
    assert problem.evaluate(x, buffers) == pytest.approx({"loss": loss, "accuracy": accuracy}, rel=EXACT)
    assert torch.equal(buffers, kept)
    start, _ = by_hand(problem, x, DATA.test_x, DATA.test_y)
    assert problem.evaluate(x)["loss"] == pytest.approx(start, rel=EXACT)  # those of the module
    assert abs(start - loss) > 1e-3


def test_pixels_are_divided_here_too():
    x = np.random.default_rng(0).integers(0, 256, (25, 5)).astype(np.uint8)
    pixels, floats = (
        partition(replace(DATA, train_x=kind[:20], train_y=DATA.test_y[:20], test_x=kind, test_y=DATA.test_y), Iid(), 2)
        for kind in (x, (x / 255).astype(np.float32))
    )
    found = [problem.evaluate(start)["loss"] for problem, start in (evaluated(data=pixels), evaluated(data=floats))]
    assert found[0] == pytest.approx(found[1], rel=1e-6)  # float32 samples carry 6e-8


class WritesIntoItsInput(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x):
        return self.layer(x.sub_(1.0))


def test_the_data_stays_what_it_was():
    test, train = DATA.test_x.copy(), DATA.train_x.copy()
    problem, x = evaluated(WritesIntoItsInput, dtype="float32", evaluate_train=True)
    first = problem.evaluate(x)
    problem.grad(0, 1, [0, 1], torch.stack([x, x]))
    assert problem.evaluate(x) == first
    assert np.array_equal(DATA.test_x, test)
    assert np.array_equal(DATA.train_x, train)


@pytest.mark.parametrize("model", [logistic, normalised])
def test_a_gradient_is_the_same_after_an_evaluation(model):
    problem, x = evaluated(model)
    both, undisturbed = torch.stack([x, x]), [problem.grad(0, t, [0, 1], torch.stack([x, x])) for t in (1, 2)]
    found = []
    for t in (1, 2):
        found.append(problem.grad(0, t, [0, 1], both))
        problem.evaluate(x)
    assert all(map(torch.equal, found, undisturbed))


def test_a_metric_may_not_take_the_name_of_the_loss():
    with pytest.raises(UserError, match="'loss' is evaluated already"):
        evaluated(metrics={"loss": lambda outputs, targets: 0.0})


def test_an_empty_test_set_is_refused():
    empty = SimpleNamespace(train_x=DATA.train_x, train_y=DATA.train_y, parts=DIVIDED.parts)
    empty.test_x, empty.test_y = DATA.test_x[:0], DATA.test_y[:0]
    with pytest.raises(UserError, match="test set is empty"):
        evaluated(data=empty)


def test_on_a_fixed_sample_of_the_test_set():
    whole, x = evaluated()
    some, _ = evaluated(evaluate_test=12)
    every, _ = evaluated(evaluate_test=25)
    chosen = some.evaluated[""].chosen
    assert len(set(chosen.tolist())) == 12
    loss, accuracy = by_hand(some, x, DATA.test_x[chosen], DATA.test_y[chosen])
    assert some.evaluate(x) == pytest.approx({"loss": loss, "accuracy": accuracy}, rel=EXACT)
    assert every.evaluate(x) == pytest.approx(whole.evaluate(x), rel=EXACT)
