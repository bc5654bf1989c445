"""Every algorithm of the package, in all its variants, and the example keep to the contract."""

from dataclasses import fields
import importlib.util
from pathlib import Path
import sys
from typing import Literal, get_args, get_origin

import pytest

import hiermo
from hiermo.algorithms import ALGORITHMS
from hiermo.checking.check import CHECKS, checks
from hiermo.core.parameter import options

EXAMPLE = Path(__file__).parents[2] / "examples/server_momentum.py"
NEEDS = {("HierAdMo", "form", "position"): {"cap": 0.4}}  # without it, `bind` refuses


def variants(name):
    """The defaults, and every other choice of one parameter that has a few."""
    kind = ALGORITHMS.get(name)
    yield kind()
    for option, hint in options(kind).items():
        choices = get_args(hint) if get_origin(hint) is Literal else (True, False) if hint is bool else ()
        (default,) = [f.default for f in fields(kind) if f.name == option]
        for choice in choices:
            if choice != default:
                yield kind(**{option: choice}, **NEEDS.get((name, option, choice), {}))


OWN_NUMBERS = [
    hiermo.CFL(alpha=0.5, a=1, b=0.5, order="fixed", schedule="sequential"),
    hiermo.DOMO(beta=0.3, variant="intra"),
    hiermo.FedADC(beta_l=0.2, variant="nesterov"),
    hiermo.FedAdam(s0=0.0),
    hiermo.HierAdMo(fixed=0.3),
    hiermo.HierAdMo(agree="edge", form="position", cap=0.4),
    hiermo.HierMo(gamma=0.9, gamma_a=0.9, eta=1.0),
    hiermo.Mime(form="ema", eta_s=0.5),
    hiermo.SCAFFOLD(eta_g=0.5, option=1),
    hiermo.SlowMo(base="nag", gamma=0.5, buffer="average"),
    hiermo.SlowMo(base="hb", gamma=0.5, buffer="maintain"),
]
ALL = [algorithm for name in ALGORITHMS.names() for algorithm in variants(name)] + OWN_NUMBERS


@pytest.mark.parametrize("algorithm", ALL, ids=repr)  # HierMo(form="position") warns: no fault, and not shown
def test_ours(algorithm):
    assert hiermo.check_algorithm(algorithm) is None


def test_the_example(monkeypatch):
    spec = importlib.util.spec_from_file_location("server_momentum", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "server_momentum", module)
    spec.loader.exec_module(module)
    assert hiermo.check_algorithm(module.ServerMomentum) is None


def test_the_order_of_siblings_may_matter_to_a_plan_of_ones_own():
    synchronous, own = ([name for name, _ in checks(kind)] for kind in (hiermo.FedAvg, hiermo.CFL))
    assert synchronous == [check.name for check in CHECKS]
    assert [name for name in synchronous if name not in own] == ["siblings", "copies"]
