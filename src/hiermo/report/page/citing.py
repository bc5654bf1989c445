"""The BibTeX of what runs used, by names alone: code that a recipe names is never imported."""

from collections.abc import Sequence

from hiermo.algorithms import ALGORITHMS
from hiermo.core.references import bibtex
from hiermo.core.registry import Registry
from hiermo.data.sources import SOURCES
from hiermo.experiment.store import StoredRun


def bibtex_of(runs: Sequence[StoredRun]) -> tuple[str, list[str]]:
    """The entries, and the names of what is not ours and cites for itself."""
    keys, others = ["hiermo"], list[str]()
    for registry, key in ((ALGORITHMS, "algorithm.name"), (SOURCES, "data.source")):
        for name in dict.fromkeys(str(run.keys.get(key, "")) for run in runs):
            if name in registry.builtin:
                keys += _cites(registry, name)
            elif name:
                others.append(name)
    return bibtex(keys), others


def _cites(registry: Registry, name: str) -> tuple[str, ...]:
    found: tuple[str, ...] = getattr(registry.get(name), "cites", ())
    return found
