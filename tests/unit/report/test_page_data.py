"""What the page is made of: out of real runs, out of damaged and hostile ones, and never too much of it."""

import json
import math
import shutil
import sys

import pytest
import tomli_w

from hiermo.experiment.recipe_file import read
from hiermo.experiment.store import Found, find_runs, read_run
from hiermo.report.page.html import json_for_html, policy, report_page
from hiermo.report.page.page_data import page_data
from hiermo.report.page.tree_data import delays_of, tree_data, tree_of
from hiermo.report.page.tunings import bound_map, tunings_of, verified_cells
from page_stores import HOSTILE, TWO, hostile, run_folders, trained


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("page") / "store", algorithm=TWO, evaluate={"train": True})


def data_of(path, **options):
    found = find_runs([path])
    return page_data(found, tunings_of(found), **options)


def test_series_carry_every_evaluation_of_their_runs(store):
    (experiment,) = data_of(store)["experiments"]
    assert [each["name"] for each in experiment["series"]] == ["HierFAVG", "HierMo"]
    run = read_run(store / "s0" / "HierMo")
    points = experiment["series"][1]["runs"][0]["points"]
    assert points["iteration"] == [line["iteration"] for line in run.evaluations]
    for name in ("accuracy", "loss", "train_accuracy", "simulated_seconds", "bytes"):  # rounded to five digits
        assert points[name] == pytest.approx([line[name] for line in run.evaluations], rel=5e-5)
    assert experiment["metrics"][0]["key"] == "accuracy"


def test_the_table_has_mean_deviation_and_the_best(store):
    (experiment,) = data_of(store)["experiments"]
    ends = [read_run(store / f"s{seed}" / "HierMo").result["accuracy"] for seed in (0, 1)]
    rows = {row["name"]: row["cells"]["accuracy"] for row in experiment["table"]["rows"]}
    assert rows["HierMo"]["mean"] == pytest.approx(sum(ends) / 2, rel=1e-6)
    assert rows["HierMo"]["deviation"] == pytest.approx(abs(ends[0] - ends[1]) / math.sqrt(2), rel=1e-3)
    best = max(rows, key=lambda name: rows[name]["mean"])
    assert rows[best]["best"]


def test_the_paragraph_says_what_was_run(store):
    words = data_of(store)["experiments"][0]["words"]
    for part in (
        "HierFAVG and HierMo train logistic",
        "on synthetic, divided iid among 4 workers under 2 edges",
        "tau = 2, pi = 2; 40 iterations",
        "batches of 8",
        "2 seeds (0 and 1)",
        "4 runs: 4 finished",
    ):
        assert part in words, words


def test_other_data_is_another_experiment(store, tmp_path):
    shutil.copytree(store, tmp_path / "both" / "a")
    trained(tmp_path / "both" / "b", seeds=(0,), data={"noise": 2.0})
    first, second = data_of(tmp_path / "both")["experiments"]
    assert first["id"] == data_of(store)["experiments"][0]["id"] != second["id"]
    assert [len(each["runs"]) for each in (first, second)] == [4, 1]


def test_holdings_and_tree(store):
    (experiment,) = data_of(store)["experiments"]
    held = json.loads((store / "s0" / "HierMo" / "holdings.json").read_text())
    shown = experiment["holdings"]["shown"]
    assert len(shown) == 2  # each seed divides anew
    workers = [row["counts"] for row in shown[0]["rows"] if row["kind"] == "worker"]
    assert workers == held["counts"]
    assert [child["name"] for child in experiment["tree"]["root"]["children"]] == ["edge 0", "edge 1"]


def test_a_run_without_holdings_says_so(store, tmp_path):
    run = tmp_path / "old"
    shutil.copytree(store / "s0" / "HierMo", run)
    (run / "holdings.json").unlink()
    assert "No holdings.json" in data_of(run)["experiments"][0]["holdings"]["note"]


def test_delays_of_links_are_latency_and_bytes(store, tmp_path):
    run = tmp_path / "timed"
    shutil.copytree(store / "s0" / "HierMo", run)
    recipe = read(run / "recipe.toml")
    recipe["delays"] = {
        "theta_w": 0.25,
        "phi_w2e": {"latency_s": 0.5, "up_bandwidth": 1000.0, "down_bandwidth": 2000.0},
    }
    (run / "recipe.toml").write_text(tomli_w.dumps(recipe))
    found = read_run(run)
    told = tree_data(found, tree_of(found.recipe))
    size = told["message_bytes"]
    assert size == 4 * found.result["parameters"]
    worker = told["root"]["children"][0]["children"][0]
    assert worker["compute_s"] == 0.25
    assert worker["up_s"] == pytest.approx(0.5 + size / 1000, rel=5e-3)  # shown with three digits
    assert worker["down_s"] == pytest.approx(0.5 + size / 2000, rel=5e-3)


