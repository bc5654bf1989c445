"""How HierMo, HierFAVG and FedAvg relate across depths: the same algorithm on a tree of more or fewer tiers.

What they share with the others, and with the centralised methods, stands in the table of equivalences.
"""

from bench import ONE_EDGE, THREE_EDGES, go
import pytest

from helpers import ENGINES, ROUNDING, difference
from hiermo import FedAvg, HierFAVG, HierMo, Tree

BOTH = {"gamma": 0.4, "gamma_a": 0.3}
FOUR_TIERS = Tree.from_parents(THREE_EDGES.parents[0], (0, 1, 1), (0, 0))

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def test_hierfavg_on_two_tiers_is_fedavg(engine):
    assert difference(go(HierFAVG, (4,))(engine), go(FedAvg, (4,))(engine)) < ROUNDING


@pytest.mark.parametrize("kind", [HierFAVG, HierMo])
def test_on_more_tiers_with_the_upper_period_1_nothing_changes(kind, engine):
    four, three = go(kind, (2, 3, 1), FOUR_TIERS), go(kind, (2, 3), THREE_EDGES)
    assert difference(four(engine), three(engine)) < ROUNDING


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo_with_pi_1_is_hiermo_on_two_tiers(form, engine):
    two_tiers = go(HierMo, (4,), **BOTH, form=form)(engine)
    assert difference(go(HierMo, (4, 1), THREE_EDGES, **BOTH, form=form)(engine), two_tiers) < ROUNDING
    assert difference(go(HierMo, (2, 2), THREE_EDGES, **BOTH, form=form)(engine), two_tiers) > 1e-3


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo_with_one_edge_is_hiermo_on_two_tiers_seen_every_pi_rounds(form, engine):
    two_tiers = go(HierMo, (2,), seen=3, **BOTH, form=form)
    assert difference(go(HierMo, (2, 3), ONE_EDGE, **BOTH, form=form)(engine), two_tiers(engine)) < ROUNDING
