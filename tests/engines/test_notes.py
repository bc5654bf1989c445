"""The per-node engine says in which rule, at which node and when an error arose."""

from dataclasses import dataclass

import pytest

from helpers import quadratic
import hiermo

TREE = hiermo.Tree.from_groups([[0, 2], [1, 3]])


class Fails(hiermo.Quadratic):
    """Worker 2 has no gradient at iteration 3."""

    def grad(self, seed, t, workers, x, buffers=None):
        if t == 3 and 2 in list(workers):
            raise RuntimeError("disk full")
        return super().grad(seed, t, workers, x)


@dataclass(frozen=True, kw_only=True)
class BadRules(hiermo.HierFAVG):
    """The named rule fails at whichever node holds a model above the limit."""

    rule: str = "edge"

    def check(self, rule, x):
        if rule == self.rule and x[0] > 2:
            raise LookupError(rule)

    def edge(self, node, mean):
        self.check("edge", mean.x)
        return mean

    def aggregators(self):
        return (self.edge,)

    def send(self, w, down, full_grad):
        self.check("send", w.x)
        return w

    def receive(self, w, down):
        self.check("receive", down.x)
        return down


def note(error):
    (found,) = error.value.__notes__
    return found


def test_step():
    some = quadratic(n=4)
    problem = Fails(some.A, some.b, some.sizes)
    states = hiermo.run(hiermo.HierMo(), TREE, problem, periods=(2, 2), iterations=4, engine="pernode")
    with pytest.raises(RuntimeError, match="disk full") as error:
        list(states)
    assert note(error) == "in 'step' of worker 2 (tier 0) at iteration 3"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("edge", "in 'edge' of edge 1 (tier 1) at iteration 2"),
        ("send", "in 'send' of worker 1 (tier 0) at iteration 2"),
        ("receive", "in 'receive' of worker 1 (tier 0) at iteration 3"),
    ],
)
def test_other_rules(rule, said):
    # only edge 1, of the workers 1 and 3, is pulled above 2: its model is 3 after two halvings of the way to 4
    problem = hiermo.Quadratic(A=[[[1.0]]] * 4, b=[[1.0], [4.0], [1.0], [4.0]], sizes=[1] * 4)
    states = hiermo.run(BadRules(eta=0.5, rule=rule), TREE, problem, periods=(2, 2), iterations=4, engine="pernode")
    with pytest.raises(LookupError, match=rule) as error:
        list(states)
    assert note(error) == said
