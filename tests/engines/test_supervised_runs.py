"""`hiermo.run` on torch models: precision, going on, running statistics, and what a run leaves behind."""

from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers import ENGINES, assert_same_bits, fields
import hiermo
from hiermo import HierFAVG, HierMo, Supervised
from hiermo.data.partition.classes import Classes
from hiermo.data.partition.sizes import Sizes
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic
from hiermo.engine.state import from_arrays, to_arrays

TREE = hiermo.Tree.from_groups([[0, 1], [2]])
SIZES = (10, 30, 20)
DATA = partition(
    Synthetic(samples=60, test_samples=30, features=8, classes=4).load(Path()), Sizes(sizes=SIZES), n_workers=3
)


def logistic():
    return nn.Linear(8, 4)


def normalised():
    return nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6, momentum=0.3), nn.ReLU(), nn.Linear(6, 4))


def with_dropout():
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8, momentum=None), nn.Dropout(0.2), nn.Linear(8, 4))


MODELS = [logistic, normalised, with_dropout]


def go(model, algorithm=None, engine="stacked", **options):
    problem = Supervised(model, DATA, 8, dtype=options.pop("dtype", "float32"), threads=options.pop("threads", None))
    some = {"periods": (2, 2), "iterations": 12, "seed": 1, "every": "iteration", "engine": engine, **options}
    return hiermo.run(algorithm or HierMo(eta=0.1), TREE, problem, **some)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_every_array_is_float32(model, engine):
    for state in go(model, engine=engine):
        assert {value.dtype for value in fields(state).values()} == {torch.float32}
    assert (state.buffers is None) == (model is logistic)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_going_on_gives_the_same_bits(model, engine):
    whole = list(go(model, engine=engine))
    for done in (1, 2, 4, 7):
        algorithm, start = HierMo(eta=0.1), whole[done - 1]
        again = from_arrays(algorithm, start.model, TREE.tiers, *to_arrays(start))
        for after, expected in zip(go(model, engine=engine, start=again), whole[done:], strict=True):
            assert_same_bits(after, expected)


@pytest.mark.parametrize("model", MODELS)
def test_a_run_is_a_function_of_its_seed(model):
    first, again, other = (list(go(model, threads=threads, seed=seed)) for threads, seed in ((1, 1), (3, 1), (1, 2)))
    for one, two in zip(first, again, strict=True):
        assert_same_bits(one, two)
    assert not torch.equal(first[-1].model, other[-1].model)


@pytest.mark.parametrize("model", MODELS)
def test_evaluating_changes_nothing(model):
    quiet = list(go(model))
    problem = Supervised(model, DATA, 8, evaluate_train=True)
    options = {"periods": (2, 2), "iterations": 12, "seed": 1, "every": "iteration"}
    for state, expected in zip(hiermo.run(HierMo(eta=0.1), TREE, problem, **options), quiet, strict=True):
        problem.evaluate(state.model, state.model_buffers)
        assert_same_bits(state, expected)


def test_training_learns():
    problem = Supervised(normalised, DATA, 8)
    states = list(hiermo.run(HierMo(eta=0.1), TREE, problem, periods=(2, 2), iterations=40))
    first, last = (problem.evaluate(state.model, state.model_buffers) for state in (states[0], states[-1]))
    assert last["loss"] < first["loss"]
    assert last["accuracy"] > 0.5  # of four classes


def test_engines_agree_on_digits():
    data = hiermo.load_data("mnist-5k", workers=4, by=Classes(per_worker=5))
    tree = hiermo.Tree.regular(edges=2, workers_per_edge=2)
    problem = Supervised(hiermo.make_model("logistic", data), data, 64, dtype="float64")
    both = [
        hiermo.run(HierMo(eta=0.05), tree, problem, periods=(5, 2), iterations=20, every="edge", engine=engine)
        for engine in ENGINES
    ]
    for stacked, pernode in zip(*both, strict=True):
        for name, value in fields(stacked).items():
            # twenty steps of sums of 784 products of order 1, in float64; the model is of order 0.1
            assert (value - fields(pernode)[name]).abs().max() < 1e-10, name
    assert stacked.t == 20
    assert problem.evaluate(stacked.model)["accuracy"] > 0.5  # of ten classes


def average(rows, sizes):
    weights = torch.tensor(sizes, dtype=torch.float64)
    return (weights[:, None] * rows.double()).sum(0) / weights.sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_momentum_never_touches_running_statistics(engine):
    algorithm = HierMo(eta=0.1, gamma=0.9, gamma_a=0.9)
    plain = []
    for state in go(normalised, algorithm, engine, dtype="float64"):
        workers, edges, cloud = state.buffers
        assert (workers[:, 6:12] > 0).all()  # variances
        if state.t % 2 == 0:
            # averages of numbers of order 1
            assert (edges[0] - average(workers[:2], SIZES[:2])).abs().max() < 1e-14
            assert (edges[1] - workers[2]).abs().max() < 1e-14
            plain.append((state.tiers[1].x[0] - average(state.tiers[0].x[:2], SIZES[:2])).abs().max())
        if state.t % 4 == 0:
            assert (cloud[0] - average(edges, [40, 20])).abs().max() < 1e-14
            assert cloud[0, -1] == pytest.approx(state.t, abs=1e-13)  # num_batches_tracked
    assert max(plain) > 1e-3  # as it does touch the model


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_of_batches_stay_whole(engine):
    """Weights such as 1/3 and 2/3 leave an average just beside a whole number; BatchNorm cuts what it is given."""
    for state in go(with_dropout, engine=engine, dtype="float64", iterations=40):
        assert (state.buffers[0][:, -1] - state.t).abs().max() < 1e-12


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_module_is_not_changed_by_training(dtype):
    module = normalised()
    before = deepcopy(module.state_dict())
    states = list(go(module, HierFAVG(eta=0.1), dtype=dtype))
    assert not torch.equal(states[-1].model, states[0].model)
    after = module.state_dict()
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert value.dtype == after[name].dtype
        assert torch.equal(value, after[name]), name
    assert all(p.grad is None for p in module.parameters())


@pytest.mark.parametrize("engine", ENGINES)
def test_torch_has_its_threads_back_between_states(engine):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = [torch.get_num_threads() for _ in go(normalised, engine=engine, until=lambda state: False)]
        assert [*found, torch.get_num_threads()] == [3] * 13
        next(iter(go(normalised, engine=engine)))  # left in the middle
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_torchs_generator_is_left_alone():
    before = torch.get_rng_state()
    list(go(with_dropout))
    assert torch.equal(torch.get_rng_state(), before)


def test_divergence_names_worker_and_iteration():
    x = DATA.train_x.copy()
    x[DATA.parts[1]] = 1e30  # the loss of worker 1 overflows float32 with its first step
    data = partition(hiermo.Dataset("own", x, DATA.train_y, x, DATA.train_y, 4), Sizes(sizes=SIZES), n_workers=3)
    problem = Supervised(logistic, data, 8)
    with pytest.raises(hiermo.Diverged) as error:
        list(hiermo.run(HierFAVG(eta=1.0), TREE, problem, periods=(4, 1), iterations=4))
    assert (error.value.tier, error.value.node) == (0, 1)
