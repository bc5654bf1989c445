"""The file of results: what is written is read again, and what is damaged is refused by its name."""

from dataclasses import replace
import json

from made_up import TABLE, made_up, study
import pytest

from hiermo.core.errors import UserError
from hiermo.reproduction.plan import Size
from hiermo.reproduction.reproduce import opened
from hiermo.reproduction.results import Result, Results, machines, read, write
from hiermo.reproduction.study import studies

EFFECTS = (("effect-of-tau", {("10, 2", "HierMo"): 97}), ("effect-of-pi", {}))
FULL = Result(
    of="0123456789abcdef",
    label="HierMo",
    seed=1,
    settings={"periods.tau": "10"},
    iterations=1000,
    accuracy=0.8923,
    train_accuracy=0.9,
    loss=0.25,
    simulated_seconds=12.5,
    bytes=4096,
    stopped_by="iterations",
    seconds=3.5,
    curve={"iteration": [500.0, 1000.0], "accuracy": [0.8, 0.8923]},
    draws=[12.5, 13.5],
    free_draws=[11.5],
    model_sha256="ab",
    about={"date": "2025-01-02", "hiermo": "1.0", "torch": "2.5", "cpu": "a processor", "commit": "abc"},
)
BARE = Result(of="f", label="FedAvg", seed=0, accuracy=0.0)  # a zero is a value, not a gap
BROKEN = Result(of="e", label="Mime", seed=0, error="the loss is not finite")


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "deeper" / "r.json"
    results = Results({run.of: run for run in (FULL, BARE, BROKEN)}, {"chosen": [[10, 2]], "tuned": {"400": {}}})
    write(path, "made-up", results)
    assert read(path) == results
    assert list(read(path).runs) == list(results.runs)


def test_a_run_of_a_study_that_varies_nothing_is_read_again(tmp_path):
    write(tmp_path / "r.json", "made-up", Results({"f": BARE}))
    assert read(tmp_path / "r.json").runs["f"].settings == {}


def test_every_run_has_a_line_of_its_own(tmp_path):
    write(tmp_path / "r.json", "made-up", Results({"a": FULL, "b": BARE}))
    lines = (tmp_path / "r.json").read_text().splitlines()
    assert [line.count('"label"') for line in lines] == [0, 1, 1, 0]
    assert json.loads(lines[2])["accuracy"] == 0.0
    assert "draws" not in lines[2]  # what is empty is left out


def test_nothing_is_written_and_read_as_well(tmp_path):
    write(tmp_path / "r.json", "made-up", Results())
    assert read(tmp_path / "r.json") == Results()


def test_a_missing_file_is_empty(tmp_path):
    assert read(tmp_path / "none.json") == Results()


def written(path):
    write(path, "made-up", Results({"a": FULL}))
    return path.read_text()


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "null",
        lambda text: text.replace('"format": 1', '"form": 1'),
        lambda text: text.replace('"runs"', '"ruins"'),
        lambda text: text.replace('"loss"', '"losses"'),
        lambda text: text.replace('"label": "HierMo", ', ""),
        lambda text: '{"format": 1, "runs": [3]}',
        lambda text: '{"format": 1, "runs": null}',
        lambda text: "[" * 100_000,
    ],
)
def test_a_damaged_file_is_refused_by_its_name(tmp_path, harm):
    path = tmp_path / "r.json"
    text = written(path)
    path.write_text(harm(text))
    assert path.read_text() != text
    with pytest.raises(UserError) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: damaged: ")


def test_bytes_that_are_no_text_are_refused_by_their_name(tmp_path):
    (tmp_path / "r.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="damaged") as refused:
        read(tmp_path / "r.json")
    assert str(refused.value).startswith(str(tmp_path / "r.json"))


def test_another_format_is_refused_with_both_numbers(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(written(path).replace('"format": 1', '"format": 2'))
    with pytest.raises(UserError) as refused:
        read(path)
    assert str(refused.value) == f"{path}: has format 2, and this version of hiermo reads 1"


def test_an_unknown_key_is_named(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(written(path).replace('"loss"', '"losses"'))
    with pytest.raises(UserError, match="losses"):
        read(path)


def test_results_of_a_plan_come_in_its_order_and_without_what_is_not_run():
    of = made_up(study(), {"FedAvg": 87, "HierMo": 89})
    turned = Results(dict(reversed(of.results.runs.items())) | {"another": FULL})
    assert [run.label for run in replace(of, results=turned).found] == ["HierMo", "FedAvg"]
    assert len(of.missing) == len(of.planned) - 2


def test_a_study_is_opened_with_what_its_file_knows(tmp_path):
    it = study()
    of = made_up(it, {"HierMo": 89}, Size(scale=0.1))
    write(tmp_path / "made-up-scale-0.1.json", it.name, of.results)
    assert [run.label for run in opened(it, Size(scale=0.1), tmp_path).found] == ["HierMo"]
    full = opened(it, Size(), tmp_path)  # another size has another file
    assert full.found == []
    assert full.path == tmp_path / "made-up.json"


def test_results_of_another_recipe_are_not_taken_for_those_of_this_one(tmp_path):
    write(tmp_path / "made-up.json", "made-up", made_up(study(recipe=TABLE), {"HierMo": 89}).results)
    assert opened(study(recipe="paper/linear-mnist"), Size(), tmp_path).found == []
    assert len(opened(study(recipe=TABLE), Size(), tmp_path).found) == 1


def test_what_another_study_made_is_not_made_again(tmp_path):
    """The effects of tau and of pi have a pair of periods in common, under other names of cells."""
    tau, pi = (replace(made_up(studies()[name], reached), path=tmp_path / f"{name}.json") for name, reached in EFFECTS)
    write(tau.path, tau.study.name, tau.results)
    pi.adopt()
    assert [(run.settings, run.accuracy) for run in pi.found] == [({"periods.tau": "10", "periods.pi": "2"}, 0.97)]
    assert read(pi.path) == pi.results


def test_a_chosen_pair_that_the_file_knows_is_planned(tmp_path):
    it = study(together=("periods.tau=10,20", "periods.pi=2,2"), recipe="paper/hieropt-cnn", budgets=(400.0,))
    write(tmp_path / "made-up.json", it.name, Results({}, {"chosen": [[50, 4]]}))
    assert opened(it, Size(), tmp_path).planned[-1].recipe.periods == (50, 4)


def test_a_note_is_kept_beside_the_runs(tmp_path):
    of = replace(made_up(study(), {"HierMo": 89}), path=tmp_path / "r.json")
    of.note(chosen=[[10, 2]])
    of.note(tuned={"400": {"periods": [10, 2]}})
    assert read(of.path) == of.results
    assert of.results.extra == {"chosen": [[10, 2]], "tuned": {"400": {"periods": [10, 2]}}}
    assert len(of.found) == 1


def test_machines_are_told_once_with_their_days_and_commits():
    later = replace(FULL, about={**FULL.about, "date": "2025-01-04", "commit": "def"})
    other = replace(FULL, about={**FULL.about, "torch": "2.6"})
    assert machines([FULL, later, FULL, other]) == [
        "2025-01-02 to 2025-01-04, hiermo 1.0, torch 2.5, a processor, commit abc, def",
        "2025-01-02, hiermo 1.0, torch 2.6, a processor, commit abc",
    ]
