"""`hiermo run --delays`, `retime` and `forecast`: seconds and bytes, on real run directories."""

import json

import pytest

# tau = 2, pi = 2, 40 iterations: 10 cloud rounds
CONSTANT = {"theta_w": 1.0, "theta_e": 0.5, "theta_c": 0.25, "phi_w2e": 2.0, "phi_e2c": 16.0, "phi_w2c": 32.0}
ROUND = 4 * 1.0 + 2 * (0.5 + 2.0) + 0.25 + 16.0
TWO_TIER_ROUND = 4 * 1.0 + 0.25 + 32.0
D = 210  # parameters of the tiny model


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return name

    return write


def toml(table):
    return "\n".join(f"{key} = {value}" for key, value in table.items()) + "\n"


def test_a_run_tells_seconds_and_bytes_of_its_delays(hiermo, recipe, file, tmp_path):
    path = recipe(tree={"flatten": True}, algorithm=[{"name": "HierMo"}, {"name": "HierFAVG"}, {"name": "FedAvg"}])
    ours, plain, flat = hiermo("run", path, "--delays", file("d.toml", toml(CONSTANT)), "--out", "o", "--json").runs
    assert [run["simulated_seconds"] for run in (ours, plain, flat)] == [10 * ROUND, 10 * ROUND, 10 * TWO_TIER_ROUND]
    vectors = 4 * D * 10  # bytes of one vector in every cloud round
    assert plain["bytes_per_link"] == {"worker-edge": vectors * 2 * 2 * 4, "edge-cloud": vectors * 2 * 2}
    assert ours["bytes_per_link"] == {name: 2 * sent for name, sent in plain["bytes_per_link"].items()}
    assert flat["bytes_per_link"] == {"worker-cloud": vectors * 2 * 4}
    assert ours["bytes"] == sum(ours["bytes_per_link"].values())
    assert {run["delays"] for run in (ours, plain, flat)} == {"d.toml"}
    lines = [json.loads(line) for line in (tmp_path / "o/FedAvg/metrics.jsonl").read_text().splitlines()[1:]]
    assert [line["simulated_seconds"] for line in lines] == [k * TWO_TIER_ROUND for k in range(1, 11)]
    assert [line["bytes"] for line in lines] == [k * flat["bytes"] // 10 for k in range(1, 11)]


def test_delays_of_the_option_go_before_those_of_the_recipe_and_the_paper_comes_last(hiermo, recipe, file):
    own = recipe("own.toml", delays={"theta_w": 2.0})
    assert hiermo("run", own, "--out", "a", "--json").runs[0]["simulated_seconds"] == 80
    (run,) = hiermo("run", own, "--out", "b", "--json", "--delays", file("d.toml", toml(CONSTANT))).runs
    assert run["simulated_seconds"] == 10 * ROUND
    (run,) = hiermo("run", recipe(), "--out", "c", "--json").runs
    assert "'paper'" in run["delays"] and "estimates" in run["delays"] and run["simulated_seconds"] > 0
    assert "'paper'" in hiermo("run", recipe(), "--out", "e").out


def test_a_run_stops_when_its_simulated_time_is_up(hiermo, recipe, file):
    path = recipe(train={"until": {"simulated_seconds": 3.5 * ROUND}}, delays=CONSTANT)
    (run,) = hiermo("run", path, "--out", "o", "--json").runs
    assert (run["stopped_by"], run["cloud_rounds"], run["simulated_seconds"]) == ("until", 4, 4 * ROUND)


def test_a_trace_drives_cfl_and_resumes_to_the_same_bits(hiermo, recipe, file, bits, tmp_path):
    rows = [f"worker {i},compute,{0.1 + 0.07 * i + 0.01 * k}" for i in range(4) for k in range(5)]
    trace = file("t.csv", "\n".join(["node,kind,seconds", *rows, "edge,up,0.4", "edge,down,0.3", ""]))
    path = recipe(algorithm={"name": "CFL"})
    hiermo("run", path, "--delays", trace, "--out", "a")
    hiermo("run", path, "--delays", trace, "--out", "b", "-s", "train.iterations=20")
    assert "no samples of theta_e, theta_c, phi_w2e" in json.loads((tmp_path / "b/result.json").read_text())["delays"]
    hiermo("resume", "b", "--iterations", "40")
    assert bits(tmp_path / "b") == bits(tmp_path / "a")
    arrived = [line["simulated_seconds"] for line in bits(tmp_path / "a").metrics[1:]]
    assert arrived == sorted(arrived)
    # worker 3 is more than twice as slow as worker 0: its edge arrives less often than the other
    steps = json.loads((tmp_path / "a/result.json").read_text())["iterations"]
    assert 40 <= steps < 44


def test_a_run_directory_keeps_its_trace(hiermo, recipe, file, tmp_path):
    """It may be moved, and the file that it came from may go."""
    trace = file("t.csv", "node,kind,seconds\nworker,compute,1\n")
    hiermo("run", recipe(), "--delays", trace, "--out", "o")
    (tmp_path / "t.csv").unlink()
    (tmp_path / "o").rename(tmp_path / "moved")
    for iterations in (80, 120):
        (run,) = hiermo("resume", "moved", "--iterations", iterations, "--json").runs
        assert run["simulated_seconds"] == iterations
        (tmp_path / "moved").rename(tmp_path / "again")
        (tmp_path / "again").rename(tmp_path / "moved")
    file("moved/delays.csv", "node,kind,seconds\nworker,compute,2\n")
    assert "delays.csv has changed since" in hiermo("resume", "moved", "--iterations", "160").error


def test_a_trace_of_ones_own_in_the_folder_of_a_run_is_not_written_over(hiermo, recipe, file, tmp_path):
    (tmp_path / "o").mkdir()
    trace = file("o/delays.csv", "node,kind,seconds\nworker,compute,1\n")
    assert "o holds a file delays.csv already" in hiermo("run", recipe(), "--delays", trace, "--out", "o").error
    refused = hiermo("run", recipe("wide.toml", tree={"workers_per_edge": 200}), "--delays", trace, "--out", "p")
    assert refused.code == 2 and not (tmp_path / "p").exists()  # what was copied is taken back


def test_a_finished_run_is_told_again_under_other_delays(hiermo, recipe, file, tmp_path):
    path = recipe(tree={"flatten": True}, algorithm=[{"name": "HierMo"}, {"name": "FedAvg"}])
    hiermo("run", path, "--out", "o")
    before = {each: each.read_bytes() for each in (tmp_path / "o").rglob("*") if each.is_file()}
    ended = hiermo("retime", "o", "--delays", file("d.toml", toml(CONSTANT)), "--json")
    told = json.loads(ended.out)
    ours, flat = told["runs"]
    assert (ours["mean_s"], flat["mean_s"]) == (10 * ROUND, 10 * TWO_TIER_ROUND)
    assert flat["saving"] == pytest.approx(1 - ROUND / TWO_TIER_ROUND) and ours["saving"] is None
    assert ours["deviation_s"] == 0 and ours["of"] == 10
    assert (tmp_path / told["picture"]).read_bytes().startswith(b"\x89PNG")
    assert {each: each.read_bytes() for each in before} == before  # the run itself is as it was
    shown = hiermo("retime", "o", "--delays", "d.toml").out
    assert "HierMo saves" in shown and "d.toml" in shown


def test_draws_of_random_delays_spread(hiermo, recipe, file):
    hiermo("run", recipe(), "--out", "o")
    spread = file("d.toml", 'theta_w = { kind = "gamma", mean = 1.0, cv = 0.5 }\n')
    (run,) = json.loads(hiermo("retime", "o", "--delays", spread, "--draws", "5", "--json").out)["runs"]
    assert run["least_s"] < run["mean_s"] < run["most_s"]
    # 40 iterations, of which the slowest of four workers counts: not below the mean, nor far above it
    assert 40 < run["mean_s"] < 80


def test_the_time_to_a_target(hiermo, recipe, file, tmp_path):
    hiermo("run", recipe(), "--out", "o")
    lines = [json.loads(line) for line in (tmp_path / "o/metrics.jsonl").read_text().splitlines()[1:]]
    target = lines[3]["accuracy"]
    first = next(k for k, line in enumerate(lines, start=1) if line["accuracy"] >= target)
    delays = file("d.toml", toml(CONSTANT))
    told = json.loads(hiermo("retime", "o", "--delays", delays, "--until", f"accuracy={target}", "--json").out)
    assert told["runs"][0]["mean_s"] == first * ROUND
    (never,) = json.loads(hiermo("retime", "o", "--delays", delays, "--until", "accuracy=2", "--json").out)["runs"]
    assert (never["reached"], never["of"]) == (0, 10)
    assert "not reached" in hiermo("retime", "o", "--delays", delays, "--until", "accuracy=2").out
    assert "has iteration, cloud_round" in hiermo("retime", "o", "--until", "speed=1").error
    assert "write METRIC=VALUE" in hiermo("retime", "o", "--until", "accuracy").error
    assert hiermo("retime", "nowhere").error == "there is no directory nowhere"
    assert "name a .png file" in hiermo("retime", "o", "--out", "bars.pdf").error


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"algorithm": {"name": "CFL"}}, "CFL goes by the time at which its edges arrive"),
        ({"absence": {"deadline_s": 3.0}}, "who is absent depends on the time"),
    ],
)
def test_what_depends_on_its_delays_is_not_told_under_others(hiermo, recipe, file, changes, why):
    path = recipe(delays=CONSTANT, **changes)
    (run,) = hiermo("run", path, "--out", "o", "--json").runs
    other = file("d.toml", "theta_w = 9.0\n")
    assert why in hiermo("retime", "o", "--delays", other).error
    (told,) = json.loads(hiermo("retime", "o", "--json").out)["runs"]  # its own are its own
    assert told["mean_s"] == run["simulated_seconds"]


