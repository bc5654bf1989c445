"""`hiermo data show`."""

import json
import subprocess
import sys

import pytest

TOLD = {"recipe", "seed", "title", "tree", "classes", "samples", "workers", "edges", "heterogeneity", "picture"}


@pytest.fixture
def told(hiermo, recipe):
    """What the verb says of a tiny recipe, as JSON."""

    def ask(*words, warns=False, **tables):
        recipe(**tables)
        ended = hiermo("data", "show", "r.toml", "--json", *words, warns=warns)
        assert ended.code == 0, ended.err
        return json.loads(ended.out)

    return ask


def labels(worker):
    return {c for c, n in enumerate(worker["counts"]) if n}


def test_table_words_and_picture(hiermo, recipe, tmp_path):
    recipe()
    ended = hiermo("data", "show", "r.toml")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0] == "synthetic divided by iid: 4 workers, 2 edges, cloud"
    assert lines[1].split() == ["samples", *map(str, range(10))]
    assert lines[2].split() == ["all", "200", *["20"] * 10]
    assert [line.split()[:3] for line in lines[3:9]] == [
        ["edge", "0", "100"], ["worker", "0", "50"], ["worker", "1", "50"],
        ["edge", "1", "100"], ["worker", "2", "50"], ["worker", "3", "50"],
    ]  # fmt: skip
    assert any(line.startswith("worker to its edge") for line in lines)
    assert lines[-1] == "picture: r-holdings.png"
    assert (tmp_path / "r-holdings.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_all_that_is_printed(told, tmp_path):
    found = told("--out", "here.png", "--seed", 3)
    assert set(found) == TOLD | {"unused_samples"}
    assert (found["seed"], found["samples"], found["unused_samples"]) == (3, 200, 0)
    assert [worker["samples"] for worker in found["workers"]] == [50] * 4
    assert found["picture"] == "here.png"
    assert (tmp_path / "here.png").is_file()


def test_the_division_is_that_of_the_run(told):
    """The seed of the run divides the data."""
    by = {"partition": {"kind": "dirichlet", "alpha": 0.5}}
    one, again, other = (told("--seed", seed, data=by)["workers"] for seed in (0, 0, 1))
    assert one == again != other
    assert told("-s", "train.seed=1", data=by)["workers"] == other


def test_a_rule_for_the_edges(told):
    found = told(data={"partition": "iid", "edges": {"kind": "classes", "per_worker": 5}})
    assert found["title"] == (
        "synthetic divided among edges by classes (per_worker = 5), among their workers by iid: "
        "4 workers, 2 edges, cloud"
    )
    assert not labels(found["edges"][0]) & labels(found["edges"][1])
    assert found["heterogeneity"]["edge_to_all"]["mean"] == 0.5


@pytest.mark.parametrize(("assigned", "apart"), [("similar", True), ("mixed", False)])
def test_who_goes_under_which_edge(told, assigned, apart):
    data = {"classes": 2, "partition": {"kind": "classes", "per_worker": 1}}
    found = told(data=data, tree={"assign": assigned})
    assert found["title"].endswith(f"by classes (per_worker = 1), assigned {assigned}: 4 workers, 2 edges, cloud")
    assert [len(labels(edge)) for edge in found["edges"]] == ([1, 1] if apart else [2, 2])


def test_natural(told):
    found = told(data={"owners": 4, "heterogeneity": 1.0, "partition": "natural"})
    assert [worker["samples"] for worker in found["workers"]] == [50] * 4


def test_samples_that_nobody_holds(hiermo, recipe):
    recipe(data={"partition": {"kind": "sizes", "sizes": [10, 20, 30, 40]}})
    ended = hiermo("data", "show", "r.toml")
    assert "100 of the 200 training samples are nobody's" in ended.out
    assert "4.00 to 1" in ended.out


def test_a_shipped_recipe_and_a_name_that_is_no_file_name(hiermo, recipe, tmp_path):
    assert "mnist-5k divided by iid" in hiermo("data", "show", "quick/digits").out
    recipe(name="a/b c: d")
    assert hiermo("data", "show", "r.toml").out.endswith("picture: a-b-c-d-holdings.png\n")
    assert {path.name for path in tmp_path.glob("*.png")} == {"digits-holdings.png", "a-b-c-d-holdings.png"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "a.pdf"], "--out a.pdf: name a .png file in a folder that exists"),
        (["--out", "nowhere/a.png"], "--out nowhere/a.png: name a .png file in a folder that exists"),
        (["-s", "data.partition=natural"], "the partition natural needs to know whose each sample is"),
        (["-s", "tree.edges=200"], "r.toml: tree has 400 workers, more than the 200 samples of data.source"),
    ],
)
def test_refusals(hiermo, recipe, tmp_path, words, said):
    recipe()
    assert said in hiermo("data", "show", "r.toml", *words).error
    assert not list(tmp_path.glob("*.png"))


def test_it_needs_no_torch(recipe, tmp_path):
    recipe()
    code = (
        "import sys\nfrom hiermo.cli.app import main\n"
        "sys.argv = ['hiermo', 'data', 'show', 'r.toml']\n"
        "try:\n    main()\nfinally:\n    sys.stderr.write(str('torch' in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "False")
