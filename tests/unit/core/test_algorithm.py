from dataclasses import dataclass

import pytest

import hiermo
from hiermo.core.plan import Merge, Setting, Spread, Step, Survey


@dataclass(frozen=True, kw_only=True)
class Plain(hiermo.Algorithm):
    up = down = hiermo.Model

    def init(self, x):
        return (hiermo.Model(x),)

    def step(self, w, down, grad):
        return w


@dataclass(frozen=True, kw_only=True)
class Asking(Plain):
    asks = hiermo.Model


SETTING = Setting(hiermo.Tree.branching(2), (1,), 1)


def test_an_algorithm_needs_init_and_step():
    with pytest.raises(TypeError, match="init"):
        hiermo.Algorithm()


def test_what_an_algorithm_does_unless_it_says_otherwise():
    plain, own, mean = Plain(), hiermo.Model(1.0), hiermo.Model(2.0)
    (rule,) = plain.aggregators()
    assert rule(own, mean) == mean
    assert plain.send(own, mean, None) == own
    assert plain.receive(own, mean) == mean
    assert plain.bind(SETTING) is plain
    assert list(plain.plan(SETTING)) == [Spread(1, 1), Step(1), Merge(1, 1)]


def test_one_that_asks_has_a_survey_in_its_plan_and_must_answer():
    assert list(Asking().plan(SETTING)) == [Spread(1, 1), Survey(1), Step(1), Merge(1, 1)]
    with pytest.raises(TypeError, match="Asking has `asks` but no `survey`"):
        Asking().survey(hiermo.Model(1.0), hiermo.Model(1.0), None)
