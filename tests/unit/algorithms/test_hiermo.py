from dataclasses import FrozenInstanceError, replace
import pickle
import warnings

import numpy as np
import pytest

from helpers import quadratic
from hiermo import HierMo, Tree, run
from hiermo.algorithms.hiermo import Edge, Worker

TREE, PROBLEM = Tree.branching(2, 2), quadratic(n=4)


def vector(*numbers):
    return np.array(numbers)


def values(record):
    """Rounded to 15 digits: the numbers by hand are decimal fractions."""
    return {name: np.round(field, 15).tolist() for name, field in record._asdict().items()}


def test_init_of_the_velocity_form_starts_at_rest():
    worker, edge, cloud = HierMo().init(vector(1.0, 2.0))
    assert values(worker) == values(cloud) == {"x": [1.0, 2.0], "m": [0.0, 0.0]}
    assert values(edge) == {"x": [1.0, 2.0], "m": [0.0, 0.0], "y": [1.0, 2.0]}


def test_init_of_the_position_form_starts_at_the_model():
    worker, edge, cloud = HierMo(form="position").init(vector(1.0, 2.0))
    assert values(worker) == values(cloud) == {"x": [1.0, 2.0], "m": [1.0, 2.0]}
    assert values(edge) == {"x": [1.0, 2.0], "m": [1.0, 2.0], "y": [1.0, 2.0]}


def test_step_of_the_velocity_form():
    # d = eta g = (0.2, 0.4, 0); v = v / 2 - d = (0.05, -0.9, 1); x = x + v / 2 - d
    w = Worker(x=vector(1.0, 2.0, 3.0), m=vector(0.5, -1.0, 2.0))
    found = HierMo(eta=0.1, gamma=0.5).step(w, w, lambda x: vector(2.0, 4.0, 0.0))
    assert values(found) == {"x": [0.825, 1.15, 3.5], "m": [0.05, -0.9, 1.0]}


def test_step_of_the_position_form():
    # y = x - eta g = (0.8, 1.6, 3); x = y + (y - y_old) / 2
    w = Worker(x=vector(1.0, 2.0, 3.0), m=vector(0.5, 1.0, 2.0))
    found = HierMo(eta=0.1, gamma=0.5, form="position").step(w, w, lambda x: vector(2.0, 4.0, 0.0))
    assert values(found) == {"x": [0.95, 1.9, 3.5], "m": [0.8, 1.6, 3.0]}


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_step_takes_one_gradient_at_the_old_model(form):
    asked = []
    w = Worker(x=vector(1.0), m=vector(0.5))
    HierMo(form=form).step(w, w, lambda x: asked.append(x.tolist()) or 0 * x)
    assert asked == [[1.0]]


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_edge_extrapolates_the_mean_model_and_only_averages_the_momentum(form):
    # x = 3 + (3 - 1) / 4: the edge's old model, 9, and old mean momentum, 8, do not enter
    e, mean = Edge(x=vector(9.0), m=vector(8.0), y=vector(1.0)), Worker(x=vector(3.0), m=vector(7.0))
    assert values(HierMo(gamma_a=0.25, form=form).edge(e, mean)) == {"x": [3.5], "m": [7.0], "y": [3.0]}


def test_lowest_aggregators_have_momentum_and_those_above_average():
    algorithm = HierMo()
    edge, above = algorithm.aggregators()
    assert edge == algorithm.edge
    mean = Worker(x=vector(3.0), m=vector(7.0))
    assert above(Worker(x=vector(1.0), m=vector(2.0)), mean) == mean


def test_two_vectors_travel_each_way_and_never_the_edges_momentum():
    assert HierMo.up is HierMo.down is Worker
    assert Worker._fields == ("x", "m")


def test_defaults_are_the_papers_and_the_velocity_form():
    assert repr(HierMo()) == "HierMo(eta=0.01, gamma=0.5, gamma_a=0.5, form='velocity')"


def start(algorithm):
    return run(algorithm, TREE, PROBLEM, periods=(2, 2), iterations=8)


@pytest.mark.parametrize(("gamma", "gamma_a"), [(0.5, 0.5), (0.2, 0.9)])
def test_the_unstable_position_form_is_warned_of_once_where_run_is_called(gamma, gamma_a):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        algorithm = HierMo(gamma=gamma, gamma_a=gamma_a, form="position")
    with pytest.warns(UserWarning, match=r"unstable for gamma \+ gamma_a >= 1") as caught:
        list(start(algorithm))
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "algorithm",
    [HierMo(), HierMo(gamma=0.9, gamma_a=0.9), HierMo(gamma=0.5, gamma_a=0.49, form="position")],
)
def test_what_is_stable_is_not_warned_of(algorithm):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start(algorithm)


def test_the_constructor_stores_and_does_nothing_else():
    wrong = HierMo(eta=-1, gamma="much", form="speed")
    assert (wrong.eta, wrong.gamma, wrong.form) == (-1, "much", "speed")


def test_frozen_and_by_keyword_only():
    with pytest.raises(FrozenInstanceError):
        HierMo().eta = 1.0
    with pytest.raises(TypeError, match="positional"):
        HierMo(0.1)


def test_survives_pickle_and_replace():
    algorithm = HierMo(eta=0.1, gamma=0.2, gamma_a=0.3, form="position")
    assert pickle.loads(pickle.dumps(algorithm)) == algorithm  # noqa: S301 - our own bytes
    assert replace(algorithm, eta=0.5) == HierMo(eta=0.5, gamma=0.2, gamma_a=0.3, form="position")
    assert hash(replace(algorithm)) == hash(algorithm)
