"""What the ledger counts is what the loop really carries, and what the literature says."""

import numpy as np
import pytest

from helpers import quadratic
import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.clock.ledger import Link, Load, count, per_exchange
from hiermo.core.plan import Setting, Survey
from hiermo.core.record import of
from hiermo.engine.loop import Loop, begin
from hiermo.engine.stacked import Stacked

UNEQUAL = hiermo.Tree.from_groups([[0, 3], [1], [2, 4, 5]])
VARIANTS = [
    *(getattr(hiermo, name)() for name in ALGORITHMS.names()),
    hiermo.SlowMo(buffer="average", base="nag", gamma=0.5),
    hiermo.HierAdMo(agree="edge"),
    hiermo.CFL(schedule="sequential"),
]


def placed(algorithm, tree, periods):
    return (tree.flatten(), (int(np.prod(periods)),)) if algorithm.tiers == 2 else (tree, periods)


class Counting(Loop):
    """A loop that weighs every message on its way."""

    def carry(self, message, link):
        numbers = {name: field.shape[0] * field.shape[1] for name, field in message._asdict().items()}
        self.__dict__.setdefault("carried", []).append((link, type(message), numbers))
        return message


@pytest.mark.parametrize("algorithm", VARIANTS, ids=repr)
def test_the_ledger_is_what_the_loop_carries(algorithm):
    """In numbers, for a model of d = 3; a survey's answers are counted with the survey, not with the message."""
    tree, periods = placed(algorithm, UNEQUAL, (2, 2))
    setting = Setting(tree, periods, 8)
    bound, problem = algorithm.bind(setting), quadratic(n=6)
    loop = Counting(bound, tree, problem, Stacked(), 0)
    events = list(bound.plan(setting))
    for _ in loop.states(begin(bound, tree, problem, loop.engine, setting), iter(events), fine=True):
        pass
    asked = () if algorithm.asks is None else algorithm.asks._fields
    carried = sum(n for _, _, fields in loop.carried for name, n in fields.items() if name not in asked)
    surveys = sum(isinstance(event, Survey) for event in events)
    told = [name for name in asked if name in of(algorithm.down, 0)._fields]
    carried += surveys * 6 * 3 * (len(asked) + len(told))
    counted = sum(3 * load.vectors + load.scalars for link in count(bound, setting) for load in link)
    assert counted == carried


# up, down per worker and round; HierMo and HierFAVG also between edge and cloud
TRAFFIC = {
    "FedAvg": (1, 1), "FedMom": (1, 1), "SlowMo": (1, 1), "FedNAG": (2, 2), "Mime": (2, 3), "MimeLite": (2, 2),
    "DOMO": (1, 2), "FedADC": (1, 2), "FastSlowMo": (2, 2), "FedProx": (1, 1), "SCAFFOLD": (2, 2), "FedAdam": (1, 1),
    "FedYogi": (1, 1), "FedAdagrad": (1, 1), "FedAvgM": (1, 1), "DiLoCo": (1, 1), "HierMo": (2, 2), "HierFAVG": (1, 1),
    "CFL": (1, 1), "HierAdMo": (2, 2), "LocalSGD": (1, 1),
}  # fmt: skip


def test_every_algorithm_has_an_entry():
    assert set(TRAFFIC) == set(ALGORITHMS.names())


@pytest.mark.parametrize("name", TRAFFIC)
def test_vectors_per_exchange(name):
    algorithm = getattr(hiermo, name)()
    for link in per_exchange(algorithm, algorithm.tiers or 3):
        assert (link.up.vectors, link.down.vectors) == TRAFFIC[name]


@pytest.mark.parametrize(
    ("name", "local", "wide"),
    [
        ("FedAvg", 0, 200), ("FedMom", 0, 200), ("SlowMo", 0, 200), ("DOMO", 0, 300), ("FedADC", 0, 300),
        ("FedNAG", 0, 400), ("MimeLite", 0, 400), ("SCAFFOLD", 0, 400), ("Mime", 0, 500), ("HierFAVG", 400, 100),
        ("HierMo", 800, 200),
    ],
)  # fmt: skip
def test_totals_of_the_papers_cnn_setting(name, local, wide):
    """4 workers, 2 edges, T = 1000, tau = 20, pi = 2: N (up + down) T / tau, L (up + down) T / (tau pi)."""
    algorithm = getattr(hiermo, name)()
    tree, periods = placed(algorithm, hiermo.Tree.regular(edges=2, workers_per_edge=2), (20, 2))
    setting = Setting(tree, periods, 1000)
    vectors = [link.up.vectors + link.down.vectors for link in count(algorithm.bind(setting), setting)]
    assert vectors == ([wide] if algorithm.tiers == 2 else [local, wide])


def test_a_survey_on_three_tiers_is_counted_on_every_link():
    class Deep(hiermo.Mime):
        tiers = None

    setting = Setting(UNEQUAL, (2, 2), 4)
    low, high = count(Deep(), setting)
    # link 0: two merges up, one survey up; down: two spreads of x and m, one answer
    assert low == Link(Load(6 * 3, 6 * 3, 0, models=6 * 2), Load(6 * 3, 6 * (2 * 2 + 1), 0, models=6 * 2))
    assert high == Link(Load(3 * 2, 3 * 2, 0, models=3), Load(3 * 2, 3 * (2 + 1), 0, models=3))
