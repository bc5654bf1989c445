import sys

import pytest

from hiermo import HierMo, UserError
from hiermo.algorithms import ALGORITHMS
from hiermo.core.registry import Registry, import_path

COLOURS = Registry("colour", {"red": "hiermo.algorithms.hiermo:HierMo"})


def write(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_our_own_by_name():
    assert ALGORITHMS.get("HierMo") is HierMo


def test_every_built_in_algorithm_can_be_imported_under_its_own_name():
    assert [ALGORITHMS.get(name).__name__ for name in ALGORITHMS.builtin] == list(ALGORITHMS.builtin)


def test_import_path_beside_a_recipe(tmp_path):
    write(tmp_path, "beside_recipe.py", "class Mine: pass")
    assert COLOURS.get("beside_recipe:Mine", search=(tmp_path,)).__name__ == "Mine"


def test_the_folder_is_on_the_path_during_the_import_only(tmp_path):
    write(tmp_path, "looks_at_path.py", "import sys\nSEEN = list(sys.path)")
    before = list(sys.path)
    seen = import_path("looks_at_path:SEEN", (tmp_path,))
    assert str(tmp_path) in seen
    assert sys.path == before


def test_a_failing_import_leaves_the_path_as_it_was(tmp_path):
    before = list(sys.path)
    with pytest.raises(UserError):
        import_path("absent_module:Mine", (tmp_path,))
    assert sys.path == before


def test_module_in_a_package_beside_a_recipe(tmp_path):
    write(tmp_path, "own_package/__init__.py", "")
    write(tmp_path, "own_package/deep.py", "class Mine: pass")
    assert import_path("own_package.deep:Mine", (tmp_path,)).__module__ == "own_package.deep"


def test_unknown_module_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(UserError, match=r"'absent_module:Mine': there is no module 'absent_module'") as error:
        COLOURS.get("absent_module:Mine", search=(tmp_path,))
    assert str(tmp_path) in str(error.value)


def test_unknown_module_in_a_known_package():
    with pytest.raises(UserError, match=r"there is no module 'hiermo\.absent'"):
        import_path("hiermo.absent:Mine")


def test_unknown_attribute_with_a_suggestion():
    with pytest.raises(UserError, match=r"module hiermo\.algorithms\.hiermo has no 'Hiermo'; did you mean 'HierMo'\?"):
        import_path("hiermo.algorithms.hiermo:Hiermo")


def test_unknown_name_with_a_suggestion():
    with pytest.raises(UserError, match=r"there is no algorithm 'HierFAVGG'; did you mean 'HierFAVG'\?"):
        ALGORITHMS.get("HierFAVGG")


def test_a_module_that_lacks_another_raises_its_own_error(tmp_path):
    write(tmp_path, "needs_absent.py", "import some_absent_dependency")
    with pytest.raises(ModuleNotFoundError, match="some_absent_dependency"):
        import_path("needs_absent:Mine", (tmp_path,))


def test_a_module_with_a_mistake_raises_its_own_error(tmp_path):
    write(tmp_path, "has_mistake.py", "1 / 0")
    with pytest.raises(ZeroDivisionError):
        import_path("has_mistake:Mine", (tmp_path,))


@pytest.fixture
def installed_package(tmp_path, monkeypatch):
    """A package of somebody else's that adds the colours green and red."""
    write(tmp_path, "somebodys.py", "class Green: pass")
    write(tmp_path, "somebodys-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: somebodys\nVersion: 1.0\n")
    entries = "[hiermo.colours]\ngreen = somebodys:Green\nred = somebodys:Green\n"
    write(tmp_path, "somebodys-1.0.dist-info/entry_points.txt", entries)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed_package")
def test_names_of_installed_packages_come_after_ours():
    assert COLOURS.names() == ["red", "green"]


@pytest.mark.usefixtures("installed_package")
def test_a_class_of_an_installed_package():
    assert COLOURS.get("green").__name__ == "Green"


@pytest.mark.usefixtures("installed_package")
def test_an_installed_package_cannot_take_one_of_our_names():
    assert COLOURS.get("red") is HierMo


@pytest.mark.usefixtures("installed_package")
def test_a_suggestion_knows_installed_packages():
    with pytest.raises(UserError, match="did you mean 'green'"):
        COLOURS.get("gren")