def test_absence_by_chance_is_the_same_under_other_delays(hiermo, recipe, file):
    path = recipe(absence={"drop_out": 0.3}, delays={"theta_w": 1.0})
    (run,) = hiermo("run", path, "--out", "o", "--json").runs
    told = json.loads(hiermo("retime", "o", "--delays", file("d.toml", "theta_w = 3.0\n"), "--json").out)
    assert told["runs"][0]["mean_s"] == pytest.approx(3 * run["simulated_seconds"])
    assert told["runs"][0]["bytes"] == run["bytes"]


# by hand: 6 workers under 2 edges, tau = 2, pi = 2, a model of 210 float32 numbers
def test_a_forecast_is_what_one_computes_by_hand(hiermo, recipe, file):
    path = recipe(delays=CONSTANT)
    told = json.loads(hiermo("forecast", path, "--workers", "6", "--edges", "2", "--json").out)
    assert told["seconds_per_cloud_round"] == ROUND
    assert told["two_tier"]["seconds_per_cloud_round"] == TWO_TIER_ROUND
    message = 2 * D * 4  # HierMo: model and momentum
    assert told["bytes_per_cloud_round"] == {"worker-edge": 6 * 2 * 2 * message, "edge-cloud": 2 * 2 * message}
    assert told["two_tier"]["bytes_per_cloud_round"] == {"worker-cloud": 6 * 2 * message}
    assert (told["workers"], told["edges"], told["parameters"]) == (6, 2, D)


