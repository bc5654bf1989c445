"""Shorter versions of a study are valid recipes, with whole cloud rounds."""

from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import study
import pytest
import tomli_w

from cli.tiny_recipe import tiny
from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.models.cnn import Cnn
from hiermo.reproduction.plan import Size, runs_of
from hiermo.reproduction.scale import LEAST_TEST, shortened

TABLE = "paper/logistic-mnist"  # 1000 iterations, tau = 10, pi = 2, judged on all training samples as well


def scaled(scale, recipe=TABLE, own=(), heavy=False, iterations=None):
    """The recipe as it is run."""
    return recipe_file.load(recipe, [*own, *shortened(recipe, own, scale, iterations, heavy)])


@pytest.mark.parametrize(("wanted", "found"), [(20, 20), (39, 20), (45, 40), (999, 980), (1000, 1000), (5000, 1000)])
def test_iterations_are_rounded_down_to_whole_cloud_rounds(wanted, found):
    assert shortened(TABLE, (), 1, wanted, False) == [f"train.iterations={found}"]


def test_without_any_wish_a_study_is_as_long_as_its_recipe():
    assert shortened(TABLE, (), 1, None, True) == ["train.iterations=1000"]


def test_what_is_varied_decides_how_long_a_round_is():
    own = ["periods.tau=25", "periods.pi=4"]
    assert shortened(TABLE, own, 1, 250, False) == ["train.iterations=200"]
    with pytest.raises(UserError, match="--iterations 99: a cloud round of this study is 100 iterations"):
        shortened(TABLE, own, 1, 99, False)


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_less_than_a_round_is_refused(scale):
    with pytest.raises(UserError, match=r"^--iterations 19: a cloud round of this study is 20 iterations$"):
        shortened(TABLE, (), scale, 19, False)


def test_iterations_and_rounds_are_scaled():
    found = scaled(0.1)
    assert (found.train.iterations, found.periods) == (100, (10, 2))
    found = scaled(0.004)
    assert (found.train.iterations, found.periods) == (4, (2, 2))
    found = scaled(0.1, iterations=400)
    assert (found.train.iterations, found.periods) == (40, (10, 2))


@pytest.mark.parametrize(("scale", "share", "test"), [(0.5, 0.5, 2000), (0.1, 0.1, 1000), (0.0001, 0.01, LEAST_TEST)])
def test_fewer_samples_to_train_on_and_to_judge_by_with_a_floor_and_a_ceiling(scale, share, test):
    found = scaled(scale)
    assert found.share.share == share
    assert (found.evaluate.test, found.evaluate.train) == (test, test)


def test_what_is_not_measured_is_not_measured_when_scaled_either(tmp_path):
    (tmp_path / "r.toml").write_text(tomli_w.dumps(tiny()))
    found = scaled(0.5, str(tmp_path / "r.toml"))
    assert found.evaluate.train is False
    assert found.train.iterations == 20


@pytest.mark.parametrize(("scale", "batch"), [(0.5, 32), (0.1, 6), (0.001, 2)])
def test_batches_are_smaller_where_the_model_is_heavy_and_only_there(scale, batch):
    assert scaled(scale, heavy=True).train.batch == batch
    assert scaled(scale, heavy=False).train.batch == 64


def test_three_periods_are_shortened_from_below():
    own = ["tree={branching=[2,2,4]}", "periods=[5,2,2]"]
    assert scaled(0.01, "beyond/four-tiers", own).periods == (2, 2, 2)


@settings(max_examples=40)
@given(
    periods=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    rounds=st.integers(1, 50),
    scale=st.floats(0.001, 0.999),
)
def test_every_scale_leaves_whole_rounds_that_are_no_longer_than_before(periods, rounds, scale):
    full = prod(periods) * rounds
    own = [f"periods={periods}", f"train.iterations={full}"]
    found = dict(setting.split("=") for setting in shortened(TABLE, own, scale, None, False))
    short, iterations = recipe_file.value_of(found["periods"]), int(found["train.iterations"])
    assert all(1 <= now <= before for now, before in zip(short, periods, strict=True))
    assert iterations % prod(short) == 0
    assert 1 <= iterations <= max(1, round(scale * full))
    assert short == periods or prod(periods) > round(scale * full)


def test_under_a_budget_the_time_is_scaled_and_the_grid_of_periods_stays():
    timed = study(recipe="paper/hieropt-cnn", together=("periods.tau=10,160", "periods.pi=2,2"), budgets=(400.0, 200.0))
    for size, seconds in ((Size(), 400), (Size(scale=0.05), 20)):
        runs = runs_of(timed, size)
        assert [run.recipe.periods for run in runs] == [(10, 2), (160, 2)]
        assert [run.recipe.train.until for run in runs] == [{"simulated_seconds": seconds}] * 2
        # the recipe's 1000 iterations must not end a run before the time is over
        assert all(run.recipe.train.iterations > 90_000 for run in runs)
    assert [run.recipe.share.share for run in runs] == [0.05, 0.05]
    # a twentieth of the time is worth as much where computing and messages take a twentieth, too
    assert [run.recipe.model.made for run in runs] == [Cnn(channels=(7, 14), hidden=(114,))] * 2
    assert [run.recipe.train.iterations for run in runs_of(timed, Size(iterations=640))] == [640, 640]
