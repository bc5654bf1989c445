"""Something that is named in a recipe and has options of its own: a source, a partition, a model, an algorithm."""

from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

from hiermo.algorithms import ALGORITHMS
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.parameter import faults, locations, options, suggestion
from hiermo.core.registry import Registry, import_path
from hiermo.data.sources import SOURCES
from hiermo.experiment.faults import Faults, frozen
from hiermo.experiment.located import located
from hiermo.models import MODELS

# what may stand at an import path without being a dataclass of options: any data, any torch module
ADAPTERS = {SOURCES.kind: "hiermo.data.sources.imported:Imported", MODELS.kind: "hiermo.models.imported:Imported"}


@dataclass(frozen=True)
class Part:
    """Its name, and its options as an instance of its class."""

    name: str
    made: Any
    label: str = ""

    def values(self) -> dict[str, Any]:
        if not is_dataclass(self.made):
            return dict(self.made.values())
        return {key: getattr(self.made, key) for key in options(type(self.made))}


def part_of(
    said: Faults,
    registry: Registry,
    at: str,
    table: Any,
    key: str,
    search: tuple[Path, ...],
    extra: Sequence[str] = (),
) -> Any:
    """A Part, or None with the faults noted; `table` names it at `key` and may have the keys `extra` beside its own."""
    values = said.table(at, table)
    if values is None:
        return None
    if key not in values:
        said.add(f"{at}.{key}", f"is missing: name one of {', '.join(registry.names())}")
        return None
    name = str(values[key])
    try:
        kind = registry.get(name, search)
    except UserError as error:
        said.add(f"{at}.{key}", str(error), joint=":")
        return None
    own = {k: v for k, v in values.items() if k != key and k not in extra}
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return _adapted(said, registry, at, key, name, kind, own)
    if registry is ALGORITHMS and not issubclass(kind, Algorithm):
        said.add(f"{at}.{key}", f"{name} is not a hiermo.Algorithm", joint=":")
        return None
    wrong, known = faults(kind, own), (*options(kind), key, *extra)
    for option, what in wrong:
        unknown = f"is not a parameter of {kind.__name__}{suggestion(option, known)}"
        said.add(f"{at}.{option}", what if option in known else unknown)
    if wrong:
        return None
    paths = locations(kind)
    return Part(name, kind(**{k: located(v, search) if k in paths else frozen(v) for k, v in own.items()}))


def _adapted(said: Faults, registry: Registry, at: str, key: str, name: str, kind: Any, own: dict[str, Any]) -> Any:
    adapter = ADAPTERS.get(registry.kind)
    if adapter is None:
        said.add(f"{at}.{key}", f"{name} is not a dataclass, as every {registry.kind} is", joint=":")
        return None
    made = import_path(adapter)(kind, frozen_table(own))
    wrong = made.faults(own)
    for option, what in wrong:
        said.add(f"{at}.{option}" if option else f"{at}.{key}:", what)
    return None if wrong else Part(name, made)


def frozen_table(table: dict[str, Any]) -> dict[str, Any]:
    return {key: frozen(value) for key, value in table.items()}


def labelled(part: Part | None, table: Any, said: Faults) -> Any:
    """An algorithm with what it is called, which must be usable as the name of its folder."""
    if part is None:
        return None
    label = label_of(table)
    unfit = not label or label.startswith(".") or not label.isprintable() or any(c in '/\\:*?"<>|' for c in label)
    if unfit or not isinstance(table.get("label", ""), str):
        said.add("algorithm.label", f"must be usable as the name of a folder, not {table.get('label')!r}")
    return replace(part, label=label)


def label_of(table: Any) -> str:
    """What an algorithm is called in its recipe: its label, or else its name."""
    if not isinstance(table, dict):
        return str(table)
    return str(table.get("label", str(table.get("name", "")).rpartition(":")[2]))


def named(value: Any, key: str) -> Any:
    """`partition = "iid"` is short for `partition = { kind = "iid" }`."""
    return {key: value} if isinstance(value, str) else value
