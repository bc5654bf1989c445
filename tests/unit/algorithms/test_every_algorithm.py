"""What must hold for every algorithm in every variant: exact resumption, no order among siblings, checked values."""

from dataclasses import replace
import json
from math import inf, nan, prod

from by_hand import PROBLEM, X0
import numpy as np
import pytest
from variants import PERIODS, TREES, VARIANTS, tiers_of

from helpers import ROUNDING, assert_same_bits, difference, models
from hiermo import CFL, Quadratic, Tree, UserError, run
from hiermo.algorithms import ALGORITHMS
from hiermo.core.parameter import faults, options
from hiermo.engine.state import from_arrays, to_arrays

each_variant = pytest.mark.parametrize("algorithm", VARIANTS, ids=repr)


def go(algorithm, rounds, tree=None, problem=PROBLEM, **options):
    tiers = tiers_of(algorithm)
    periods = PERIODS[tiers]
    iterations = rounds * prod(periods)
    return run(algorithm, tree or TREES[tiers], problem, periods=periods, iterations=iterations, **options)


def saved(algorithm, state):
    """The state as a checkpoint keeps it."""
    arrays, place = to_arrays(state)
    return from_arrays(algorithm, X0, tiers_of(algorithm), arrays, json.loads(json.dumps(place)))


def goes_on(algorithm, whole, done, **options):
    """Resumed after `done` states, a run gives the rest of them to the last bit: momenta and controls survive."""
    for after, expected in zip(go(algorithm, 2, **options), whole[done:], strict=True):
        assert_same_bits(after, expected)


@each_variant
@pytest.mark.parametrize("every", ["cloud", "edge"])
def test_going_on_from_the_first_merge_gives_the_same_bits(algorithm, every):
    whole = list(go(algorithm, 2, every=every))
    goes_on(algorithm, whole, 1, every=every, start=saved(algorithm, whole[0]))


@each_variant
def test_going_on_from_any_iteration_gives_the_same_bits(algorithm):
    whole = list(go(algorithm, 2, every="iteration"))
    for done in range(1, len(whole), 1 if len(whole) < 10 else 3):
        goes_on(algorithm, whole, done, every="iteration", start=saved(algorithm, whole[done - 1]))


@each_variant
def test_a_finished_run_can_be_made_longer(algorithm):
    short, long = list(go(algorithm, 1)), list(go(algorithm, 3))
    for after, expected in zip(go(algorithm, 3, start=short[-1]), long[len(short) :], strict=True):
        assert_same_bits(after, expected)


@each_variant
def test_the_first_round_counts(algorithm):
    assert difference(next(go(algorithm, 1)).model, X0) > 1e-2


def shuffled(algorithm):
    """The same tree and data with workers, and edges where they have no order of arrival, under other numbers."""
    tree, rng = TREES[tiers_of(algorithm)], np.random.default_rng(5)
    order = rng.permutation(6)  # new worker j is the old worker order[j]
    data = Quadratic(A=PROBLEM.A[order], b=PROBLEM.b[order], sizes=PROBLEM.sizes[order], x0=X0)
    parents = [tree.parents[0][order], *tree.parents[1:]]
    if tree.tiers > 2 and not isinstance(algorithm, CFL):
        seats = np.array([2, 0, 1])  # of the old edges
        parents[:2] = seats[parents[0]], parents[1][np.argsort(seats)]
    return Tree(*parents), data


@each_variant
def test_siblings_have_no_order(algorithm):
    tree, data = shuffled(algorithm)
    assert tree.tiers == 2 or tree != TREES[tiers_of(algorithm)]
    assert difference(models(go(algorithm, 3, tree, data)), models(go(algorithm, 3))) < ROUNDING


@each_variant
def test_a_schedule_of_one_value_changes_nothing(algorithm):
    constant = go(replace(algorithm, eta=1.0), 2, schedule=lambda t: algorithm.eta)
    for found, expected in zip(constant, go(algorithm, 2), strict=True):
        assert_same_bits(found, expected)


