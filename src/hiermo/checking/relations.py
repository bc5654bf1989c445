"""Checks that compare runs which must agree, whatever the algorithm is."""

from dataclasses import replace

import numpy as np

from hiermo.checking.case import COPIES, cases
from hiermo.checking.compare import all_bits, rounding
from hiermo.checking.fault import Fault
from hiermo.checking.watched import Watched
from hiermo.core.algorithm import Algorithm
from hiermo.engine.state import from_arrays, to_arrays
from hiermo.topology.tree import Tree


def engines(algorithm: Algorithm) -> None:
    """A whole tier at once gives what node by node gives: rules must not mix nodes."""
    for case in cases(algorithm):
        if where := rounding(case.states(algorithm), case.states(algorithm, "pernode")):
            raise Fault(
                f"the engines disagree on {case}: {where}; a rule that indexes or reduces [n, d] along its first axis "
                "mixes nodes: use dot, norm and the others of hiermo.core.vector"
            )


def resume(algorithm: Algorithm) -> None:
    """Going on from any iteration's checkpoint gives the bits of the whole run."""
    for case in cases(algorithm):
        whole = case.states(algorithm)
        for done, state in enumerate(whole, start=1):
            arrays, place = to_arrays(state)
            saved = {name: value.copy() for name, value in arrays.items()}
            fresh = Watched(replace(algorithm))  # type: ignore[type-var]  # a dataclass
            loaded = from_arrays(fresh, case.problem().initial(0), case.tree.tiers, saved, place)
            if where := all_bits(case.states(fresh, start=loaded), whole[done:]):
                raise Fault(
                    f"a run on {case} that goes on from iteration {state.t} gives other numbers: {where}; all that a "
                    "rule remembers must be in records, and `bind` must depend on its setting alone"
                )


def siblings(algorithm: Algorithm) -> None:
    """The order in which nodes are numbered does not matter, as long as their data go with them."""
    for case in cases(algorithm):
        old = [np.arange(n)[::-1] for n in case.tree.counts]  # its own inverse
        parents = [old[k + 1][tier[old[k]]] for k, tier in enumerate(case.tree.parents)]
        turned = case._replace(
            tree=Tree(*parents),
            rows=tuple(case.rows[i] for i in old[0]),
            sizes=tuple(case.sizes[i] for i in old[0]),
        )
        if where := rounding(turned.states(algorithm), case.states(algorithm), old):
            raise Fault(
                f"numbering the nodes of {case} the other way round gives another result: {where}; a rule must not "
                "depend on the index of a node"
            )


def copies(algorithm: Algorithm) -> None:
    """Copies of a worker that share its data are that worker: averages are by data, not by the number of nodes."""
    for case in cases(algorithm):
        old = np.array([0] * COPIES + list(range(1, case.tree.n_workers)))
        divided = case._replace(
            tree=Tree(case.tree.parents[0][old], *case.tree.parents[1:]),
            rows=tuple(case.rows[i] for i in old),
            sizes=(case.sizes[0] // COPIES,) * COPIES + case.sizes[1:],
        )
        rows = [old, *(np.arange(n) for n in case.tree.counts[1:])]
        if where := rounding(divided.states(algorithm), case.states(algorithm), rows):
            raise Fault(
                f"{COPIES} copies of a worker, each with 1/{COPIES} of its data, give another result than it alone on "
                f"{case}: {where}; a rule must not depend on how many nodes there are: the mean it gets is weighted"
            )
