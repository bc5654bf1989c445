"""Tables, pages and figures out of made-up results."""

from dataclasses import replace
from pathlib import Path

from made_up import BROKEN, BUDGETED, EFFECT, curve, made_up, study
import pytest

from hiermo.reproduction.claims import claims_of
from hiermo.reproduction.figures import draw
from hiermo.reproduction.page import command, page
from hiermo.reproduction.plan import Size
from hiermo.reproduction.results import write
from hiermo.reproduction.study import BEYOND, studies
from hiermo.reproduction.tables import claims_grid, tables

PUBLISHED = {"": {"HierMo": 50.0, "FedAvg": 40.0, "Mime": 30.0}}
TIMED = {"recipe": "quick/time-to-accuracy", "metric": "simulated_seconds"}
TIMES = {
    "HierMo": {"simulated_seconds": 50.0, "iterations": 100},
    "FedAvg": {"simulated_seconds": 999.0, "draws": [180.0, 220.0], "free_draws": [90.0, 110.0], "iterations": 300},
}


def both(test, training):
    return {"accuracy": test, "train_accuracy": training, "curve": curve(test / 2, test)}


def rows(of):
    (found,) = tables(of)
    assert all(len(row) == len(found.head) for row in found.rows)
    return [found.head, *found.rows]


def test_a_column_has_both_accuracies_the_published_one_and_the_verdict():
    reached = {"HierMo": both(0.505, 0.55), "FedAvg": both(0.45, 0.46), "Mime": BROKEN, "CFL": both(0.1, 0.2)}
    assert rows(made_up(study(published=PUBLISHED), reached)) == [
        ("", "test", "training", "published", "gap", "verdict"),
        ("HierMo", "50.50", "55.00", "50.00", "+0.50", "matches"),
        ("CFL", "10.00", "20.00", "-", "", ""),
        ("Mime", "diverged", "", "30.00", "", "diverged"),
        ("FedAvg", "45.00", "46.00", "40.00", "+5.00", "5.00 above"),
    ]


def test_of_several_seeds_the_mean_with_the_least_and_the_most():
    of = made_up(study(seeds=3), {"HierMo": [50, 52, 57]})
    assert rows(of) == [("", "test"), ("HierMo", "53.00 (50.00 to 57.00)")]


def test_a_seed_that_diverged_is_left_out():
    assert rows(made_up(study(seeds=3), {"HierMo": [50, BROKEN, 57]}))[1] == ("HierMo", "53.50 (50.00 to 57.00)")


def test_short_runs_have_no_gap():
    of = made_up(study(published=PUBLISHED), {"HierMo": 50}, Size(iterations=200))
    assert rows(of)[1] == ("HierMo", "50.00", "50.00", "", "fewer iterations")


def test_the_study_that_it_is_held_against_has_a_column(tmp_path):
    other = made_up(studies()["logistic-mnist"], {"HierMo": [89, 90, 91]})
    write(tmp_path / "logistic-mnist.json", "logistic-mnist", other.results)
    of = made_up(study(against="logistic-mnist"), {"HierMo": 80, "FedAvg": 70})
    assert rows(of)[0] == ("", "test")
    found = rows(replace(of, path=tmp_path / "made-up.json"))
    assert [row[0] for row in found] == ["", "HierMo", "FedAvg"]
    assert [row[2] for row in found[1:]] == ["90.00 (89.00 to 91.00)", ""]


def test_the_effect_of_a_value_on_one_algorithm():
    reached = {("5, 2", "HierMo"): both(0.9, 0.95), ("10, 2", "HierMo"): both(0.88, 0.9), ("25, 2", "HierMo"): BROKEN}
    assert rows(made_up(study(together=EFFECT), reached)) == [
        ("tau, pi", "test", "training", "step"),
        ("5, 2", "90.00", "95.00", ""),
        ("10, 2", "88.00", "90.00", "-2.00"),
        ("25, 2", "diverged", "", ""),
    ]


