"""Metrics per class, worker and edge, against plain numpy on each group."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import hiermo
from hiermo import Supervised, UserError
from hiermo.data.partition.classes import Classes
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic

DATA = Synthetic(samples=120, test_samples=50, features=5, classes=4, noise=2.0).load(Path())
DIVIDED = partition(DATA, Classes(per_worker=2), 4)
EDGES = [[0, 3], [1, 2]]
EXACT = 1e-12  # float64, sums of at most 120 terms


def problem_of(data=DIVIDED, per=("class", "worker", "edge"), **options):
    made = hiermo.make_model("logistic", DIVIDED)
    return Supervised(made, data, 8, dtype="float64", evaluate_batch=7, per=per, edges=EDGES, **options)


def model(seed=3):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=24))


def by_hand(x, samples, labels):
    """(loss, accuracy) of the linear classifier `x`."""
    scores = samples.astype(float) @ x[:20].view(4, 5).numpy().T + x[20:].numpy()
    losses = np.log(np.exp(scores).sum(1)) - scores[np.arange(len(labels)), labels]
    return losses.mean(), (scores.argmax(1) == labels).mean()


def test_classes_of_the_test_set():
    x, found = model(), problem_of().evaluate(model())
    expected = [by_hand(x, DATA.test_x[DATA.test_y == c], DATA.test_y[DATA.test_y == c]) for c in range(4)]
    np.testing.assert_allclose(found["loss_per_class"], [loss for loss, _ in expected], rtol=EXACT)
    np.testing.assert_allclose(found["accuracy_per_class"], [share for _, share in expected], rtol=EXACT)
    assert found["accuracy_worst_class"] == min(found["accuracy_per_class"])
    assert found["loss_worst_class"] == max(found["loss_per_class"])
    assert found["accuracy_spread_class"] == pytest.approx(np.std(found["accuracy_per_class"]), rel=EXACT)


def test_workers_on_their_own_samples_and_edges_on_those_of_their_workers():
    x, found = model(), problem_of().evaluate(model())
    parts = DIVIDED.parts
    for each, groups in (("worker", parts), ("edge", [np.concatenate([parts[i] for i in edge]) for edge in EDGES])):
        expected = [by_hand(x, DATA.train_x[own], DATA.train_y[own]) for own in groups]
        np.testing.assert_allclose(found[f"loss_per_{each}"], [loss for loss, _ in expected], rtol=EXACT)
        np.testing.assert_allclose(found[f"accuracy_per_{each}"], [share for _, share in expected], rtol=EXACT)
        assert found[f"accuracy_worst_{each}"] == min(found[f"accuracy_per_{each}"])
        assert found[f"accuracy_spread_{each}"] > 0


def test_workers_on_their_own_test_samples_where_the_data_says_whose_they_are():
    own = [np.arange(k, 50, 4) for k in range(4)]
    names = ("train_x", "train_y", "test_x", "test_y", "parts", "classes")
    data = SimpleNamespace(**{name: getattr(DIVIDED, name) for name in names}, test_parts=own)
    x, found = model(), problem_of(data).evaluate(model())
    expected = [by_hand(x, DATA.test_x[k], DATA.test_y[k])[1] for k in own]
    np.testing.assert_allclose(found["accuracy_per_worker"], expected, rtol=EXACT)


def test_a_class_without_test_samples_has_no_value_and_is_not_the_worst():
    some = DATA.test_y != 2
    data = partition(replace(DATA, test_x=DATA.test_x[some], test_y=DATA.test_y[some]), Classes(per_worker=2), 4)
    found = problem_of(data, per=["class"]).evaluate(model())
    assert found["accuracy_per_class"][2] is None
    assert found["accuracy_worst_class"] == min(v for v in found["accuracy_per_class"] if v is not None)


def test_only_what_is_asked_for_is_measured_and_the_whole_stays_as_it_is():
    plain, some = problem_of(per=()), problem_of(per=["worker"])
    whole = plain.evaluate(model())
    found = some.evaluate(model())
    assert list(found) == some.metric_names
    assert {name: found[name] for name in whole} == whole
    assert [name for name in found if "worker" in name] == [name for name in found if name not in whole]


def test_training_has_the_same_bits_however_it_is_judged():
    tree = hiermo.Tree.from_groups(EDGES)
    ends = []
    for problem in (problem_of(per=()), problem_of(evaluate_train=True)):
        for state in hiermo.run(hiermo.HierMo(), tree, problem, periods=(2, 2), iterations=8):
            problem.evaluate(state.model)
        ends.append(state.model)
    assert torch.equal(*ends)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per": ["workers"]}, "there is no 'workers'; give some of class, worker, edge"),
        ({"per": ["edge"], "edges": None}, "needs edges"),
    ],
)
def test_refused(options, message):
    with pytest.raises(UserError, match=message):
        Supervised(hiermo.make_model("logistic", DIVIDED), DIVIDED, 8, **options)
