"""What docs/export.md shows is what the commands print, and it works where hiermo is not installed."""

from pathlib import Path
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from hiermo.cli.app import app
from hiermo.experiment.loading_lines import loading_lines
from hiermo.experiment.part import Part

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/export.md").read_text()
CHECK = """
import torch
from safetensors import safe_open
with safe_open("{file}", "pt") as file:
    assert file.metadata()["iterations"] == "20"
assert model(torch.zeros(3, 1, 28, 28)).shape == (3, 10)
assert not model.training
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The examples, and the working directory."""
    for name in ("own_model.py", "own_model.toml"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own_model", None)


def call(line):
    program, *words = shlex.split(line)
    assert program == "hiermo"
    short = ["-s", "train.iterations=20"] if words[0] == "run" else []  # the page's own would take half a minute
    ended = CliRunner().invoke(app, [*words, *short])
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def test_the_page(folder):
    commands, shown = blocks("sh")[:2], blocks("python")[:2]
    script = ["import sys", "sys.modules['hiermo'] = None"]
    for lines, code in zip(commands, shown, strict=True):
        *_, printed = map(call, lines.splitlines())
        assert printed.partition("; load it with\n\n")[2] == code
        script += [code, CHECK.format(file=re.search(r'load_file\("(.*?)"\)', code)[1])]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(script)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_lines_for_onnx():
    _, shown, metadata = blocks("python")[2:]
    seen = {"divided_by": 255}
    assert shown == loading_lines(Path("model.onnx"), Part("own_model:Net", None), None, (1, 28, 28), 10, seen) + "\n"
    assert "file.metadata()" in metadata
