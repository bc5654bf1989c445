"""What a rule computes is found by calling it once; whatever uses more than + - * / is left as it is."""

from fractions import Fraction
from typing import Any, NamedTuple

from bits import assert_same_record
import numpy as np
import pytest
from rules import NAMES, rules_of, variants
import torch

from hiermo.core.vector import cosine, norm, sign, sqrt
from hiermo.engine.stacked import Stacked, Where
from hiermo.kernels import trace
from hiermo.kernels.trace import Ask, Pass


class Pair(NamedTuple):
    a: Any
    b: Any


WHERE = Where(0, np.arange(1), 1, 3)


def program(rule, *, asks=False):
    return trace.program(rule, [Pair, Pair], asks=asks)


def kinds_of_steps(found):
    return [type(step) for step in found.steps]


def needs_more(algorithm, name):
    """Rules with a root, a sign, a cosine, a power or a comparison."""
    if name == "DiLoCo.step":
        return algorithm.inner == "adamw"
    if name == "HierAdMo.edge":
        return algorithm.fixed is None or algorithm.agree == "edge"
    return name in {"HierAdMo.send", "CFL.cloud", "FedAdam.server", "FedYogi.server", "FedAdagrad.server"}


@pytest.mark.parametrize("name", NAMES)
def test_rules_of_our_algorithms_are_known_whole_unless_they_need_more_than_signs(name):
    for algorithm in variants(name):
        for rule in rules_of(algorithm):
            found = trace.program(rule.call, [type(each) for each in rule.records], asks=rule.asks)
            assert (found is None) == needs_more(algorithm, rule.name), (rule.name, algorithm)


def test_vectors_that_stay_as_they_are_need_no_step():
    assert program(lambda w, down: Pair(down.b, w.a)) == ((), Pair, (3, 0))


def test_everything_between_two_gradients_is_one_pass():
    def look_ahead(w, down, grad):
        ahead = w.a + 0.5 * w.b
        g = grad(ahead)
        return Pair(ahead - 0.1 * g, 0.5 * w.b - 0.1 * g)

    assert kinds_of_steps(program(look_ahead, asks=True)) == [Pass, Ask, Pass]


def test_every_gradient_that_is_asked_for_is_a_step_of_its_own():
    twice = program(lambda w, down, grad: Pair(grad(w.a) - grad(w.a), w.b), asks=True)
    assert kinds_of_steps(twice) == [Ask, Ask, Pass]


def test_a_vector_that_is_made_once_is_computed_once():
    def rule(w, down):
        step = w.a * 0.1
        return Pair(step + w.b, step - w.b)

    (found,) = program(rule).steps
    assert [term[0] for term in found.form.terms] == ["*", "+", "-"]


@pytest.mark.parametrize("number", [2, -3, 0, 2**60, 0.1, float("inf"), np.float64(0.1), np.sqrt(2.0)], ids=repr)
def test_numbers_of_python_and_double_ones_of_numpy_are_known(number):
    rules = [
        lambda w, down: Pair(w.a + number, number + w.b),
        lambda w, down: Pair(w.a - number, number - w.b),
        lambda w, down: Pair(w.a * number, number * w.b),
        lambda w, down: Pair(w.a / number if number else w.a, w.b),
    ]
    for rule in rules:
        assert program(rule) is not None
        assert_engine_agrees(rule)


def assert_engine_agrees(rule):
    """Its result is the rule's own."""
    w, down = (Pair(torch.tensor([[0.5, 2.0, -3.0]]), torch.tensor([[1.25, 0.0, 7.0]])) for _ in range(2))
    assert_same_record(Stacked().each(rule, w, down, where=WHERE), rule(w, down))


def chosen_by_number(w, down):
    return Pair(w.b if w.a[0, 0] > 0 else w.a, w.b)


def chosen_by_truth(w, down):
    return Pair(w.b if (w.a == w.a).all() else w.a, w.b)


def changed_in_place(w, down):
    new = w.a.clone()
    new += down.b
    return Pair(new, w.b)


