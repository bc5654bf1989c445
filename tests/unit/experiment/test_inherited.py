"""`extends`: what a recipe takes over from another, what it replaces, and what is refused."""

from hypothesis import given
from hypothesis import strategies as st
import pytest
import tomli_w

from cli.tiny_recipe import tiny
from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.experiment.inherited import DEEPEST, merged

KEYS = st.sampled_from(["model", "name", "tree", "kind", "data", "x"])
VALUES = st.integers(0, 9) | st.sampled_from(["a", "b", ""]) | st.lists(st.integers(0, 9), max_size=2)
TABLES = st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES, max_size=3), max_size=4)


@pytest.fixture
def write(tmp_path):
    def write(name, **tables):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomli_w.dumps(tables))
        return str(path)

    return write


def test_tables_are_merged_key_by_key(write):
    write("base.toml", **tiny(train={"batch": 4}))
    recipe = recipe_file.load(write("own.toml", extends="base.toml", train={"iterations": 80}))
    assert (recipe.train.iterations, recipe.train.batch) == (80, 4)
    assert (recipe.source.name, recipe.periods) == ("synthetic", (2, 2))


def test_it_is_as_if_all_were_written_in_one_file(write):
    write("base.toml", **tiny())
    own = write("own.toml", extends="base.toml", data={"samples": 300}, evaluate={"every": 3})
    whole = write("whole/own.toml", **tiny(data={"samples": 300}, evaluate={"every": 3}))
    assert recipe_file.load(own) == recipe_file.load(whole)


def test_what_is_merged_is_not_changed_itself():
    base, own = {"train": {"batch": 4}}, {"train": {"seed": 1}}
    assert merged(base, own) == {"train": {"batch": 4, "seed": 1}}
    assert (base, own) == ({"train": {"batch": 4}}, {"train": {"seed": 1}})


def test_a_list_of_algorithms_takes_the_place_of_the_one_before(write):
    write("base.toml", **tiny(algorithm=[{"name": "HierMo", "gamma": 0.9}, {"name": "HierFAVG"}]))
    own = write("own.toml", extends="base.toml", algorithm=[{"name": "HierMo", "label": "mine"}])
    (only,) = recipe_file.load(own).algorithms
    assert only.label == "mine"
    assert only.made.gamma != 0.9


def test_a_tree_goes_as_a_whole(write):
    # edges and groups in one table would be refused
    write("base.toml", **tiny())
    recipe = recipe_file.load(write("own.toml", extends="base.toml", tree={"groups": [[0, 1, 2], [3]]}))
    assert recipe.tree.edges is None
    assert recipe.tree.build().n_workers == 4


@pytest.mark.parametrize(("table", "key"), [("model", "name"), ("schedule", "kind"), ("edges", "kind")])
def test_a_table_of_another_kind_takes_the_place_of_the_one_before(table, key):
    base = {table: {key: "one", "option": 1}}
    assert merged(base, {table: {key: "two"}}) == {table: {key: "two"}}
    assert merged(base, {table: {key: "one", "more": 2}}) == {table: {key: "one", "option": 1, "more": 2}}
    assert merged(base, {table: {"more": 2}}) == {table: {key: "one", "option": 1, "more": 2}}


def test_a_partition_of_another_kind_leaves_the_rest_of_the_data_as_it_is(write):
    write("base.toml", **tiny(data={"partition": {"kind": "dirichlet", "alpha": 0.5}}))
    own = write("own.toml", extends="base.toml", data={"partition": {"kind": "classes", "per_worker": 2}})
    recipe = recipe_file.load(own)
    assert recipe.partition.values()["per_worker"] == 2
    assert recipe.source.made.samples == 200


def test_a_text_takes_the_place_of_a_table_and_a_table_that_of_a_text():
    table = {"model": {"name": "mlp", "hidden": [3]}}
    assert merged(table, {"model": "cnn"}) == {"model": "cnn"}
    assert merged({"model": "cnn"}, table) == table


def test_a_chain_of_two(write):
    write("first.toml", **tiny(train={"batch": 4, "seed": 1}))
    write("second.toml", extends="first.toml", train={"seed": 2, "iterations": 80})
    recipe = recipe_file.load(write("third.toml", extends="second.toml", train={"iterations": 120}))
    assert (recipe.train.batch, recipe.train.seed, recipe.train.iterations) == (4, 2, 120)


def test_a_file_is_looked_for_beside_the_recipe_that_names_it(write):
    write("far/first.toml", **tiny(train={"batch": 4}))
    write("first.toml", **tiny(train={"batch": 5}))
    write("far/second.toml", extends="first.toml")
    assert recipe_file.load(write("third.toml", extends="far/second.toml")).train.batch == 4


