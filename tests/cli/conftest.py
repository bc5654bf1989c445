"""`hiermo` as a function: in this process, through the real `main`, with its exit code and what it wrote."""

from collections.abc import Callable
import json
from pathlib import Path
import sys
from typing import Any, NamedTuple
import warnings

import pytest
import tomli_w

from cli.tiny_recipe import tiny
from hiermo.cli.app import main
from hiermo.report import curves


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def runs(self) -> list[dict[str, Any]]:
        assert self.code == 0, self.err
        return json.loads(self.out)["runs"]

    @property
    def errors(self) -> list[str]:
        """The sentences of a refusal."""
        assert self.code == 2, (self.code, self.out, self.err)
        assert "Traceback" not in self.err
        found = [line.removeprefix("error: ") for line in self.err.splitlines() if line.startswith("error: ")]
        assert found, self.err
        return found

    @property
    def error(self) -> str:
        (sentence,) = self.errors
        assert not self.out
        return sentence


@pytest.fixture
def hiermo(capsys, monkeypatch, tmp_path) -> Callable[..., Ended]:
    """Calls the command line, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own

    def call(*words: object, warns: bool = False, picture: bool = False) -> Ended:
        with pytest.raises(SystemExit) as ended, monkeypatch.context() as patch, warnings.catch_warnings():
            patch.setattr(sys, "argv", ["hiermo", *map(str, words)])
            if not picture:  # drawing takes longer than training here
                patch.setattr(curves, "draw_accuracy", lambda directories, path: path)
            if warns:
                warnings.simplefilter("default")
            main()
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return call


@pytest.fixture
def recipe(tmp_path) -> Callable[..., Path]:
    """Writes a tiny recipe with some tables changed."""

    def write(file: str = "r.toml", /, **tables: Any) -> Path:
        path = tmp_path / file
        path.write_text(tomli_w.dumps(tiny(**tables)), encoding="utf-8")
        return path

    return write


class Bits(NamedTuple):
    """All of a run that must not depend on how it was run: everything but the wall clock."""

    metrics: list[dict[str, Any]]
    result: dict[str, Any]


WALL_CLOCK = ("seconds", "run_dir", "started", "finished")


def without_clock(run: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in run.items() if key not in WALL_CLOCK}


@pytest.fixture
def bits() -> Callable[[Path], Bits]:
    def read(run: Path) -> Bits:
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return Bits(
            [without_clock(line) for line in lines], without_clock(json.loads((run / "result.json").read_text()))
        )

    return read
