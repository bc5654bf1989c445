"""`[absence]`: what it takes, what it refuses and in which words, in the library and in recipes."""

from dataclasses import asdict
from math import inf, nan

import pytest

import hiermo
from hiermo import Absence, Clock, Delays, Tree, UserError
from hiermo.clock.absence import Away
from hiermo.clock.nodes import Nodes
from hiermo.experiment.recipe import parse, to_dict

TREE = Tree.from_groups([[0, 1], [2, 3, 4]])
RECIPE = {
    "data": {"source": "synthetic", "samples": 300},
    "model": {"name": "logistic"},
    "tree": {"groups": [[0, 1], [2, 3, 4]], "flatten": True},
    "periods": {"tau": 2, "pi": 2},
    "train": {"iterations": 20, "batch": 8},
    "algorithm": {"name": "HierMo"},
}


def away(**table):
    return Absence(away=(table,))


def recipe(absence, name="HierMo", **tables):
    return parse({**RECIPE, "algorithm": {"name": name}, "absence": absence, **tables})


def refused(absence, words, name="HierMo"):
    """The very sentence, from the library and from a recipe."""
    algorithm = getattr(hiermo, name)()
    problem = hiermo.Quadratic(A=[[[1.0]]] * 5, b=[[1.0]] * 5, sizes=[1] * 5)
    with pytest.raises(UserError) as library:
        clock = Clock(Delays.of_table({}), Absence(**absence))
        list(hiermo.run(algorithm, TREE, problem, periods=(2, 2), iterations=4, clock=clock))
    assert str(library.value) == words
    with pytest.raises(UserError) as in_recipe:
        recipe(absence, name)
    assert str(in_recipe.value) == words


def test_without_options_everyone_is_always_there():
    assert Absence().nobody
    assert recipe({}).absence.nobody
    assert "absence" not in to_dict(recipe({}))


SOME = {
    "participation": 0.5,
    "drop_out": 0.1,
    "edge_drop_out": 0.1,
    "deadline_s": 3.0,
    "cloud_deadline_s": 3.0,
    "away": ({"nodes": "edge 1", "seconds": [1, 2]},),
}


@pytest.mark.parametrize("key", SOME)
def test_with_any_option_somebody_may_be_absent(key):
    assert not Absence(**{key: SOME[key]}).nobody


def test_no_option_is_missing_from_this_page():
    assert set(asdict(Absence())) == set(SOME)


@pytest.mark.parametrize(
    ("options", "by_chance", "depends_on_time"),
    [
        ({"participation": 0.5}, True, False),
        ({"drop_out": 0.5}, True, False),
        ({"edge_drop_out": 0.5}, True, False),
        ({"deadline_s": 1.0}, False, True),
        ({"cloud_deadline_s": 1.0}, False, True),
        ({"away": ({"nodes": "worker 1", "seconds": [1, 2]},)}, False, True),
        ({"away": ({"nodes": "worker 1", "iterations": [1, 2]},)}, False, False),
    ],
)
def test_what_depends_on_chance_and_what_on_time(options, by_chance, depends_on_time):
    absence = Absence(**options)
    assert (absence.by_chance, absence.depends_on_time) == (by_chance, depends_on_time)


CHANCE = (-0.1, 1, 1.5, nan, inf, "often", None, True), (0, 0.999)
PATIENCE = (0, -1, nan, inf, "long", True), (1e-9, 1e9)
VALUES = {
    "participation": ((0, -0.1, 1.1, nan, "half", None, True), (1e-9, 0.5, 1)),
    "drop_out": CHANCE,
    "edge_drop_out": CHANCE,
    "deadline_s": PATIENCE,
    "cloud_deadline_s": PATIENCE,
    "away": (("edge 1", 3, {"nodes": "edge 1"}), ((), [])),
}


@pytest.mark.parametrize("key", VALUES)
def test_values_out_of_range_are_refused(key):
    wrong, right = VALUES[key]
    for value in wrong:
        with pytest.raises(UserError, match=f"^Absence: {key} must be "):
            Absence(**{key: value}).check(TREE)
        with pytest.raises(UserError, match=f"^absence.{key} must be "):
            recipe({key: value})
    for value in right:
        Absence(**{key: value}).check(TREE)
        recipe({key: value})


def test_a_run_refuses_values_out_of_range():
    """For a constructor stores, and does nothing else."""
    clock = Clock(Delays.of_table({}), Absence(drop_out=1.0))
    problem = hiermo.Quadratic(A=[[[1.0]]] * 5, b=[[1.0]] * 5, sizes=[1] * 5)
    with pytest.raises(UserError, match=r"^Absence: drop_out must be in \[0, 1\), not 1.0$"):
        next(hiermo.run(hiermo.HierMo(), TREE, problem, periods=(2, 2), iterations=4, clock=clock))


def test_a_key_that_is_nearly_right():
    with pytest.raises(UserError, match=r"^absence.dropout is not a key of \[absence\]; did you mean 'drop_out'\?$"):
        recipe({"dropout": 0.1})


def test_absences_are_read():
    two = {"nodes": ["worker 1", "edges 0-1"], "iterations": [3, 9]}
    one = {"nodes": "tier 1", "seconds": [0, inf]}
    assert Absence(away=(two, one)).spells == (
        Away(Nodes("worker", 1, 1), iterations=(3.0, 9.0)),
        Away(Nodes("edge", 0, 1), iterations=(3.0, 9.0)),
        Away(Nodes(1), seconds=(0.0, inf)),
    )