def test_a_large_tree_is_summed_up():
    tree = tree_of({"tree": {"edges": 50, "workers_per_edge": 100}})
    assert tree.n_workers == 5000
    assert tree_of({"tree": {"edges": 10**9, "workers_per_edge": 10**9}}) is None
    assert tree_of({"tree": "none"}) is None


def test_a_trace_elsewhere_is_not_opened(store, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("node,what,seconds\nworker,compute,1\n")
    for k, name in enumerate((str(secret), "../secret.csv", "delays.csv")):
        run = tmp_path / f"run{k}"
        shutil.copytree(store / "s0" / "HierMo", run)
        (run / "delays.csv").symlink_to(secret)
        recipe = read(run / "recipe.toml")
        recipe["delays"] = {"trace": name}
        (run / "recipe.toml").write_text(tomli_w.dumps(recipe))
        assert delays_of(read_run(run)) is None


def test_code_that_a_recipe_names_is_not_imported(store, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(store / "s0" / "HierMo", run)
    (tmp_path / "trap_for_reports.py").write_text("raise SystemExit('imported')")
    recipe = read(run / "recipe.toml")
    recipe["algorithm"]["name"] = recipe["data"]["source"] = recipe["model"]["name"] = "trap_for_reports:Trap"
    recipe["import_from"] = [str(tmp_path)]
    (run / "recipe.toml").write_text(tomli_w.dumps(recipe))
    data = data_of(run)
    assert data["not_ours"] == ["trap_for_reports:Trap"] * 2
    assert "trap_for_reports" not in sys.modules


def test_damaged_runs_are_named_and_the_others_shown(store, tmp_path):
    shutil.copytree(store, tmp_path / "s")
    runs = run_folders(tmp_path / "s")
    (runs[0] / "metrics.jsonl").write_text("no json\n")
    (runs[1] / "provenance.json").write_text('{"format": 1, "starts": [3]}')
    data = data_of(tmp_path / "s")
    assert len(data["unreadable"]) == 2
    assert len(data["experiments"][0]["runs"]) == 2


@pytest.mark.parametrize(
    "name, value",
    [("accuracy", "much"), ("loss", float("nan")), ("bytes", 10**400), ("iteration", None), ("accuracy", [1, 2])],
)
def test_numbers_that_are_none_do_not_break_the_page(store, tmp_path, name, value):
    run = tmp_path / "run"
    shutil.copytree(store / "s0" / "HierMo", run)
    header, *lines = (json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines())
    lines[-1][name] = value
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps({**result, name: value}))
    json.dumps(data_of(run), allow_nan=False)


def test_names_stay_data(store, tmp_path):
    """None of them can end the element that holds the data, or begin another, or be a template."""
    hostile(tmp_path / "h", store)
    page = report_page(find_runs([tmp_path / "h"]), title=HOSTILE[1], until={"accuracy": 0.5})
    body = page.partition("<body>")[2]
    assert body.count("<script") == 3 and body.lower().count("</script") == 3
    assert "<img" not in page.partition("</style>")[2].partition('<script type="application/json"')[0]
    embedded = body.partition('id="data">')[2].partition("</script>")[0]
    assert not set("<>&\u2028\u2029") & set(embedded)
    told = json.dumps(json.loads(embedded)["experiments"], ensure_ascii=False)
    assert "{{7*7}}" in told and "49" not in page.partition("<title>")[2].partition("</title>")[0]


def test_the_policy_allows_only_what_is_inside():
    told = policy(["a"], served=False)
    assert "default-src 'none'" in told and "connect-src 'none'" in told
    scripts = next(each for each in told.split(";") if "script-src" in each)
    assert scripts.strip() == "script-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='"  # sha256 of "a"


def test_a_page_of_many_long_runs_is_thinned_below_the_limit(store, tmp_path):
    run = read_run(store / "s0" / "HierMo")
    lines = [{**run.evaluations[0], "iteration": t, "cloud_round": t, "loss": 1 / t} for t in range(1, 3001)]
    many = []
    for seed in range(60):
        recipe = {**run.recipe, "train": {**run.recipe["train"], "seed": seed}}
        many.append(type(run)(run.directory, recipe, run.result, None, lines, run.starts))
    data = page_data(Found(many, []))
    assert data["thinned"] > 1
    points = data["experiments"][0]["series"][0]["runs"][0]["points"]
    assert points["iteration"][0] == 1 and points["iteration"][-1] == 3000
    assert len(report_page(Found(many, [])).encode()) < 6_000_000


def test_of_very_many_series_the_best_are_kept(store):
    run = read_run(store / "s0" / "HierMo")
    many = []
    for k in range(1500):
        recipe = {**run.recipe, "algorithm": {**run.recipe["algorithm"], "eta": 1 / (k + 1)}}
        result = {**run.result, "accuracy": k / 1500}
        many.append(type(run)(run.directory, recipe, result, None, run.evaluations, run.starts))
    (experiment,) = page_data(Found(many, []))["experiments"]
    assert experiment["all_series"] == 1500 and len(experiment["table"]["rows"]) == 240
    kept = [row["cells"]["accuracy"]["mean"] for row in experiment["table"]["rows"]]
    assert min(kept) == pytest.approx(1260 / 1500, rel=1e-6)
    assert len(report_page(Found(many, [])).encode()) < 6_000_000


def test_nothing_at_all_is_a_page_too():
    data = page_data(Found([], []))
    assert data["experiments"] == [] and "no run" in data["words"]


def test_json_for_html_is_json():
    assert json.loads(json_for_html({"a": "</script>\u2028&"})) == {"a": "</script>\u2028&"}


def test_published_numbers_are_told_with_what_differs(store, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(store / "s0" / "HierMo", run)
    recipe = read(run / "recipe.toml")
    recipe["data"] = {"source": "mnist", "partition": {"kind": "iid"}}
    (run / "recipe.toml").write_text(tomli_w.dumps(recipe))
    (row,) = data_of(run)["experiments"][0]["published"]["rows"]
    assert row["published"] == 89.23
    assert row["measured"] == pytest.approx(100 * read_run(run).result["accuracy"], abs=0.005)
    assert "train.iterations 40 instead of 1000" in row["differs"]


def test_a_sweep_over_periods_is_a_heat_map(tmp_path):
    for tau in (1, 2):
        for pi in (1, 2):
            trained(tmp_path / f"t{tau}p{pi}", seeds=(0,), periods={"tau": tau, "pi": pi})
    (experiment,) = data_of(tmp_path)["experiments"]
    (heat,) = experiment["heat"]
    assert (heat["taus"], heat["pis"]) == ([1, 2], [1, 2])
    for i, tau in enumerate((1, 2)):
        for j, pi in enumerate((1, 2)):
            reached = read_run(tmp_path / f"t{tau}p{pi}" / "s0").result["accuracy"]
            assert heat["z"][j][i] == pytest.approx(100 * reached, rel=1e-4)


def test_sweeps_of_one_label_are_told_apart_and_one_period_alone_is_no_map(tmp_path):
    for gamma in (0.1, 0.9):
        algorithm = {"name": "HierMo", "gamma": gamma}
        for tau, pi in ((1, 1), (2, 1), (1, 2)):
            periods = {"tau": tau, "pi": pi}
            trained(tmp_path / f"s/g{gamma}t{tau}p{pi}", seeds=(0,), periods=periods, algorithm=algorithm)
    (experiment,) = data_of(tmp_path / "s")["experiments"]
    assert [heat["title"] for heat in experiment["heat"]] == [
        f"HierMo gamma={gamma}: test accuracy that was reached" for gamma in (0.1, 0.9)
    ]
    for tau in (1, 2):
        trained(tmp_path / f"t/t{tau}", seeds=(0,), periods={"tau": tau, "pi": 1})
    (experiment,) = data_of(tmp_path / "t")["experiments"]
    assert experiment["heat"] == []


def test_tunings_that_are_none_are_passed_over(tmp_path):
    for k, text in enumerate(("{}", "[", '{"periods": "2"}', '{"periods": [3, 2], "map": 5, "verified": []}')):
        folder = tmp_path / f"t{k}"
        folder.mkdir()
        (folder / "tuning.json").write_text(text)
        (folder / "tuned.toml").write_text('model = "cnn"\n')
    (found,) = tunings_of(find_runs([tmp_path]))
    assert bound_map(found) is None and verified_cells(found) is None
