"""Every algorithm in every variant against its formulas written out as plain loops, five rounds on unequal data."""

from math import prod

from by_hand import PROBLEM
import pytest
from variants import PERIODS, ROWS, TREES, tiers_of

from helpers import ENGINES, ROUNDING, difference, models
from hiermo import run
from hiermo.algorithms import ALGORITHMS

ROUNDS = 5


def test_no_algorithm_is_missing():
    assert {type(algorithm).__name__ for algorithm, *_ in ROWS} == set(ALGORITHMS.builtin)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("algorithm", "transcription", "parameters"), ROWS, ids=[repr(row[0]) for row in ROWS])
def test_is_its_formulas(algorithm, transcription, parameters, engine):
    tiers = tiers_of(algorithm)
    periods = PERIODS[tiers]
    found = run(algorithm, TREES[tiers], PROBLEM, periods=periods, iterations=ROUNDS * prod(periods), engine=engine)
    expected = list(transcription(*periods, ROUNDS, **parameters))
    assert difference(models(found), expected) < ROUNDING
