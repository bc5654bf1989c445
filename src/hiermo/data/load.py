"""Data by name, divided among workers, in one call."""

from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from hiermo.core.errors import UserError
from hiermo.core.parameter import faults
from hiermo.core.registry import Registry
from hiermo.data.dataset import Dataset
from hiermo.data.directory import data_directory
from hiermo.data.partition import PARTITIONS
from hiermo.data.partitioned import Partitioned, PartitionRule, partition
from hiermo.data.sources import SOURCES


def load_data(
    source: str | Any, *, workers: int, by: str | PartitionRule = "iid", seed: int = 0, directory: Path | None = None
) -> Partitioned:
    """A data set, divided among `workers` `by` a rule; names are those of `hiermo list datasets`.

    A name stands for a source or a rule without options; objects such as `Dirichlet(alpha=0.5)` may be given as well.

    >>> load_data("mnist-5k", workers=4).sizes
    (1000, 1000, 1000, 1000)
    """
    found = _without_options(SOURCES, source) if isinstance(source, str) else source
    rule = _without_options(PARTITIONS, by) if isinstance(by, str) else by
    return partition(loaded(found, directory or data_directory()), rule, workers, seed)


_SETS: WeakValueDictionary[tuple[Any, Path], Dataset] = WeakValueDictionary()


def loaded(source: Any, directory: Path) -> Dataset:
    """What `source.load` gives; the sets that everyone has are in memory once, however often they are asked for.

    Files of one's own may change between two calls and are read again.
    """
    if not hasattr(source, "folder"):
        found: Dataset = source.load(directory)
        return found
    known = _SETS.get((source, directory))
    if known is None:
        known = _SETS[source, directory] = source.load(directory)
    return known


def _without_options(registry: Registry, name: str) -> Any:
    kind = registry.get(name)
    for option, _ in faults(kind, {}):
        raise UserError(f"{registry.kind} '{name}' needs options: pass {kind.__module__}.{kind.__name__}({option}=...)")
    return kind()
