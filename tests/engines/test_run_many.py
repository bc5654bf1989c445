"""Several runs at once: each has the bits that it has alone."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch

from helpers import quadratic
import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.engine.state import to_arrays
from hiermo.problems.supervised import Supervised

TREE = hiermo.Tree.from_groups([[0, 1], [2, 3, 4]])


def digits(seed=1, model="logistic", **options):
    data = hiermo.load_data("mnist-5k", workers=TREE.n_workers, seed=seed)
    return Supervised(hiermo.make_model(model, data), data, batch=16, **options)


def of(algorithm, problem, iterations=8, **options):
    tree, periods = (TREE.flatten(), (4,)) if algorithm.tiers == 2 else (TREE, (2, 2))
    common = {"algorithm": algorithm, "tree": tree, "problem": problem, "periods": periods}
    return {**common, "iterations": iterations, **options}


def assert_as_alone(runs):
    found = [[] for _ in runs]
    for which, state in hiermo.run_many(runs):
        found[which].append(state)
    for run, states in zip(runs, found, strict=True):
        expected = list(hiermo.run(**run))
        assert [state.t for state in states] == [state.t for state in expected]
        for one, other in zip(states, expected, strict=True):
            for name, array in to_arrays(other)[0].items():
                assert torch.equal(torch.as_tensor(to_arrays(one)[0][name]), torch.as_tensor(array)), name


def test_every_algorithm_beside_all_others():
    problem = digits(threads=2)
    assert_as_alone([of(getattr(hiermo, name)(), problem) for name in ALGORITHMS.builtin])


def test_seeds_step_sizes_lengths_and_what_is_yielded():
    runs = [
        of(hiermo.HierMo(eta=0.05), digits(1), seed=1),
        of(hiermo.HierMo(eta=0.01, gamma=0.9), digits(2), seed=2, every="edge"),
        of(hiermo.HierFAVG(eta=0.1), digits(3, weight_decay=1e-2, clip_norm=0.5), seed=3, iterations=4),
        of(hiermo.FedNAG(), digits(1), seed=5, every="iteration"),
        of(hiermo.HierMo(), digits(1), seed=1, until=lambda state: state.t >= 4),
        of(hiermo.HierMo(), digits(1), seed=1, schedule=lambda t: 0.1 / t),
    ]
    assert_as_alone(runs)


class Three(NamedTuple):
    x: Any
    p: Any  # the model before
    q: Any  # and the one before that


@dataclass(frozen=True, kw_only=True)
class TwoBack(hiermo.Algorithm):
    """Whose workers keep models of earlier steps."""

    eta: float = 0.1
    up = down = Three

    def init(self, x):
        return (Three(x, x, x),)

    def step(self, w, down, grad):
        return Three(w.x - self.eta * grad(w.x) + 0.1 * (w.p - w.q), w.x, w.p)


def test_models_of_earlier_steps_stay_as_they_were():
    problem = digits()
    runs = [of(TwoBack(eta=eta), problem, iterations=16) | {"periods": (8, 2)} for eta in (0.1, 0.2, 0.3)]
    assert_as_alone(runs)


def test_models_that_are_not_alike_take_turns():
    runs = [
        of(hiermo.HierMo(), digits(model="mlp")),
        of(hiermo.HierMo(), digits()),
        of(hiermo.HierMo(), digits(gradients="pooled")),
        of(hiermo.HierMo(), digits(normalise=True)),
        of(hiermo.HierMo(), quadratic(n=5)),
    ]
    assert_as_alone(runs)


def test_workers_of_several_runs_are_computed_together(monkeypatch):
    problem, sizes, plain = digits(threads=1), [], Supervised._several

    def counted(self, chosen, x, draw):
        sizes.append(len(x))
        return plain(self, chosen, x, draw)

    monkeypatch.setattr(Supervised, "_several", counted)
    for _ in hiermo.run_many([of(hiermo.HierMo(eta=eta), problem) for eta in (0.01, 0.02, 0.03)]):
        pass
    assert sizes == [15] * 8


def test_states_come_round_by_round():
    problem = quadratic(n=5)
    found = [(which, state.t) for which, state in hiermo.run_many([of(hiermo.HierMo(), problem)] * 2)]
    assert found == [(0, 4), (1, 4), (0, 8), (1, 8)]


def test_a_run_that_is_wrong_is_refused_before_any_begins():
    with pytest.raises(hiermo.UserError, match="iterations = 7"):
        hiermo.run_many([of(hiermo.HierMo(), digits()), of(hiermo.HierMo(), digits(), iterations=7)])


def test_one_that_diverges_is_named():
    steep = hiermo.HierMo(eta=1e15)  # the squared error's slope grows with the model, which overflows in some steps
    runs = [of(hiermo.HierMo(), digits(model="linear", loss="mse")), of(steep, digits(model="linear", loss="mse"))]
    with pytest.raises(hiermo.Diverged) as caught:
        list(hiermo.run_many(runs))
    assert "in run 1" in "".join(caught.value.__notes__)
    assert torch.isfinite(list(hiermo.run(**runs[0]))[-1].model).all()


def test_the_caller_may_leave_a_run_and_the_others_go_on():
    problem = digits()
    runs = [of(hiermo.HierMo(eta=eta), problem, every="edge") for eta in (0.01, 0.02, 0.03)]
    left, seen = {2}, []
    for which, state in hiermo.run_many(runs, left=left):
        seen.append((which, state.t))
        if which == 1:
            left.add(1)
    assert seen == [(0, 2), (1, 2), (0, 4), (0, 6), (0, 8)]


def test_a_run_that_breaks_ends_alone_where_asked_for():
    problem = digits()
    runs = [of(hiermo.HierMo(eta=eta), problem) for eta in (0.01, 1e38, 0.03)]
    found = list(hiermo.run_many(runs, raising=False))
    (error,) = [each for which, each in found if which == 1]
    assert isinstance(error, hiermo.Diverged)
    assert error.__notes__ == ["in run 1"]
    assert [which for which, _ in found].count(0) == [which for which, _ in found].count(2) == 2
    with pytest.raises(hiermo.Diverged):
        list(hiermo.run_many(runs))
