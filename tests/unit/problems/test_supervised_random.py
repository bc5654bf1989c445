"""Random numbers: the start, dropout, and torch's global generator, which nobody touches."""

from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from hiermo import Supervised
from hiermo.data.partition.iid import Iid
from hiermo.data.partitioned import partition
from hiermo.data.sources.synthetic import Synthetic

WORKERS = 4
DATA = partition(Synthetic(samples=40, test_samples=25, features=6, classes=3).load(Path()), Iid(), WORKERS)


def plain():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def with_dropout():
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3))


class Own(nn.Module):
    """Dropout without a layer for it."""

    def __init__(self, always):
        super().__init__()
        self.layer, self.always = nn.Linear(6, 3), always

    def forward(self, x):
        return self.layer(functional.dropout(x, 0.5, training=self.training or self.always))


def in_training():
    return Own(always=False)


def always():
    return Own(always=True)


RANDOM = [with_dropout, in_training, always]


def problem_of(model, **options):
    problem = Supervised(model, DATA, 8, evaluate_batch=10, **options)
    return problem, torch.stack([problem.initial(0)] * WORKERS)


@pytest.mark.parametrize(("model", "expected"), [(plain, False), *((model, True) for model in RANDOM)])
def test_dropout_is_noticed(model, expected):
    assert problem_of(model)[0].stochastic is expected


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("model", RANDOM)
def test_a_mask_is_a_function_of_seed_worker_and_iteration(model, threads):
    problem, x = problem_of(model, threads=threads)
    expected = problem.grad(5, 2, [0, 1, 2, 3], x)
    problem.grad(5, 3, [0], x[:1])
    problem.evaluate(x[0])
    torch.rand(3)
    assert torch.equal(problem.grad(5, 2, [0, 1, 2, 3], x), expected)
    assert torch.equal(problem.grad(5, 2, [3, 1], x[:2]), expected[[3, 1]])
    again, _ = problem_of(model)
    assert torch.equal(again.grad(5, 2, [2], x[:1])[0], expected[2])
    assert torch.equal(problem.full_grad([2, 1], x[:2]), again.full_grad([1, 2], x[:2]).flip(0))


def test_masks_differ_by_seed_worker_and_iteration():
    x, y = DATA.train_x[:1], DATA.train_y[:1]
    alike = SimpleNamespace(train_x=x, train_y=y, test_x=None, test_y=None, parts=[[0]] * WORKERS)
    problem = Supervised(with_dropout, alike, 8)
    models = torch.stack([problem.initial(0)] * WORKERS)
    found = [problem.grad(seed, t, [0, 1, 2, 3], models) for seed, t in ((0, 1), (0, 2), (1, 1))]
    assert len({row.numpy().tobytes() for gradients in found for row in gradients}) == 3 * WORKERS


@pytest.mark.parametrize("model", RANDOM[:2])
def test_no_dropout_in_an_evaluation(model):
    problem, _ = problem_of(model)
    module = deepcopy(problem.module).eval()
    with torch.no_grad():
        outputs = module(torch.from_numpy(DATA.test_x))
    loss = functional.cross_entropy(outputs, torch.from_numpy(DATA.test_y)).item()
    start = problem.flat.vector(module, torch.float32)
    assert problem.evaluate(start)["loss"] == pytest.approx(loss, rel=1e-5)  # float32, batches of 10


def test_an_evaluation_that_draws_is_the_same_every_time():
    problem, x = problem_of(always)
    first = problem.evaluate(x[0])
    torch.rand(3)
    assert problem.evaluate(x[0]) == first
    assert problem_of(always, threads=3)[0].evaluate(x[0]) == first


@pytest.mark.parametrize("model", [plain, *RANDOM])
def test_torchs_generator_is_left_alone(model):
    before = torch.get_rng_state()

    def untouched():
        return torch.equal(torch.get_rng_state(), before)

    problem = Supervised(model, DATA, 8)
    assert untouched()
    x = problem.initial(1)
    assert untouched()
    problem.grad(0, 1, [0, 1, 2, 3], torch.stack([x] * WORKERS))
    assert untouched()
    problem.full_grad([0, 1], torch.stack([x] * 2))
    assert untouched()
    problem.evaluate(x)
    assert untouched()


def test_a_function_makes_the_start_of_each_seed():
    one, other = Supervised(plain, DATA, 8), Supervised(plain, DATA, 8)
    torch.rand(3)
    assert torch.equal(one.initial(4), other.initial(4))
    assert torch.equal(one.initial(4), one.initial(4))
    assert not torch.equal(one.initial(4), one.initial(5))
    assert one.initial(4).std() > 0.1


def test_the_start_is_handed_out_as_a_copy():
    problem = Supervised(plain, DATA, 8)
    expected = problem.initial(0).clone()
    problem.initial(0).zero_()
    assert torch.equal(problem.initial(0), expected)


def test_a_module_brings_its_own_start():
    module = plain()
    problem = Supervised(module, DATA, 8, dtype="float64")
    expected = torch.cat([p.detach().reshape(-1) for p in module.parameters()]).double()
    for seed in (0, 1):
        assert torch.equal(problem.initial(seed), expected)
    assert {p.dtype for p in module.parameters()} == {torch.float32}  # nobody changed the user's own


def test_a_module_stays_in_its_mode():
    module = with_dropout().eval()
    problem = Supervised(module, DATA, 8)
    assert problem.stochastic  # trained in training mode all the same
    problem.evaluate(problem.initial(0))
    assert not any(layer.training for layer in module.modules())