MORE = {
    "a comparison": lambda w, down: Pair(w.a * (w.a > 0), w.b),
    "an equality": lambda w, down: Pair(w.a * (w.a == w.b), w.b),
    "a difference": lambda w, down: Pair(w.a * (w.a != w.b), w.b),
    "a choice by a number": chosen_by_number,
    "a choice by a truth": chosen_by_truth,
    "a norm": lambda w, down: Pair(w.a / norm(w.a), w.b),
    "a cosine": lambda w, down: Pair(w.a * cosine(w.a, w.b), w.b),
    "a root": lambda w, down: Pair(sqrt(w.a * w.a), w.b),
    "a sign": lambda w, down: Pair(sign(w.a), w.b),
    "a method": lambda w, down: Pair(w.a.relu(), w.b),
    "a sum": lambda w, down: Pair(w.a + w.a.sum(), w.b),
    "a function of torch": lambda w, down: Pair(torch.relu(w.a), w.b),
    "an operation in place": changed_in_place,
    "minus": lambda w, down: Pair(-w.a, w.b),
    "a magnitude": lambda w, down: Pair(abs(w.a), w.b),
    "a power": lambda w, down: Pair(w.a**2, w.b),
    "a power of a number": lambda w, down: Pair(0.9**w.a, w.b),
    "a whole quotient": lambda w, down: Pair(w.a // 2, w.b),
    "a part": lambda w, down: Pair(w.a, w.b[:, :1]),
    "a length": lambda w, down: Pair(w.a * len(w.a), w.b),
    "a shape": lambda w, down: Pair(w.a * w.a.shape[1], w.b),
    "a number over a vector": lambda w, down: Pair(3 / w.a, w.b),  # torch takes the reciprocal, which rounds otherwise
    "a tensor": lambda w, down: Pair(w.a * torch.ones(3), w.b),
    "a tensor first": lambda w, down: Pair(torch.ones(3) - w.a, w.b),
    "a number of torch": lambda w, down: Pair(w.a * torch.tensor(0.1), w.b),
    "a single number of numpy": lambda w, down: Pair(w.a * np.float32(0.1), w.b),
    "a truth": lambda w, down: Pair(w.a * True, w.b),
}


@pytest.mark.parametrize("name", MORE)
def test_rules_that_use_more_are_left_as_they_are(name):
    assert program(MORE[name]) is None
    assert_engine_agrees(MORE[name])


OF_NO_USE = {
    "a condition on a vector": lambda w, down: Pair(w.b if w.a else w.a, w.b),
    "a condition on an equality": lambda w, down: Pair(w.b if w.a == w.b else w.a, w.b),
    "a condition on a difference": lambda w, down: Pair(w.b if w.a != w.b else w.a, w.b),
    "one of several": lambda w, down: Pair(w.b if w.a in (w.b, down.a) else w.a, w.b),
    "the greater of two vectors": lambda w, down: Pair(max(w.a, w.b), w.b),
    "a vector as a number": lambda w, down: Pair(float(w.a) * w.b, w.b),
    "a function of numpy": lambda w, down: Pair(np.sqrt(w.a), w.b),
    "an array of numpy": lambda w, down: Pair(np.ones(3) * w.a, w.b),
    "a fraction": lambda w, down: Pair(w.a * Fraction(1, 3), w.b),
    "a complex number": lambda w, down: Pair(w.a * 1j, w.b),
    "a whole number beyond all others": lambda w, down: Pair(w.a * 10**400, w.b),
    "a number for a field": lambda w, down: Pair(w.a + w.b, 0.0),
    "no record": lambda w, down: (w.a, w.b),
    "a list": lambda w, down: [w.a + w.b],
    "nothing": lambda w, down: None,
    "a field that is not there": lambda w, down: Pair(w.c, w.b),
    "a field that is nothing": lambda w, down: Pair(w.a, None),
}


@pytest.mark.parametrize("name", OF_NO_USE)
def test_what_goes_wrong_with_vectors_that_are_not_there_yet_is_no_error(name):
    assert program(OF_NO_USE[name]) is None


def test_functions_of_numpy_work_on_what_they_are_given():
    def rule(w, down):
        return Pair(np.maximum(w.a, w.b), w.b)

    w = Pair(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
    assert Stacked().each(rule, w, w, where=WHERE).a.tolist() == [[3.0, 2.0]]


def test_a_rule_is_called_once_to_find_out():
    calls = []

    def rule(w, down):
        calls.append(type(w.a))
        return Pair(w.a - down.a, w.b)

    engine, w = Stacked(), Pair(torch.ones(1, 3), torch.ones(1, 3))
    for _ in range(3):
        engine.each(rule, w, w, where=WHERE)
    assert calls == [trace.Noted]


def test_the_gradient_at_a_number_is_no_gradient():
    assert trace.program(lambda w, grad: Pair(w.a, grad(0.0)), [Pair], asks=True) is None


def test_whole_numbers_stay_whole():
    """As a rule that counts has it."""

    def counting(w, down):
        return Pair(w.a - down.a, w.b + 1)

    w = Pair(torch.ones(2, 3), torch.ones(2, 1, dtype=torch.int64))
    found = Stacked().each(counting, w, w, where=WHERE)
    assert found.b.dtype == torch.int64 and found.b.tolist() == [[2], [2]]
