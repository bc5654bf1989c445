"""Writing aside and renaming: the old file or the new one, never a half."""

import json
import os
from pathlib import Path

import pytest

from hiermo.core.files import write_atomically, write_json, write_text


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_it_writes_and_leaves_nothing_beside(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"x": 1})
    write_json(path, {"x": 2})
    assert json.loads(path.read_text()) == {"x": 2}
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def half(side):
        side.write_text("ne")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, half)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_rename_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def refuse(self, target):
        raise PermissionError("in use")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError):
        write_text(path, "new")
    assert path.read_text() == "old"


def test_what_a_kill_left_beside_is_overwritten(tmp_path):
    (tmp_path / ".a.txt.part").write_text("half of something much longer")
    write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


def test_the_file_is_durable_before_it_has_its_name(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("fsync"), fsync(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, target: (order.append("rename"), replace(self, target))[1])
    write_text(tmp_path / "a.txt", "new")
    assert order == ["fsync", "rename", "fsync"]
