"""Every study of the paper, made very small, from its plan to its page: so that none rots."""

from dataclasses import replace
import os

import pytest

from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.run_directory import create
from hiermo.experiment.train import train
from hiermo.reproduction.claims import claims_of
from hiermo.reproduction.figures import draw
from hiermo.reproduction.page import page
from hiermo.reproduction.plan import Size
from hiermo.reproduction.reproduce import opened
from hiermo.reproduction.study import studies

FULL = [
    pytest.mark.real_data,
    pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set"),
]
STEPS = 2  # iterations; where one of them takes a second, one
SECONDS = 0.4  # simulated, of studies under a time budget
MANY = 16  # workers
FEW = ("tree.edges=2", "tree.workers_per_edge=1")  # of deep networks: what takes long with them is memory


def marked(study):
    return pytest.param(study, marks=[] if study.recipe.startswith("quick/") else FULL, id=study.name)


def is_long(study):
    recipe = recipe_file.load(study.recipe)
    return study.heavy or bool(study.budgets) or (recipe.model.name == "cnn" and recipe.tree.build().n_workers > MANY)


def chosen(of):
    """The first algorithm with the first value of what is varied, the last with the last: others run elsewhere."""
    several = (of.planned[0],) if is_long(of.study) else (of.planned[0], of.planned[-1])
    return list({run.of: run for run in several}.values())


@pytest.mark.filterwarnings("ignore:HierMo.form='position'. is unstable")
@pytest.mark.filterwarnings("ignore:no worker holds class")
@pytest.mark.parametrize("study", [marked(study) for study in studies().values()])
def test_it_runs_from_plan_to_page(study, tmp_path):
    if study.heavy:
        study = replace(study, settings=(*study.settings, *FEW))
    whole = recipe_file.load(study.recipe).train.iterations
    scale = max(0.0001, SECONDS / max(study.budgets) if study.budgets else (1 if is_long(study) else STEPS) / whole)
    of = opened(study, Size(scale=scale, seeds=1), tmp_path)
    runs = chosen(of)
    problems = {}
    for run in runs:
        key = (str(run.recipe.tree), str(run.recipe.partition))
        problem = problems.setdefault(key, problem_of(run.recipe))
        (directory,) = create(of.directory(run).path, run.recipe)
        for _ in train(directory, run.recipe, problem):
            pass
    of.take(runs)
    assert len(of.found) == len(runs)
    assert all(run.error is None and run.iterations > 0 for run in of.found)
    again = opened(study, of.size, tmp_path)  # as the file has it
    assert again.found == of.found
    assert [claim.says for claim in claims_of(again)] or not study.claims
    picture = draw(again, tmp_path / "figure.png")
    assert picture.stat().st_size > 5000
    text = page(again, picture)
    assert all(word in text for word in (study.title, f"hiermo reproduce {study.name} --scale {scale:g}"))