def test_several_algorithms_down_and_values_across():
    it = study(vary=("tree.edges=5,10",), metric="train_accuracy", published={"5": {"HierMo": 95.0}})
    reached = {("5", "HierMo"): both(0.9, 0.95), ("10", "HierMo"): both(0.8, 0.85), ("5", "FedAvg"): both(0.7, 0.75)}
    assert rows(made_up(it, reached)) == [
        ("edges: training / test", "5", "10"),
        ("HierMo", "95.00 / 90.00 [95.00: matches]", "85.00 / 80.00"),
        ("FedAvg", "75.00 / 70.00", ""),
    ]


def test_times_from_the_shortest_with_what_is_saved():
    found = rows(made_up(study(**TIMED, published={"": {"HierMo": 100.0}}), TIMES))
    assert found[1:] == [
        ("HierMo", "1", "100", "50.0", "", "100.00", "50 % less"),
        ("FedAvg", "1", "300", "200 (180 to 220); full gradients free: 100", "75 %", "-", ""),
    ]


def test_budgets_with_the_best_and_the_chosen_pair():
    reached = {("10, 2", "HierMo"): {"curve": curve(0.8, 0.81, seconds=200)}}
    reached |= {("20, 2", "HierMo"): {"curve": curve(0.7, 0.9, seconds=200)}}
    reached |= {("40, 1", "HierMo"): {"curve": curve(0.5, seconds=300)}}
    extra = {"tuned": {"400": {"periods": [10, 2], "pilot_share": 0.0}}, "chosen": [[10, 2]]}
    assert rows(made_up(study(**BUDGETED), reached, extra=extra)) == [
        ("tau, pi: training accuracy", "400 s", "200 s"),
        ("(10, 2)", "81.00", "80.00 (best)"),
        ("(20, 2)", "90.00 (best)", "70.00"),
        ("(40, 1)", "50.00", "-"),
        ("chosen by `hiermo tune`, after its pilot", "81.00 at (10, 2), 9.00 below the best", "-"),
        ("published: the best", "95.05 at (42, 2)", "92.52"),
        ("published: chosen by HierOPT", "94.82 at (40, 2), 0.23 below the best", "92.23, 0.29 below the best"),
    ]
    extra["tuned"]["400"]["pilot_share"] = 0.5
    told = rows(made_up(study(**BUDGETED), reached, extra=extra))
    assert ("chosen by `hiermo tune`, after its pilot", "80.00 at (10, 2), 10.00 below the best", "-") in told
    assert ("the same, if the pilot took no time", "81.00", "-") in told


def test_claims_are_a_table():
    of = made_up(study(claims=("first",)), {"HierMo": 50, "FedAvg": 49})
    assert claims_grid(claims_of(of)).rows == (("HierMo is the best of all", "confirmed", "+1.00 points over FedAvg"),)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (Size(), ""),
        (Size(scale=0.1), " --scale 0.1"),
        (Size(seeds=2, iterations=400), " --seeds 2 --iterations 400"),
        (Size(only=("HierMo", "FedAvg")), " --only HierMo --only FedAvg"),
    ],
)
def test_the_command_makes_the_same_again(size, words):
    assert command("cnn-mnist", size) == f"hiermo reproduce cnn-mnist{words}"


@pytest.mark.parametrize(
    ("metric", "told"), [("accuracy", "Test and training"), ("train_accuracy", "Training and test")]
)
def test_a_page_names_the_accuracies_that_were_measured(metric, told):
    both = {"HierMo": {"accuracy": 0.5, "train_accuracy": 0.6}}
    assert f"Table 9. {told} accuracy in %" in page(made_up(study(metric=metric), both), None)


def test_a_page_tells_what_it_is_about_and_how_it_was_measured():
    about = {"date": "2025-01-02", "hiermo": "1.0", "torch": "2.5", "cpu": "a processor", "commit": "abc"}
    it = study(published=PUBLISHED, claims=("within", "first"))
    of = made_up(it, {"HierMo": {"accuracy": 0.5, "about": about}, "FedAvg": {"accuracy": 0.4, "about": about}})
    text = page(of, Path("somewhere/made-up.png"), ["A person's note."])
    lines = text.splitlines()
    assert lines[0] == "# Made up"
    assert lines[2].startswith("Table 9. Test accuracy in % (one seed). logistic on mnist, ")
    assert "tau = 10, pi = 2, batch 64. Recipe `paper/logistic-mnist`. T = 1000, as in the paper." in lines[2]
    measured = "+10.00 points over FedAvg; 2 of 10 algorithms are run"
    assert f"| HierMo is the best of all | partly | {measured} |" in lines  # not confirmed before all are
    assert "| HierMo | 50.00 | 50.00 | +0.00 | matches |" in lines
    assert "![Made up](made-up.png)" in lines  # they lie beside each other
    assert lines.index("## What agrees and what does not") < lines.index("A person's note.")
    assert "hiermo reproduce made-up" in lines
    assert "2 of 12 runs; all single results: [made-up.json](made-up.json)." in lines
    assert lines[-1] == "- 2025-01-02, hiermo 1.0, torch 2.5, a processor, commit abc"
    assert text.endswith("abc\n")


