"""What an algorithm's events take: the bytes of its messages, and as many gradients as it really asks for."""

import numpy as np
import pytest

from helpers import quadratic
import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.clock.costs import costs_of, gradient_calls, work_of
from hiermo.clock.ledger import per_exchange
from hiermo.core.plan import Merge, Setting, Step, Survey
from hiermo.core.problem import ModelSize, model_size

TREE = hiermo.Tree.from_groups([[0, 3], [1], [2, 4, 5]])
VARIANTS = [
    *(getattr(hiermo, name)() for name in ALGORITHMS.names()),
    hiermo.SCAFFOLD(option=1),
    hiermo.SlowMo(buffer="average", base="nag", gamma=0.5),
    hiermo.HierAdMo(agree="edge"),
]


def placed(algorithm):
    return (TREE.flatten(), (4,)) if algorithm.tiers == 2 else (TREE, (2, 2))


class Counting:
    """A problem that counts the gradients that it is asked for, in gradients of one worker."""

    def __init__(self, problem):
        self._problem, self.grads, self.fulls = problem, 0, 0

    def __getattr__(self, name):
        return getattr(self._problem, name)

    def grad(self, seed, t, workers, x, buffers=None):
        self.grads += len(list(workers))
        return self._problem.grad(seed, t, workers, x, buffers)

    def full_grad(self, workers, x, buffers=None):
        self.fulls += len(list(workers))
        return self._problem.full_grad(workers, x, buffers)


@pytest.mark.parametrize("algorithm", VARIANTS, ids=repr)
def test_gradients_are_those_that_a_run_asks_for(algorithm):
    tree, periods = placed(algorithm)
    problem = Counting(quadratic(n=6))
    for _ in hiermo.run(algorithm, tree, problem, periods=periods, iterations=8):
        pass
    setting = Setting(tree, periods, 8)
    bound = algorithm.bind(setting)
    costs = costs_of(bound, tree.tiers, ModelSize(3))
    events = list(bound.plan(setting))

    def workers(kind):
        found = [e for e in events if isinstance(e, kind) and getattr(e, "tier", 1) == 1]
        nodes = [e.children if kind is Merge else e.workers for e in found]
        return sum(6 if some is None else len(some) for some in nodes)

    assert problem.grads == costs.gradients * workers(Step)
    assert problem.fulls == workers(Survey) + costs.full_on_sending * workers(Merge)


@pytest.mark.parametrize("algorithm", VARIANTS, ids=repr)
@pytest.mark.parametrize("model", [ModelSize(10), ModelSize(7, item_bytes=8, statistics=3)])
def test_messages_and_answers_together_are_an_exchange(algorithm, model):
    tree, periods = placed(algorithm)
    bound = algorithm.bind(Setting(tree, periods, 4))
    costs = costs_of(bound, tree.tiers, model)
    for k, link in enumerate(per_exchange(bound, tree.tiers)):
        assert costs.up[k] + costs.asked[k] == link.up.bytes(model)
        assert costs.down[k] + costs.told[k] == link.down.bytes(model)


@pytest.mark.parametrize(
    ("algorithm", "up", "down", "asked", "told"),
    [
        (hiermo.HierFAVG(), (40, 40), (40, 40), (0, 0), (0, 0)),
        (hiermo.HierMo(), (80, 80), (80, 80), (0, 0), (0, 0)),
        (hiermo.CFL(), (40, 44), (40, 44), (0, 0), (0, 0)),
        (hiermo.FedAvg(), (40,), (40,), (0,), (0,)),
        (hiermo.Mime(), (40,), (80,), (40,), (40,)),
        (hiermo.MimeLite(), (40,), (80,), (40,), (0,)),
        (hiermo.SCAFFOLD(tau=4), (80,), (80,), (0,), (0,)),
    ],
    ids=repr,
)
def test_bytes_of_a_model_of_ten_numbers(algorithm, up, down, asked, told):
    assert costs_of(algorithm, len(up) + 1, ModelSize(10))[:4] == (up, down, asked, told)


def test_running_statistics_are_in_messages_that_carry_a_model():
    costs = costs_of(hiermo.Mime(), 2, ModelSize(10, statistics=5))
    assert costs[:4] == ((60,), (100,), (40,), (40,))


def test_links_of_a_deeper_tree_are_like_the_last_that_is_said():
    costs = costs_of(hiermo.HierMo(), 4, ModelSize(10))
    assert costs.up == costs.down == (80, 80, 80)


@pytest.mark.parametrize(
    ("algorithm", "step", "send"),
    [
        (hiermo.HierMo(), 1, 0), (hiermo.Mime(), 2, 0), (hiermo.MimeLite(), 1, 0), (hiermo.SCAFFOLD(option=1), 1, 1),
        (hiermo.SCAFFOLD(tau=4), 1, 0),
    ],
    ids=repr,
)  # fmt: skip
def test_calls_of_a_gradient_are_seen_by_trying(algorithm, step, send):
    assert gradient_calls(algorithm) == {"step": step, "send": send}


def test_full_gradients_take_the_batches_of_each_worker():
    assert costs_of(hiermo.Mime(), 2, ModelSize(1, batches=[1.5, 3])).full.tolist() == [1.5, 3.0]
    assert costs_of(hiermo.Mime(), 2, ModelSize(1)).full == 1.0


def test_work_is_that_of_a_gradient_and_a_product_and_a_sum_for_every_number_that_comes_in():
    model = ModelSize(10, flops=1e6)
    assert work_of(hiermo.HierFAVG(), TREE, model, 0) == 1e6
    assert work_of(hiermo.HierFAVG(), TREE, model, 1) == 2 * 10 * (6 / 3)  # two children each, on average
    assert work_of(hiermo.HierMo(), TREE, model, 2) == 2 * (2 * 10) * 3
    assert work_of(hiermo.FedAvg(), TREE.flatten(), model, 1) == 2 * 10 * 6


def test_the_size_of_a_model_is_that_of_the_problem():
    problem = quadratic(n=3, d=5, sizes=[10, 20, 5])
    assert model_size(problem, 0) == ModelSize(5, 8, 0, [1.0, 1.0, 1.0], 0.0)  # float64, the whole data in one batch

    class Batched(Counting):
        batch, flops = 4, 7.0

        def initial(self, seed):
            return np.zeros(5, np.float32)

        def initial_buffers(self, seed):
            return np.zeros(2, np.float32)

    assert model_size(Batched(problem), 0) == ModelSize(5, 4, 2, [2.5, 5.0, 1.25], 7.0)
