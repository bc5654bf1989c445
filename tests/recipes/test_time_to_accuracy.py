"""The paper's comparison of times, reduced: logistic regression on 5000 digits, target 0.87, all ten algorithms."""

import json

from hiermo.clock.delays import load_delays
from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.retime import retime
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import train
from hiermo.report.time_to import draw_times, saving, time_to


def test_hiermo_needs_less_time_than_all_but_domo(tmp_path):
    """HierMo and DOMO have four times the effective step of FedAvg; the others, with two and one, need more rounds."""
    recipe = recipe_file.load("quick/time-to-accuracy")
    problem = problem_of(recipe)
    found = []
    for directory in create(tmp_path / "o", recipe):
        for _ in train(directory, directory.recipe(), problem):
            pass
        assert directory.result()["stopped_by"] == "until"
        found += retime(directory, load_delays("paper"), range(3))
    reached = time_to(found, {"train_accuracy": 0.87})
    assert len(reached) == 10 and all(each.seconds for each in reached)
    assert [each.tried for each in reached if each.label == "CFL"] == [1]  # its course depends on its delays
    savings = {each.label: saving(reached, each) for each in reached}
    assert savings.pop("HierMo") is None
    assert abs(savings.pop("DOMO")) < 0.15
    # 21 to 70 % in the paper, with a CNN on its own devices; here 33 to 70 % were measured, less some slack
    assert all(0.2 < share < 0.8 for share in savings.values()), savings
    path = draw_times(reached, {"train_accuracy": 0.87}, "paper", tmp_path / "bars.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert json.dumps([each.json() for each in reached])
