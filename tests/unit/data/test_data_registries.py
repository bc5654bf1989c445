"""The listings of sources and partitions."""

from dataclasses import fields, is_dataclass
import subprocess
import sys

import pytest

from hiermo.data.partition import PARTITIONS
from hiermo.data.sources import SOURCES


@pytest.mark.parametrize(
    ("registry", "name"), [(each, name) for each in (SOURCES, PARTITIONS) for name in each.builtin], ids=str
)
def test_what_is_listed_exists_and_describes_itself(registry, name):
    kind = registry.get(name)
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in fields(kind))
    assert kind.summary
    assert "\n" not in kind.summary


def test_names():
    everyones = ["mnist-5k", "mnist", "fashion-mnist", "cifar10", "uci-har", "tiny-imagenet"]
    assert list(SOURCES.builtin) == [*everyones, "synthetic", "arrays", "csv", "images", "hugging-face"]
    assert list(PARTITIONS.builtin) == ["iid", "classes", "dirichlet", "sizes", "natural"]


def test_neither_torch_nor_scikit_learn_is_imported():
    code = (
        "import sys; from pathlib import Path\n"
        "from hiermo.data.partition import PARTITIONS; from hiermo.data.sources import SOURCES\n"
        "from hiermo.data.partitioned import partition\n"
        "kinds = [r.get(n) for r in (SOURCES, PARTITIONS) for n in r.builtin]\n"
        "kinds[0]().load(Path())\n"
        "print([m for m in ('torch', 'sklearn', 'mlxtend', 'pandas') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
