"""Every algorithm on real digits: loss and accuracy after two cloud rounds of logistic regression, in float32.

Held to 1e-4 of the loss and to 3 of the 1000 test digits: another CPU may round float32 sums differently (1e-7 each),
a changed rule shows in the second digit. Made anew by `python tests/golden/test_supervised_golden.py`.
"""

import json
from pathlib import Path

import pytest

import hiermo
from hiermo.algorithms import ALGORITHMS

FILE = Path(__file__).with_name("supervised.json")
TREE = hiermo.Tree.from_groups([[0, 1], [2, 3, 4]])


def measured(name: str) -> dict[str, float]:
    data = hiermo.load_data("mnist-5k", workers=TREE.n_workers, seed=1)
    problem = hiermo.Supervised(hiermo.make_model("logistic", data), data, batch=64)
    algorithm = getattr(hiermo, name)()
    tree, periods = (TREE.flatten(), (20,)) if algorithm.tiers == 2 else (TREE, (10, 2))
    *_, last = hiermo.run(algorithm, tree, problem, periods=periods, iterations=40, seed=1)
    return problem.evaluate(last.model)


@pytest.mark.parametrize("name", ALGORITHMS.builtin)
def test_as_it_was(name):
    golden, now = json.loads(FILE.read_text())[name], measured(name)
    assert now["loss"] == pytest.approx(golden["loss"], rel=1e-4)
    assert now["accuracy"] == pytest.approx(golden["accuracy"], abs=0.003)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: measured(name) for name in ALGORITHMS.builtin}, indent=2) + "\n")