AT = "absence.away.0"
SPAN = "must be [from, until] with from before until, not"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("edge 1", f"{AT} must be a table as {{ nodes = 'edge 1', seconds = [60, 120] }}, not 'edge 1'"),
        ({"seconds": [1, 2]}, f"{AT}.nodes is missing"),
        ({"nodes": "edge 1"}, f"{AT}: give either iterations or seconds, each as [from, until]"),
        (
            {"nodes": "edge 1", "seconds": [1, 2], "iterations": [1, 2]},
            f"{AT}: give either iterations or seconds, each as [from, until]",
        ),
        ({"nodes": "edge 1", "second": [1, 2]}, f"{AT}.second is not a key of an absence; did you mean 'seconds'?"),
        ({"nodes": "edge 1", "seconds": 5}, f"{AT}.seconds must be a list, not 5"),
        ({"nodes": "edge 1", "seconds": [1, "2"]}, f"{AT}.seconds must be a number, not '2'"),
        ({"nodes": "edge 1", "seconds": [1]}, f"{AT}.seconds {SPAN} [1]"),
        ({"nodes": "edge 1", "seconds": [1, 2, 3]}, f"{AT}.seconds {SPAN} [1, 2, 3]"),
        ({"nodes": "edge 1", "seconds": [2, 2]}, f"{AT}.seconds {SPAN} [2, 2]"),
        ({"nodes": "edge 1", "seconds": [-1, 2]}, f"{AT}.seconds {SPAN} [-1, 2]"),
        ({"nodes": "edge 1", "seconds": [nan, 2]}, f"{AT}.seconds {SPAN} [nan, 2]"),
        ({"nodes": "edge 1", "iterations": [9, 3]}, f"{AT}.iterations {SPAN} [9, 3]"),
        ({"nodes": "edge 2", "seconds": [1, 2]}, f"{AT}: there is no edge 2: the tree has 5 workers, 2 edges, cloud"),
        (
            {"nodes": ["worker 1", "worker 5"], "seconds": [1, 2]},
            f"{AT}: there is no worker 5: the tree has 5 workers, 2 edges, cloud",
        ),
    ],
)
def test_wrong_absences_are_refused_in_one_sentence(table, words):
    refused({"away": [table]}, words)


@pytest.mark.parametrize("name", ["phone", "", "edge one", "node 1"])
def test_names_that_mean_no_nodes(name):
    with pytest.raises(UserError, match=rf"^absence.away.0.nodes: write 'worker', .*, not '{name}'$"):
        away(nodes=["edge 1", name], seconds=[1, 2]).check(TREE)


@pytest.mark.parametrize("name", ["cloud", "tier 2", "node 0 of tier 2"])
def test_the_cloud_cannot_go_away_under_any_name(name):
    words = "absence.away.0: without the cloud there is nobody to come back to"
    refused({"away": [{"nodes": name, "seconds": [1, 2]}]}, words)


def test_the_second_absence_is_the_one_that_is_named():
    wrong = ({"nodes": "edge 1", "seconds": [1, 2]}, {"nodes": "edge 1", "seconds": [2, 1]})
    with pytest.raises(UserError, match=r"^absence.away.1.seconds must be"):
        recipe({"away": wrong})


@pytest.mark.parametrize("name", ["edge", "edge 1", "edges 0-1", "tier 1", "node 1 of tier 1"])
def test_a_flattened_tree_has_lost_the_edges_that_are_away(name):
    """A recipe of algorithms for three tiers and for two speaks of edges once."""
    absence = away(nodes=name, seconds=[1, 2])
    absence.check(TREE)
    absence.check(TREE.flatten())
    assert recipe({"away": absence.away}, "FedAvg").absence.spells == absence.spells


@pytest.mark.parametrize(
    ("absence", "words"),
    [
        (
            {"away": [{"nodes": "worker 1", "iterations": [1, 5]}]},
            "absence.away: CFL has no common iterations: give seconds = [from, until]",
        ),
        (
            {"edge_drop_out": 0.1},
            "absence.edge_drop_out: CFL has no cloud rounds that an edge could miss; leave it out",
        ),
        (
            {"cloud_deadline_s": 9.0},
            "absence.cloud_deadline_s: CFL has no cloud rounds that an edge could miss; leave it out",
        ),
    ],
)
def test_what_makes_no_sense_for_an_asynchronous_algorithm_is_refused(absence, words):
    refused(absence, words, "CFL")


def test_one_of_several_algorithms_for_which_it_makes_no_sense():
    both = [{"name": "HierMo"}, {"name": "CFL"}]
    with pytest.raises(UserError, match=r"^absence.edge_drop_out: CFL has no cloud rounds"):
        parse({**RECIPE, "algorithm": both, "absence": {"edge_drop_out": 0.1}})


def test_what_makes_sense_for_an_asynchronous_algorithm_is_taken():
    recipe({"participation": 0.5, "drop_out": 0.1, "deadline_s": 3, "away": SOME["away"]}, "CFL")


def test_a_recipe_keeps_its_absences():
    once = recipe({**SOME, "away": [{"nodes": ["edge 1", "worker 0"], "iterations": [3, 9]}]})
    again = parse(to_dict(once))
    assert again.absence == once.absence
    assert again.absence.spells == once.absence.spells
    assert to_dict(again) == to_dict(once)
