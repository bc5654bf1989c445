"""`data.share`: every worker trains on a fixed part of what it holds."""

import numpy as np
import pytest
import tomli_w

from cli.tiny_recipe import tiny
from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.experiment.holdings import holdings, load_data
from hiermo.experiment.recipe import parse, to_dict


def held(share=None, seed=0, **data):
    return dealt(tiny(data=data | ({} if share is None else {"share": share}), train={"seed": seed}))


def dealt(raw):
    recipe = parse(raw)
    return holdings(recipe, load_data(recipe))


def same(one, other):
    return all(map(np.array_equal, one.parts, other.parts))


def test_every_worker_keeps_its_share_of_what_it_holds():
    uneven = {"kind": "sizes", "sizes": [20, 40, 60, 80]}
    whole, part = held(partition=uneven), held(0.25, partition=uneven)
    assert part.sizes == tuple(round(0.25 * size) for size in whole.sizes)
    assert len(set(part.sizes)) == 4  # or an equal number for each would pass as well
    for mine, all_of_it in zip(part.parts, whole.parts, strict=True):
        assert np.isin(mine, all_of_it).all()
        assert len(np.unique(mine)) == len(mine)


def test_it_holds_for_images_as_well():
    whole, part = (dealt(tiny() | {"data": {"source": "mnist-5k", **share}}) for share in ({}, {"share": 0.1}))
    assert part.sizes == tuple(round(size / 10) for size in whole.sizes)
    assert all(np.isin(mine, every).all() for mine, every in zip(part.parts, whole.parts, strict=True))


def test_a_worker_is_left_with_one_sample_at_least():
    assert held(1e-9).sizes == (1, 1, 1, 1)


def test_the_samples_are_drawn_and_not_the_first_ones():
    whole, part = held(), held(0.5)
    pairs = zip(part.parts, whole.parts, strict=True)
    assert not all(np.array_equal(mine, every[: len(mine)]) for mine, every in pairs)


def test_the_same_seed_keeps_the_same_and_another_seed_others():
    every = held()  # what is held does not change with the seed here, only what is kept of it
    assert same(every.sampled(0.5, 3), every.sampled(0.5, 3))
    assert not same(every.sampled(0.5, 3), every.sampled(0.5, 4))
    assert same(held(0.5, seed=3), held(0.5, seed=3))
    assert not same(held(0.5, seed=3), held(0.5, seed=4))


def test_a_smaller_share_is_part_of_a_larger_one():
    small, large = held(0.2), held(0.6)
    assert all(np.isin(few, many).all() for few, many in zip(small.parts, large.parts, strict=True))


def test_workers_do_not_all_keep_the_same_places():
    whole, part = held(), held(0.5)
    places = [np.flatnonzero(np.isin(every, mine)) for every, mine in zip(whole.parts, part.parts, strict=True)]
    assert len({tuple(each) for each in places}) > 1


def test_what_is_tested_on_stays():
    whole, part = held(), held(0.5)
    assert np.array_equal(part.test_x, whole.test_x)
    assert part.test_parts is whole.test_parts is None


def test_own_test_samples_stay_with_their_worker():
    owned = {"owners": 4, "partition": "natural"}
    whole, part = held(**owned), held(0.5, **owned)
    assert whole.test_parts is not None
    assert all(map(np.array_equal, part.test_parts, whole.test_parts))


@pytest.mark.parametrize("one", [1, 1.0])
def test_a_share_of_one_changes_nothing_and_is_not_written(one):
    recipe = parse(tiny(data={"share": one}))
    assert same(held(one), held())
    # run directories of before have no such key, and must stay the same runs
    assert "share" not in to_dict(recipe)["data"]
    assert to_dict(recipe) == to_dict(parse(tiny()))


def test_a_share_goes_there_and_back():
    recipe = parse(tiny(data={"share": 0.25}))
    assert to_dict(recipe)["data"]["share"] == 0.25
    assert parse(to_dict(recipe)) == recipe
    assert recipe != parse(tiny())


def test_it_can_be_set(tmp_path):
    (tmp_path / "r.toml").write_text(tomli_w.dumps(tiny()))
    assert recipe_file.load(str(tmp_path / "r.toml"), ["data.share=0.5"]).share.share == 0.5


@pytest.mark.parametrize("share", [0, 0.0, -0.5, 1.5, float("nan"), "a", True, [0.5]])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(UserError, match=r"^data\.share ") as refused:
        parse(tiny(data={"share": share}))
    assert len(str(refused.value).splitlines()) == 1


def test_a_share_that_is_spelled_wrongly_is_refused():
    with pytest.raises(UserError, match=r"data\.shares .*share"):
        parse(tiny(data={"shares": 0.5}))