def test_a_shipped_recipe_is_found_by_its_name(write):
    recipe = recipe_file.load(write("own.toml", extends="quick/digits", train={"seed": 7}))
    assert recipe.source == recipe_file.load("quick/digits").source
    assert recipe.train.seed == 7


def test_a_file_beside_the_recipe_goes_before_a_shipped_one(write):
    write("quick/digits", **tiny(train={"batch": 3}))
    recipe = recipe_file.load(write("own.toml", extends="quick/digits"))
    assert (recipe.train.batch, recipe.source.name) == (3, "synthetic")


def test_settings_go_before_what_is_taken_over(write):
    write("base.toml", **tiny())
    assert recipe_file.load(write("own.toml", extends="base.toml"), ["train.batch=2"]).train.batch == 2


def test_a_fault_of_what_is_taken_over_names_the_recipe_that_was_asked_for(write):
    write("base.toml", **tiny(train={"batch": 0}))
    own = write("own.toml", extends="base.toml")
    with pytest.raises(UserError, match=r"train\.batch") as refused:
        recipe_file.load(own)
    assert str(refused.value).startswith(f"{own}: ")


def test_an_unknown_base_is_refused_with_the_nearest_name(write):
    own = write("own.toml", extends="quick/digit")
    with pytest.raises(UserError) as refused:
        recipe_file.load(own)
    assert str(refused.value).startswith(f"{own}: extends: there is no recipe 'quick/digit'")
    assert "quick/digits" in str(refused.value)


def test_the_refusal_names_the_file_of_the_chain_that_is_wrong(write):
    second = write("second.toml", extends="nowhere.toml")
    with pytest.raises(UserError, match=r"no recipe 'nowhere.toml'") as refused:
        recipe_file.load(write("third.toml", extends="second.toml"))
    assert str(refused.value).startswith(f"{second}: extends: ")


@pytest.mark.parametrize("base", [1, True, ["base.toml"], {"file": "base.toml"}])
def test_a_base_that_is_no_text_is_refused(write, base):
    own = write("own.toml", extends=base)
    with pytest.raises(UserError) as refused:
        recipe_file.load(own)
    assert str(refused.value) == f"{own}: extends must be the name or the file of a recipe, not {base!r}"


def test_a_base_that_is_no_toml_is_refused_by_its_own_name(write, tmp_path):
    (tmp_path / "base.toml").write_text("[train")
    with pytest.raises(UserError, match="not valid TOML") as refused:
        recipe_file.load(write("own.toml", extends="base.toml"))
    assert str(refused.value).startswith(str(tmp_path / "base.toml"))


def test_a_circle_is_refused(write):
    a, b = write("a.toml", extends="b.toml"), write("b.toml", extends="a.toml")
    with pytest.raises(UserError) as refused:
        recipe_file.load(a)
    assert str(refused.value) == f"{b}: extends = 'a.toml' leads back to a.toml"


@pytest.mark.parametrize("way", ["a.toml", "./a.toml", "deeper/../a.toml"])
def test_a_recipe_that_extends_itself_is_refused(write, tmp_path, way):
    (tmp_path / "deeper").mkdir()
    a = write("a.toml", extends=way)
    with pytest.raises(UserError) as refused:
        recipe_file.load(a)
    assert str(refused.value) == f"{a}: extends = '{way}' leads back to a.toml"


def test_a_chain_may_be_long_but_not_without_end(write):
    write("0.toml", **tiny(train={"batch": 3}))
    for k in range(DEEPEST + 1):
        last = write(f"{k + 1}.toml", extends=f"{k}.toml")
    with pytest.raises(UserError, match=f"more than {DEEPEST} recipes one behind the other"):
        recipe_file.load(last)
    assert recipe_file.load(last.replace(f"{DEEPEST + 1}.toml", f"{DEEPEST}.toml")).train.batch == 3


def test_what_is_written_down_of_a_run_extends_nothing(write):
    # a run directory must not depend on a file that may change
    write("base.toml", **tiny())
    recipe = recipe_file.load(write("own.toml", extends="base.toml"))
    assert "extends" not in recipe_file.write(recipe)


@given(TABLES)
def test_nothing_changes_nothing(table):
    assert merged(table, {}) == table
    assert merged({}, table) == table


@given(TABLES, TABLES)
def test_what_is_said_last_holds(base, own):
    found = merged(base, own)
    assert found.keys() == base.keys() | own.keys()
    for key, value in own.items():
        said = value if isinstance(value, dict) else {"": value}
        there = found[key] if isinstance(value, dict) else {"": found[key]}
        assert all(there[inner] == each for inner, each in said.items())
