import pytest

from hiermo import Diverged, HiermoError, UserError
from hiermo.core.errors import node_name


@pytest.mark.parametrize(
    ("tier", "node", "tiers", "name"),
    [
        (0, 3, 3, "worker 3"),
        (1, 0, 3, "edge 0"),
        (2, 0, 3, "the cloud"),
        (1, 0, 2, "the cloud"),
        (1, 4, 4, "edge 4"),
        (2, 1, 4, "node 1 of tier 2"),
    ],
)
def test_nodes_are_called_what_people_call_them(tier, node, tiers, name):
    assert node_name(tier, node, tiers) == name


def test_diverged_says_what_where_and_when():
    error = Diverged("the gradient", tier=0, node=3, t=17, tiers=3)
    assert (error.what, error.tier, error.node, error.t) == ("the gradient", 0, 3, 17)
    assert "the gradient of worker 3 (tier 0) is not finite at iteration 17" in str(error)


def test_both_are_ours_and_what_python_calls_them():
    assert issubclass(Diverged, HiermoError) and issubclass(Diverged, ArithmeticError)
    assert issubclass(UserError, HiermoError) and issubclass(UserError, ValueError)