def test_a_page_warns_of_fewer_iterations_and_of_a_smaller_study():
    short = page(made_up(study(published=PUBLISHED), {"HierMo": 50}, Size(iterations=200)), None)
    assert "**T = 200 here, 1000 in full.**" in short
    assert "as in the paper" not in short
    assert "Scaled down" not in short
    small = page(made_up(study(published=PUBLISHED), {"HierMo": 50}, Size(scale=0.1)), None)
    assert "**Scaled down to 0.1: fewer samples, too; nothing to compare numbers with.**" in small
    assert "![" not in small


def test_a_page_tells_what_is_varied_and_set():
    several = page(made_up(study(vary=("tree.edges=5,10",), settings=("periods.tau=4",)), {"HierMo": 50}), None)
    assert ", 10 workers, 5 edges, cloud or 20 workers, 10 edges, cloud, tau = 4, pi = 2, batch 64." in several
    assert "Recipe `paper/logistic-mnist` with periods.tau=4." in several
    many = page(made_up(study(together=EFFECT, place=BEYOND), {"HierMo": 50}), None)
    assert "cloud, tau and pi as below, batch 64." in many
    assert many.splitlines()[2].startswith("Beyond the paper. ")
    assert "T = 1000." in many


def test_a_page_says_how_many_seeds():
    assert "(mean of 3 seeds, least to most in brackets)" in page(made_up(study(seeds=3), {"HierMo": [1, 2, 3]}), None)


def test_a_page_of_a_study_that_is_not_run_yet():
    text = page(made_up(study(claims=("first",)), {}), None)
    assert "| HierMo is the best of all | open | not run yet |" in text
    assert "0 of 12 runs" in text


MAP = ("algorithm.gamma=0.1,0.9", "algorithm.gamma_a=0.1,0.9")
DRAWN = {
    "column": (study(published=PUBLISHED), {"HierMo": both(0.5, 0.5), "FedAvg": both(0.4, 0.4), "Mime": BROKEN}, {}),
    "panels": (study(vary=("tree.edges=5,10",)), {"HierMo": both(0.5, 0.5), "FedAvg": both(0.4, 0.4)}, {}),
    "effect": (study(together=EFFECT), {"HierMo": both(0.5, 0.5)}, {}),
    "times": (study(**TIMED, others=(700.0, 1500.0), published={"": {"HierMo": 100.0}}), TIMES, {}),
    "times of which nothing is published": (study(**TIMED), TIMES, {}),
    "budgets": (
        study(**BUDGETED),
        {"HierMo": {"train_accuracy": 0.9, "curve": curve(0.7, 0.8, 0.9, seconds=100)}},
        {"tuned": {"400": {"periods": [20, 2], "pilot_share": 0.1}}, "chosen": [[20, 2]]},
    ),
    "momenta": (
        study(recipe="beyond/momenta-logistic", vary=MAP),
        {"HierMo": 89, "HierMo-position": 88, ("0.9, 0.9", "HierMo-position"): BROKEN},
        {},
    ),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_every_kind_of_study_has_a_figure(kind, tmp_path):
    it, reached, extra = DRAWN[kind]
    path = tmp_path / "figure.png"
    assert draw(made_up(it, reached, extra=extra), path) == path
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("reached", [{}, {"HierMo": BROKEN}])
def test_without_results_there_is_no_figure(reached, tmp_path):
    assert draw(made_up(study(), reached), tmp_path / "figure.png") is None
    assert not list(tmp_path.iterdir())
