"""docs/models.md: every model is in its table, with the number of parameters that it has."""

from pathlib import Path
import re

import pytest
import torch

import hiermo
from hiermo.models import MODELS

PAGE = (Path(__file__).parents[3] / "docs/models.md").read_text()
ROWS = dict(re.findall(r"^\| `([\w-]+)` \|(.*)$", PAGE, flags=re.MULTILINE))


def test_all_of_them():
    assert list(ROWS) == list(MODELS.builtin)


@pytest.mark.parametrize("name", ROWS)
def test_the_number_of_parameters(name):
    told = re.findall(r"([\d,]+) \((\d+)x(\d+)(?:x(\d+))?, (\d+) classes\)", ROWS[name])
    assert told
    for parameters, a, b, channels, classes in told:
        shape = (int(channels), int(a), int(b)) if channels else (int(a), int(b))
        with torch.device("meta"):
            model = hiermo.make_model(name, shape=shape, classes=int(classes))()
        assert f"{sum(p.numel() for p in model.parameters()):,}" == parameters
