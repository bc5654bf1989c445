"""Who is absent: partial participation, drop-outs, deadlines, and nodes that disappear and come back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from hiermo.clock.nodes import WAYS, Nodes, named_nodes
from hiermo.core.errors import UserError
from hiermo.core.parameter import Range, Rate, check_values, faults
from hiermo.topology.tree import Tree

Share = Annotated[float, Range(gt=0, le=1)]
Chance = Annotated[float, Range(ge=0, lt=1)]


@dataclass(frozen=True)
class Away:
    """Some nodes, and with them all below, from one moment until another."""

    nodes: Nodes
    iterations: tuple[float, float] | None = None
    seconds: tuple[float, float] | None = None  # simulated ones


@dataclass(frozen=True, kw_only=True)
class Absence:
    """`[absence]`: who does not take part in a round; draws are functions of (seed, node, iteration).

    >>> Absence(drop_out=0.1).by_chance
    True
    """

    participation: Share = 1.0  # of its workers that are there, a parent asks this share in each round, at least one
    drop_out: Chance = 0.0  # that a worker, once asked, does not answer in this round
    edge_drop_out: Chance = 0.0  # that an edge is not there in this cloud round
    deadline_s: Rate | None = None  # how long after sending the parents of workers wait, in simulated seconds
    cloud_deadline_s: Rate | None = None  # how long those above wait for the edges
    away: tuple[Any, ...] = ()  # tables with `nodes`, and `iterations` or `seconds` = [from, until]

    @property
    def nobody(self) -> bool:
        """Whether everyone is always there."""
        return self == Absence()

    @property
    def by_chance(self) -> bool:
        return self.participation < 1 or self.drop_out > 0 or self.edge_drop_out > 0

    @property
    def depends_on_time(self) -> bool:
        """Whether other delays would have others absent."""
        late = self.deadline_s is not None or self.cloud_deadline_s is not None
        return late or any(each.seconds is not None for each in self.spells)

    @property
    def spells(self) -> tuple[Away, ...]:
        """`away`, read."""
        return tuple(each for k, table in enumerate(self.away) for each in _read(table, f"absence.away.{k}"))

    def check(self, tree: Tree) -> None:
        check_values(self)
        for k, table in enumerate(self.away):
            for each in _read(table, f"absence.away.{k}"):
                # by its number too; but tier 1 of a flattened tree was that of the edges, which it has lost
                if each.nodes.tier == "cloud" or each.nodes.tier == tree.tiers - 1 > 1:
                    raise UserError(f"absence.away.{k}: without the cloud there is nobody to come back to")
                each.nodes.check(tree, f"absence.away.{k}")


@dataclass(frozen=True, kw_only=True)
class _AwayTable:
    nodes: str | tuple[str, ...]
    iterations: tuple[float, ...] | None = field(default=None)
    seconds: tuple[float, ...] | None = field(default=None)


def _read(table: Any, at: str) -> list[Away]:
    if not isinstance(table, dict):
        raise UserError(f"{at} must be a table as {{ nodes = 'edge 1', seconds = [60, 120] }}, not {table!r}")
    for name, wrong in faults(_AwayTable, table):
        in_recipe = wrong.replace("a parameter of _AwayTable", "a key of an absence").removesuffix(
            ": _AwayTable needs it"
        )
        raise UserError(f"{at}.{name} {in_recipe}")
    said = _AwayTable(**table)
    names = [said.nodes] if isinstance(said.nodes, str) else said.nodes
    meant = [(name, named_nodes(name)) for name in names]
    for name, nodes in meant:
        if nodes is None:
            raise UserError(f"{at}.nodes: {WAYS}, not {name!r}")
    if (said.iterations is None) == (said.seconds is None):
        raise UserError(f"{at}: give either iterations or seconds, each as [from, until]")
    key = "iterations" if said.seconds is None else "seconds"
    spell = _span(said.iterations if said.seconds is None else said.seconds, f"{at}.{key}")
    return [Away(nodes, **{key: spell}) for _, nodes in meant if nodes is not None]


def _span(given: Sequence[float] | None, at: str) -> tuple[float, float]:
    if given is None or len(given) != 2 or not 0 <= given[0] < given[1]:
        raise UserError(f"{at} must be [from, until] with from before until, not {list(given or ())}")
    return float(given[0]), float(given[1])
