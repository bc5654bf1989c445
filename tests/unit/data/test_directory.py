"""Where data sets are looked for."""

from pathlib import Path

import platformdirs
import pytest

from hiermo.data.directory import data_directory


def test_the_variable_wins(monkeypatch, tmp_path):
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path))
    assert data_directory() == tmp_path


def test_a_tilde_is_the_home(monkeypatch):
    monkeypatch.setenv("HIERMO_DATA", "~/data")
    assert data_directory() == Path.home() / "data"


@pytest.mark.parametrize("value", [None, ""])
def test_else_the_cache(monkeypatch, value):
    monkeypatch.delenv("HIERMO_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("HIERMO_DATA", value)
    assert data_directory() == platformdirs.user_cache_path("hiermo")
