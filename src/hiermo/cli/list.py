"""`hiermo list`."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from hiermo.core.registry import Registry


class Things(StrEnum):
    algorithms = "algorithms"
    datasets = "datasets"
    models = "models"
    partitions = "partitions"
    delays = "delays"
    recipes = "recipes"


def list_things(
    what: Annotated[
        Things, typer.Argument(metavar="algorithms|datasets|models|partitions|delays|recipes", help="What to list.")
    ],
) -> None:
    """List what recipes can name."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from hiermo.data.partition import PARTITIONS
    from hiermo.models import MODELS

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    columns, rows = {
        Things.algorithms: _algorithms,
        Things.datasets: _datasets,
        Things.models: lambda: _kinds(MODELS),
        Things.partitions: lambda: _kinds(PARTITIONS),
        Things.delays: _delays,
        Things.recipes: _recipes,
    }[what]()
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name == "name")
    for row in rows:
        table.add_row(*map(escape, row))
    Console(highlight=False).print(table)


Listing = tuple[list[str], list[list[str]]]


def _algorithms() -> Listing:
    from hiermo.algorithms import ALGORITHMS

    rows = []
    for name in ALGORITHMS.names():
        kind = ALGORITHMS.get(name)
        rows.append([name, str(kind.tiers or "any"), kind.momentum_at, _vectors(kind), _keys(kind), _parameters(kind)])
    return ["name", "tiers", "momentum", "up/down", "cite", "parameters"], rows


def _vectors(kind: Any) -> str:
    """Vectors up/down per exchange, and `s` for a scalar; from the workers' link upwards where links differ."""
    from hiermo.clock.ledger import Load, per_exchange

    def shown(load: Load) -> str:
        return f"{load.vectors}{'+s' * load.scalars}"

    links = [f"{shown(up)}/{shown(down)}" for up, down in per_exchange(kind(), kind.tiers or 3)]
    return ", ".join(dict.fromkeys(links))


def _keys(kind: Any) -> str:
    """Citation keys; of an entry of one's own, the key inside it."""
    return ", ".join(cite.partition("{")[2].partition(",")[0] if cite.startswith("@") else cite for cite in kind.cites)


def _datasets() -> Listing:
    from hiermo.core.parameter import faults
    from hiermo.data.directory import data_directory
    from hiermo.data.sources import SOURCES

    rows = []
    for name in SOURCES.names():
        kind = SOURCES.get(name)
        here = "yours" if faults(kind, {}) else "yes" if kind().find(data_directory()) else "no"
        rows.append([name, here, _parameters(kind), kind.summary])
    return ["name", "here", "parameters", "what it is"], rows


def _kinds(registry: Registry) -> Listing:
    kinds = [(name, registry.get(name)) for name in registry.names()]
    return ["name", "parameters", "what it is"], [[name, _parameters(k), k.summary] for name, k in kinds]


def _delays() -> Listing:
    from hiermo.clock.delays import profiles

    return ["name", "what it is"], [[name, about] for name, about in profiles().items()]


def _recipes() -> Listing:
    from hiermo.experiment.recipe_file import read, shipped

    return ["name", "what it runs"], [[name, read(path).get("description", "")] for name, path in shipped().items()]


def _parameters(kind: Any) -> str:
    """Names and defaults."""
    from dataclasses import MISSING, fields

    from hiermo.core.parameter import options

    known = options(kind)
    shown = [(f.name, f.default) for f in fields(kind) if f.name in known]
    return ", ".join(name if value is MISSING else f"{name}={value}" for name, value in shown)
