"""`hiermo.run` refuses what cannot work when it is called, before anything is computed."""

import pytest

from helpers import quadratic
from hiermo import FedAvg, HierFAVG, HierMo, Tree, UserError, run

RIGHT = {
    "algorithm": HierMo(),
    "tree": Tree.branching(2, 2),
    "problem": quadratic(n=4),
    "periods": (5, 2),
    "iterations": 20,
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"periods": (5,)}, r"a tree of 3 tiers needs 2, not \[5\]"),
        ({"periods": (5, 2, 1)}, r"a tree of 3 tiers needs 2, not \[5, 2, 1\]"),
        ({"periods": (0, 2)}, "tau must be a whole number of at least 1, not 0"),
        ({"periods": (5, -1)}, "pi must be a whole number of at least 1, not -1"),
        ({"periods": (5.0, 2)}, r"tau must be a whole number of at least 1, not 5\.0"),
        ({"periods": (True, 2)}, "tau must be a whole number of at least 1, not True"),
        ({"iterations": 25}, r"iterations = 25 is not a multiple of 5 \* 2 = 10; try 20 or 30"),
        ({"iterations": 7}, r"iterations = 7 is not a multiple of 5 \* 2 = 10; try 10"),
        ({"iterations": 0}, "iterations must be a whole number of at least 1, not 0"),
        ({"iterations": 20.0}, "iterations must be a whole number"),
        ({"iterations": True, "periods": (1, 1)}, "iterations must be a whole number"),
        ({"algorithm": FedAvg()}, r"FedAvg is an algorithm for 2 tiers and the tree has 3; use tree\.flatten\(\)"),
        ({"algorithm": HierMo(gamma=1.0)}, r"HierMo: gamma must be in \[0, 1\), not 1\.0"),
        ({"algorithm": HierMo(gamma_a=-0.1)}, r"HierMo: gamma_a must be in \[0, 1\), not -0\.1"),
        ({"algorithm": HierMo(form="speed")}, "HierMo: form must be one of 'velocity', 'position'"),
        ({"algorithm": HierFAVG(eta=0)}, "HierFAVG: eta must be"),
        ({"algorithm": HierMo}, r"write HierMo\("),
        ({"algorithm": "HierMo"}, "'HierMo' is not an algorithm"),
        ({"problem": quadratic(n=5)}, "the problem has data for 5 workers, the tree has 4"),
        ({"every": "round"}, "every must be one of 'cloud', 'edge', 'iteration', not 'round'"),
        ({"engine": "fast"}, "engine must be one of 'stacked', 'pernode', not 'fast'"),
    ],
)
def test_refused_at_the_call(wrong, said):
    with pytest.raises(UserError, match=said):
        run(**{**RIGHT, **wrong})  # nobody iterates


def test_what_is_right_is_taken_and_nothing_is_computed_yet():
    class Untouched(type(RIGHT["problem"])):
        def grad(self, seed, t, workers, x, buffers=None):
            raise AssertionError("asked before the first state was")

    some = RIGHT["problem"]
    states = run(**{**RIGHT, "problem": Untouched(some.A, some.b, some.sizes)})
    with pytest.raises(AssertionError, match="asked before"):
        next(states)


def test_periods_may_be_a_list():
    assert next(run(**{**RIGHT, "periods": [5, 2]})).periods == (5, 2)
