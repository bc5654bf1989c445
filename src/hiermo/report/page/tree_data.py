"""The tree with the mean delays of its nodes and links, as a recipe says them."""

from math import prod
from typing import Any

import numpy as np

from hiermo.clock.delays import PAPER, Delays, parse_delays, profile
from hiermo.clock.network import Network
from hiermo.core.errors import UserError, node_name
from hiermo.experiment.faults import Faults
from hiermo.experiment.store import StoredRun
from hiermo.experiment.tables import TreeTable
from hiermo.report.plain import number, short, text
from hiermo.topology.tree import Tree

MOST = 1_000_000  # nodes of a tree that is built for a page
TRACES = ("delays.csv", "delays.parquet")  # what a run directory keeps; any other file is not ours to open
LARGEST_TRACE = 50_000_000
DRAWN, DRAWN_WORKERS = 4, 6  # children of a node that are drawn at most, and of an edge
DEEP_DRAWN = 3  # of any node, where there are more than three tiers


def tree_of(recipe: dict[str, Any]) -> Tree | None:
    """As `[tree]` says it; None where it says nothing that can be built."""
    said = Faults()
    table = said.make(TreeTable, "tree", recipe)
    if table is None or _size(table) > MOST:
        return None
    try:
        tree: Tree = table.build()
    except (UserError, MemoryError, OverflowError, ValueError, TypeError):
        return None
    return tree


def _size(table: TreeTable) -> int:
    each = table.workers_per_edge or 1
    below = sum(each) if isinstance(each, tuple) else each * (table.edges or 1)
    return max(table.workers or 0, below, prod(table.branching or ()), table.edges or 0)


def delays_of(run: StoredRun) -> Delays | None:
    """Those of its recipe, else the profile that is used where nothing is said; None where they cannot be had."""
    table = run.recipe.get("delays")
    if table is None:
        return profile(PAPER)
    try:
        if isinstance(table, dict) and "trace" in table:
            path = run.path / str(table["trace"])
            if table["trace"] not in TRACES or path.is_symlink() or path.stat().st_size > LARGEST_TRACE:
                return None
        return parse_delays(table, (run.path.resolve(),))
    except (UserError, OSError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return None


def tree_data(run: StoredRun, tree: Tree) -> dict[str, Any]:
    """The tree as nested nodes, and a table of its tiers; seconds are means, of a message with one model."""
    size = run.starts[-1].get("size") if run.starts else None
    size = size if isinstance(size, dict) else {}
    parameters, item, flops = (number(size.get(name)) for name in ("parameters", "item_bytes", "flops"))
    message = (parameters or 0) * (item or 0)
    found: dict[str, Any] = {"words": str(tree), "message_bytes": message or None, "delays": "", "tiers": []}
    network = flat = None
    delays = delays_of(run)
    if delays is not None:
        try:
            network = _network(delays, tree, parameters or 0, flops or 0)
            if tree.tiers > 2 and run.keys.get("tree.flatten") is True:
                flat = _network(delays, tree.flatten(), parameters or 0, flops or 0)
            found["delays"] = text(delays)
        except (UserError, ValueError, ArithmeticError):
            network = flat = None
    facts = None if network is None else [_facts(network, tier, tree.tiers, message) for tier in range(tree.tiers)]
    found["tiers"] = [_tier(tree, tier, facts) for tier in reversed(range(tree.tiers))]
    if flat is not None:
        found["tiers"].append(
            {"tier": "workers, straight to the cloud (two-tier algorithms)", **_means(_facts(flat, 0, 2, message))}
        )
    found["root"] = _node(tree, tree.tiers - 1, 0, facts)
    return found


def _network(delays: Delays, tree: Tree, parameters: float, flops: float) -> Network:
    def work(tier: int) -> float:  # a merge of one vector from each child: a product and a sum for every number
        return flops if tier == 0 else 2 * parameters * tree.counts[tier - 1] / tree.counts[tier]

    return Network(delays, tree, 0, work)


def _facts(network: Network, tier: int, tiers: int, message: float) -> dict[str, Any]:
    """Per node: mean seconds of an iteration or a merge, and of a message of one model up and down its link."""
    found: dict[str, Any] = {"compute_s": network.compute[tier].means}
    if tier < tiers - 1:
        for name, ways in (("up_s", network.up[tier]), ("down_s", network.down[tier])):
            found[name] = sum(way.latency.means + message * way.per_byte.means for way in ways)
    return found


def _means(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [short(float(each), 3) for each in (np.mean(values), np.min(values), np.max(values))]
        for name, values in facts.items()
    }


def _tier(tree: Tree, tier: int, facts: list[dict[str, Any]] | None) -> dict[str, Any]:
    n = tree.counts[tier]
    single = node_name(tier, 0, tree.tiers).removeprefix("the ")
    name = "cloud" if tier == tree.tiers - 1 else {0: "workers", 1: "edges"}.get(tier, f"nodes of tier {tier}")
    told: dict[str, Any] = {"tier": name if n > 1 or tier == tree.tiers - 1 else single, "n": n}
    return told | (_means(facts[tier]) if facts is not None else {})


def _node(tree: Tree, tier: int, node: int, facts: list[dict[str, Any]] | None) -> dict[str, Any]:
    told: dict[str, Any] = {"name": node_name(tier, node, tree.tiers).removeprefix("the "), "tier": tier}
    if facts is not None:
        told |= {name: short(float(values[node]), 3) for name, values in facts[tier].items()}
    if tier:
        children = tree.children(tier, node)
        most = DEEP_DRAWN if tree.tiers > 3 else DRAWN_WORKERS if tier == 1 else DRAWN
        some = children if len(children) <= most else children[: most - 1]
        told["children"] = [_node(tree, tier - 1, int(child), facts) for child in some]
        told["more"] = int(len(children) - len(some))
    return told
