"""The numbers of every algorithm are what they were; `python tests/golden/make.py` makes them anew."""

import json

from make import FILE, PROBLEM, trajectory
import pytest

from helpers import ENGINES, ROUNDING, difference
from hiermo.algorithms import ALGORITHMS

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_algorithm_has_a_trajectory():
    assert list(GOLDEN) == list(ALGORITHMS.builtin)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", GOLDEN)
def test_same_numbers_as_ever(name, engine):
    found = trajectory(name, engine)
    assert list(found) == list(GOLDEN[name])
    for kept, model in found.items():
        assert difference(model, GOLDEN[name][kept]) < ROUNDING
        assert difference(model, PROBLEM.x0) > 1e-3


def test_no_two_algorithms_have_the_same_numbers_but_those_that_are_the_same():
    twins = {"LocalSGD": "HierFAVG", "FedAvgM": "SlowMo"}  # at their defaults
    last = {name: tuple(round(x, 9) for x in models["8"]) for name, models in GOLDEN.items()}
    for name, twin in twins.items():
        assert last.pop(name) == last[twin]
    assert len(set(last.values())) == len(last)
