"""Checks of the order of events."""

from itertools import islice
from math import prod
from typing import Any

import numpy as np

from hiermo.checking.case import Case, cases
from hiermo.checking.compare import bits
from hiermo.checking.fault import Fault, said
from hiermo.checking.watched import Watched
from hiermo.clock.clock import Clock
from hiermo.clock.delays import Delays
from hiermo.core.algorithm import Algorithm
from hiermo.core.plan import Merge, Setting, Spread, Step, Survey
from hiermo.core.problem import ModelSize

MANY = 10_000  # events: far more than the small cases need
HORIZONS = (1, 2, 3, 5)  # in cloud rounds


def own_plan(algorithm: Algorithm) -> bool:
    """Whether it orders events itself: then the order of siblings and their number may matter."""
    return type(algorithm).plan is not Algorithm.plan


def plan(algorithm: Algorithm) -> None:
    """Events name tiers, nodes and iterations that exist, workers go forward, and the cloud merges."""
    for case in cases(algorithm):
        for setting in settings(case, algorithm):
            events = listed(algorithm, setting)
            done = np.full(case.tree.n_workers, setting.start)
            for event in events:
                if wrong := _malformed(event, setting, algorithm.asks is not None, done):
                    raise Fault(f"the plan on {case} has {event}: {wrong}")
            if not any(isinstance(event, Merge) and event.tier == case.tree.tiers - 1 for event in events):
                raise Fault(f"the plan on {case} never merges at the cloud, where a run's states are taken")
            if algorithm.asks is not None and not any(isinstance(event, Survey) for event in events):
                raise Fault(f"there is `asks`, and the plan on {case} has no Survey; yield one in every cloud round")


def horizon(algorithm: Algorithm) -> None:
    """A longer run only appends, to the plan and to the states: a run can be made longer after it has ended."""
    for case in cases(algorithm):
        for setting in settings(case, algorithm):
            cloud = prod(case.periods)
            plans = [listed(algorithm, setting._replace(iterations=setting.start + n * cloud)) for n in HORIZONS]
            for n, short, longer in zip(HORIZONS, plans, plans[1:], strict=False):
                if list(map(_key, short)) != list(map(_key, longer[: len(short)])):
                    raise Fault(
                        f"the plan of {n} cloud rounds on {case} is not the beginning of a longer one; its events must "
                        "not depend on `setting.iterations`"
                    )
        later = {state.position: state for state in case._replace(iterations=2 * case.iterations).states(algorithm)}
        for state in case.states(algorithm):
            if state.position in later and (where := bits(state, later[state.position])):
                raise Fault(f"a longer run on {case} begins otherwise: {where}; `bind` must not use `iterations`")


def settings(case: Case, algorithm: Algorithm) -> list[Setting]:
    """From the beginning, from a later cloud merge, and with edges of different speed."""
    edges = case.tree.parents[0].tolist()
    devices = [{"nodes": [f"worker {i}"], "compute": 1 + 0.5 * ell} for i, ell in enumerate(edges)]
    plain, later = case.setting(), prod(case.periods)
    clock = Clock(Delays.of_table({"device": devices})).of_run(algorithm.bind(plain), plain, ModelSize(parameters=1))
    return [plain, case.setting(start=later, iterations=case.iterations + later), case.setting(clock=clock)]


def listed(algorithm: Algorithm, setting: Setting) -> list[Any]:
    """All events; refuses a plan that has no end."""
    events = list(islice(Watched(algorithm).bind(setting).plan(setting), MANY + 1))
    if len(events) > MANY:
        raise Fault(f"the plan of {setting.iterations} iterations has no end; it must stop at `setting.iterations`")
    return events


def same_plan(algorithm: Algorithm, setting: Setting) -> bool:
    first, second = ([_key(event) for event in listed(algorithm, setting)] for _ in range(2))
    return first == second


def _key(event: Any) -> tuple[Any, ...]:
    """An event as something that can be compared, with any kind of indices."""
    return type(event), *(tuple(np.asarray(value).reshape(-1).tolist()) for value in event)


def _malformed(event: Any, setting: Setting, asks: bool, done: Any) -> str:
    """What is wrong with an event; `done` is the last iteration of each worker so far, and is brought up to date."""
    if not isinstance(event, (Spread, Survey, Step, Merge)):
        return "an event is a Spread, a Survey, a Step or a Merge of hiermo.core.plan"
    if isinstance(event, Survey) and not asks:
        return "there is no `asks` to answer"
    last = setting.iterations + isinstance(event, Spread)  # what follows the last merge may still be sent
    if setting.clock is not None:
        last = MANY  # where time decides, fast workers go further than slow ones
    if not _whole(event.t) or not setting.start < event.t <= last:
        return f"t must be a whole number from {setting.start + 1} to {last}"
    counts = setting.tree.counts
    tier = event.tier if isinstance(event, (Spread, Merge)) else 1
    if not _whole(tier) or not 1 <= tier < len(counts):
        return f"tier must be from 1 to {len(counts) - 1}"
    nodes = event.workers if isinstance(event, (Step, Survey)) else event.children
    if nodes is not None and (wrong := _unfit(nodes, counts[tier - 1])):
        return wrong
    if isinstance(event, Spread) and event.workers is not None and (wrong := _unfit(event.workers, counts[0])):
        return wrong
    if isinstance(event, Step):
        workers = slice(None) if nodes is None else np.asarray(nodes)
        if (done[workers] >= event.t).any():
            return "a worker does the same iteration twice; t counts its own iterations and picks its batch"
        done[workers] = event.t
    return ""


def _unfit(nodes: Any, n: int) -> str:
    try:
        array = np.asarray(nodes)
    except ValueError as error:
        return said(error)
    if array.ndim != 1 or not array.size or not np.issubdtype(array.dtype, np.integer):
        return "nodes must be None, for all, or a non-empty list of indices"
    if array.min() < 0 or array.max() >= n:
        return f"nodes must be indices from 0 to {n - 1}"
    return "" if len(np.unique(array)) == array.size else "a node is named twice"


def _whole(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)