# what is out of range, and what is just within it
MOMENTUM = (-0.1, 1.0, 1.5, nan, "much"), (0, 0.999)
RATE = (0, -0.1, inf, nan, None), (1e-9, 100)
WEIGHT = (-0.1, inf, nan, "much"), (0, 100)
PORTION = (-0.1, 1.1, nan, "much"), (0, 1)
MAYBE_MOMENTUM, MAYBE_WEIGHT, MAYBE_PORTION = ((wrong, (*right, None)) for wrong, right in (MOMENTUM, WEIGHT, PORTION))
SWITCH = (1, "yes", None), (True, False)


def choice(*names):
    return ("other", None), names


FORM = choice("velocity", "position")
FEDOPT = {"eta_s": RATE, "beta1": PORTION, "beta2": PORTION, "epsilon": WEIGHT, "s0": MAYBE_WEIGHT}
MIME = {"beta": MOMENTUM, "form": choice("hb", "ema"), "eta_s": RATE, "lite": SWITCH}

PARAMETERS = {
    "HierMo": {"gamma": MOMENTUM, "gamma_a": MOMENTUM, "form": FORM},
    "HierFAVG": {},
    "CFL": {
        "a": WEIGHT,
        "b": WEIGHT,
        "alpha": MAYBE_PORTION,
        "order": choice("random", "fixed"),
        "schedule": choice("async", "sequential"),
    },
    "DOMO": {
        "mu_s": MOMENTUM,
        "mu_l": MOMENTUM,
        "alpha": RATE,
        "beta": MAYBE_WEIGHT,
        "variant": choice("pre", "intra"),
    },
    "FedADC": {"beta": MOMENTUM, "beta_l": MAYBE_MOMENTUM, "alpha": RATE, "variant": choice("hb", "nesterov")},
    "FedMom": {"beta": MOMENTUM, "eta_s": RATE},
    "SlowMo": {
        "beta": MOMENTUM,
        "alpha": RATE,
        "base": choice("sgd", "hb", "nag"),
        "gamma": MOMENTUM,
        "buffer": choice("reset", "maintain", "average"),
    },
    "FedNAG": {"gamma": MOMENTUM},
    "Mime": MIME,
    "MimeLite": MIME,
    "FedAvg": {},
    "FastSlowMo": {"gamma": MOMENTUM, "gamma_a": MOMENTUM, "form": FORM},
    "HierAdMo": {
        "gamma": MOMENTUM,
        "cap": MOMENTUM,
        "agree": choice("worker", "edge"),
        "fixed": MAYBE_MOMENTUM,
        "form": FORM,
    },
    "FedProx": {"mu": WEIGHT},
    "SCAFFOLD": {"eta_g": RATE, "option": ((0, 3, "II", None), (1, 2))},
    "FedAdam": FEDOPT,
    "FedYogi": FEDOPT,
    "FedAdagrad": FEDOPT,
    "FedAvgM": {"beta": MOMENTUM, "eta_s": RATE, "nesterov": SWITCH},
    "DiLoCo": {
        "outer_lr": RATE,
        "outer_momentum": MOMENTUM,
        "inner": choice("adamw", "sgd"),
        "weight_decay": WEIGHT,
    },
    "LocalSGD": {},
}


def test_no_parameter_is_missing_from_the_table():
    known = {name: set(options(ALGORITHMS.get(name))) for name in ALGORITHMS.builtin}
    assert known == {name: {"eta", *parameters} for name, parameters in PARAMETERS.items()}


@pytest.mark.parametrize(
    ("name", "parameter", "wrong", "right"),
    [
        (name, parameter, *values)
        for name, parameters in PARAMETERS.items()
        for parameter, values in {"eta": RATE, **parameters}.items()
    ],
)
def test_values_out_of_range_are_refused(name, parameter, wrong, right):
    kind = ALGORITHMS.get(name)
    for value in wrong:
        with pytest.raises(UserError, match=f"^{name}: {parameter} must be "):
            go(kind(**{parameter: value}), 1)
    for value in right:
        assert faults(kind, {parameter: value}) == []