def test_a_forecast_with_bandwidths(hiermo, recipe, file):
    """Latency 1/8 s; a message of 1680 bytes at 3360 bytes per second takes half a second."""
    links = {name: {"latency_s": 0.125, "bandwidth": 3360} for name in ("phi_w2e", "phi_e2c", "phi_w2c")}
    told = json.loads(hiermo("forecast", recipe(delays=links), "--workers", "9", "--edges", "3", "--json").out)
    assert told["seconds_per_cloud_round"] == pytest.approx(2 * 2 * 0.625 + 2 * 0.625)
    assert told["two_tier"]["seconds_per_cloud_round"] == pytest.approx(2 * 0.625)
    links["phi_w2c"]["shared"] = True
    told = json.loads(hiermo("forecast", recipe(delays=links), "--workers", "9", "--edges", "3", "--json").out)
    # nine messages come down the cloud's line one after the other; who has his answers while the others wait
    assert told["two_tier"]["seconds_per_cloud_round"] == pytest.approx(9 * 0.5 + 0.125 + 0.125 + 0.5)


def test_a_forecast_of_many_workers_divides_no_data(hiermo, recipe):
    """More workers than there are samples."""
    told = json.loads(
        hiermo("forecast", recipe(), "--workers", "100000", "--edges", "70", "--rounds", "1", "--json").out
    )
    assert told["workers"] == 100_000
    assert told["bytes_per_cloud_round"]["worker-edge"] == 100_000 * 2 * 2 * 2 * D * 4
    assert 0 < told["seconds_per_cloud_round"] < told["two_tier"]["seconds_per_cloud_round"]


def test_a_forecast_of_all_algorithms(hiermo, recipe):
    path = recipe(tree={"flatten": True}, algorithm=[{"name": "FedAvg"}, {"name": "CFL"}, {"name": "Mime"}])
    told = json.loads(hiermo("forecast", path, "--all", "--rounds", "2", "--json").out)
    assert told["algorithm"] == "CFL" and "two_tier" not in told
    assert [each["label"] for each in told["algorithms"]] == ["FedAvg", "CFL", "Mime"]
    shown = hiermo("forecast", path, "--all", "--rounds", "2").out
    for word in ("FedAvg", "CFL", "Mime", "worker-edge", "worker-cloud", "'paper'"):
        assert word in shown


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--workers", "3", "--edges", "5"], "--workers 3: fewer than the 5 edges"),
        (["-s", "tree={workers = 4}", "-s", "periods=[4]"], "forecast compares three tiers with two"),
        (["-s", "algorithm=FedAvg", "-s", "tree.flatten=true"], "no algorithm of the recipe has edges"),
        (["--delays", "nowhere.csv"], "--delays nowhere.csv: there is no such file, nor a built-in profile"),
        (["-s", "delays.theta_w=-1"], "delays.theta_w must be"),
        (["-s", "absence.away=[{nodes = 'edge 7', seconds = [1, 2]}]"], "there is no edge 7"),
    ],
)
def test_what_cannot_be_foretold_is_a_sentence(hiermo, recipe, words, why):
    assert why in hiermo("forecast", recipe(), *words).error


def test_profiles_are_listed(hiermo):
    assert "paper" in hiermo("list", "delays").out and "(estimates)" in hiermo("list", "delays").out.replace("\n", " ")
