"""A recipe that is written parses to an equal one, whatever is in it."""

from pathlib import Path
import tomllib

from hypothesis import given
from hypothesis import strategies as st
import pytest

from hiermo.core.errors import UserError
from hiermo.experiment.recipe import parse, to_dict
from hiermo.experiment.recipe_file import extended, load, shipped, write

counts = st.integers(1, 6)
momenta = st.floats(0, 1, exclude_max=True)
rates = st.floats(1e-6, 10)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=10)

sources = st.one_of(
    st.just({"source": "mnist-5k"}),
    st.fixed_dictionaries(
        {"source": st.just("synthetic")}, optional={"noise": st.floats(0, 3), "seed": st.integers(0, 9)}
    ),
)
partitions = st.one_of(
    st.just("iid"),
    st.fixed_dictionaries({"kind": st.just("dirichlet"), "alpha": rates}, optional={"min_samples": counts}),
    st.fixed_dictionaries({"kind": st.just("classes"), "per_worker": counts}, optional={"cover": st.booleans()}),
    st.fixed_dictionaries({"kind": st.just("sizes"), "sizes": st.lists(counts, min_size=1)}),
)
models = st.one_of(
    st.sampled_from([{"name": "linear"}, {"name": "logistic"}]),
    st.fixed_dictionaries(
        {"name": st.just("cnn")}, optional={"hidden": st.lists(counts), "channels": st.lists(counts)}
    ),
)
three_tiers = st.one_of(
    st.builds(lambda n, each: {"edges": n, "workers_per_edge": each}, counts, counts),
    st.builds(lambda each: {"edges": len(each), "workers_per_edge": each}, st.lists(counts, min_size=1, max_size=3)),
    st.just({"groups": [[0, 2], [1]]}),
    st.just({"parents": [[0, 1, 0], [0, 0]]}),
)
shapes = st.one_of(
    st.tuples(three_tiers, st.builds(lambda tau, pi: {"tau": tau, "pi": pi}, counts, counts)),
    st.tuples(st.builds(lambda n: {"workers": n}, counts), st.builds(lambda tau: {"tau": tau}, counts)),
    st.tuples(
        st.builds(lambda each: {"branching": each}, st.lists(st.integers(1, 3), min_size=3, max_size=3)),
        st.lists(counts, min_size=3, max_size=3),
    ),
)
algorithms = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"name": st.just("HierMo")},
            optional={"gamma": momenta, "gamma_a": momenta, "eta": rates, "form": st.just("position")},
        ),
        st.fixed_dictionaries({"name": st.just("HierFAVG")}, optional={"eta": rates}),
        st.fixed_dictionaries({"name": st.just("FedAvg")}, optional={"eta": rates}),
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def raw_recipes(draw):
    tree, periods = draw(shapes)
    cloud = 1
    for period in periods.values() if isinstance(periods, dict) else periods:
        cloud *= period
    several = [{**each, "label": f"{each['name']} {k}"} for k, each in enumerate(draw(algorithms))]
    raw = {
        "data": {**draw(sources), "partition": draw(partitions)},
        "model": draw(models),
        "tree": {**tree, "flatten": True},
        "periods": periods,
        "train": {"iterations": cloud * draw(counts), "seed": draw(st.integers(0, 2**63 - 1))},
        "algorithm": several if len(several) > 1 else several[0],
    }
    if draw(st.booleans()):
        raw["train"]["until"] = {"accuracy": draw(st.floats(0, 1)), "loss": draw(counts)}
    if draw(st.booleans()) and tree.keys() != {"workers"}:
        if draw(st.booleans()):
            raw["data"]["edges"] = draw(partitions)
        else:
            raw["tree"]["assign"] = draw(st.sampled_from(["similar", "mixed", "random"]))
    if draw(st.booleans()):
        raw["input"] = {"normalise": draw(st.booleans()), "crop": draw(counts), "flip": draw(st.booleans())}
    if draw(st.booleans()):
        raw["model"] = {**raw["model"], "weights": draw(st.text("ab./", min_size=1)), "skip": ["fc.*"]}
    if draw(st.booleans()):
        raw["delays"] = {"theta_w": draw(st.floats(0, 10))}
    if draw(st.booleans()):
        raw["evaluate"] = {"every": draw(counts), "train": draw(st.one_of(st.booleans(), counts))}
        raw["evaluate"] |= {"test": draw(counts), "per": draw(st.lists(st.sampled_from(["class", "worker", "edge"])))}
    if draw(st.booleans()):
        raw["engine"] = {"name": "pernode", "dtype": "float64", "threads": draw(counts), "checkpoint_s": 0}
    return {**raw, "name": draw(texts), "description": draw(texts)}


@given(raw_recipes())
def test_what_is_written_reads_as_the_same_recipe(raw):
    recipe = parse(raw)
    text = write(recipe)
    again = parse(tomllib.loads(text))
    assert again == recipe
    assert write(again) == text
    for part in recipe.algorithms:
        alone = recipe.single(part)
        assert parse(tomllib.loads(write(alone))) == alone


@pytest.mark.parametrize("name", shipped())
def test_shipped_recipes_too(name):
    recipe = load(name)
    assert parse(tomllib.loads(write(recipe))) == recipe


@given(raw_recipes())
def test_extending_changes_the_horizon_and_nothing_else(raw):
    recipe = parse(raw)
    longer = extended(recipe, 3 * recipe.train.iterations)
    ours, theirs = to_dict(longer), to_dict(recipe)
    assert ours["train"].pop("iterations") == 3 * theirs["train"].pop("iterations")
    assert ours == theirs


def test_flatten_is_for_two_tier_algorithms_only():
    raw = {
        "data": {"source": "synthetic"},
        "model": {"name": "linear"},
        "tree": {"branching": [2, 3, 2], "flatten": True},
        "periods": [2, 3, 5],
        "train": {"iterations": 30},
        "algorithm": [{"name": "FedAvg"}, {"name": "HierMo"}],
    }
    recipe = parse(raw)
    flat, kept = (recipe.placed(part) for part in recipe.algorithms)
    assert (flat[0].counts, flat[1]) == ((12, 1), (30,))
    assert (kept[0].counts, kept[1]) == ((12, 6, 2, 1), (2, 3, 5))
    with pytest.raises(UserError, match=r"tree has 4 tiers and FedAvg is an algorithm for 2; set tree.flatten = true"):
        parse({**raw, "tree": {"branching": [2, 3, 2]}})


def test_import_folders_are_kept_only_where_they_are_needed(tmp_path):
    raw = to_dict(load("quick/digits"))
    assert parse(raw, folders=(tmp_path,)).import_from == ()
    own = {**raw, "algorithm": {"name": "hiermo.algorithms.hiermo:HierMo"}, "import_from": ["lib", str(tmp_path)]}
    folders = (tmp_path, Path("/elsewhere"))
    assert parse(own, folders=folders).import_from == (f"{tmp_path}/lib", str(tmp_path), "/elsewhere")
