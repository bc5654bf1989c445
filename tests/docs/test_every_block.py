"""Every block of code of every page is run, in the order of the page and in a folder of its own.

The rules are in CONTRIBUTING.md, "What is written is run".
"""

from collections.abc import Callable
import json
import os
from pathlib import Path
import re
import sys
import tomllib
from types import ModuleType
from unittest.mock import patch
import warnings

from page_blocks import PAGES, Block, blocks, name_of
from page_commands import run_line
from page_props import put
import pytest

from hiermo.experiment.recipe import KEYS, parse

USUAL = {
    "data": "mnist-5k",
    "model": "logistic",
    "tree": {"edges": 2, "workers_per_edge": 5},
    "train": {"iterations": 20},
    "algorithm": "HierMo",
}


def run_python(text: str, folder: Path, script: ModuleType) -> None:
    put(folder, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ours, for people; all others are errors
        exec(compile(text, "<page>", "exec"), vars(script))


def run_sh(text: str, folder: Path, script: ModuleType) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        run_line(line, folder)


def read_recipe(text: str, folder: Path, script: ModuleType) -> None:
    """A whole recipe, or part of one."""
    put(folder, text)
    table = tomllib.loads(text)
    assert set(table) & set(KEYS), "not a recipe"
    parse({**USUAL, **table}, folders=(folder,))


def read_json(text: str, folder: Path, script: ModuleType) -> None:
    json.loads(text)


RULES: dict[str, Callable[[str, Path, ModuleType], None]] = {
    "python": run_python,
    "sh": run_sh,
    "toml": read_recipe,
    "json": read_json,
}
FREE = {"text", "bibtex", "python.peer"}  # the last are run by test_coming_from.py, with what they need
FILE_NAME = re.compile(r"# ([\w-]+\.(?:py|toml))\n")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_has_a_rule(page):
    for block in blocks(page):
        assert block.language in {*RULES, *FREE}, f"{name_of(page)}, line {block.line}: '{block.language}'"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A module that all Python of a page is in, as if pasted into one file of an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    made = ModuleType("pasted")
    monkeypatch.setitem(sys.modules, "pasted", made)
    with patch.dict(os.environ):  # a page may export
        yield made
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", [p for p in PAGES if {each.language for each in blocks(p)} & set(RULES)], ids=name_of)
def test_its_blocks_run(page, script, tmp_path):
    for block in blocks(page):
        if block.language in RULES:
            try:
                run_block(block, tmp_path, script)
            except BaseException as error:
                error.add_note(f"{name_of(page)}, line {block.line}")
                raise


def run_block(block: Block, folder: Path, script: ModuleType) -> None:
    if named := FILE_NAME.match(block.text):
        (folder / named[1]).write_text(block.text)
    RULES[block.language](block.text, folder, script)
