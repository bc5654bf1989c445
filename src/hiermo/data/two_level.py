"""A data set divided twice: among the edges by one rule, and each edge's share among its workers by another."""

from collections.abc import Sequence
import re
import warnings

import numpy as np

from hiermo.core.errors import UserError
from hiermo.core.parameter import check_values
from hiermo.data.dataset import Dataset, Labels, check
from hiermo.data.partition.iid import Iid
from hiermo.data.partitioned import (
    Part,
    Partitioned,
    PartitionRule,
    is_by_owner,
    own_tests,
    seen_by,
    wrong_parts,
)
from hiermo.data.randomness import stream

Groups = Sequence[Sequence[int]]


def two_level(
    dataset: Dataset, edges_rule: PartitionRule, workers_rule: PartitionRule, groups: Groups, seed: int = 0
) -> Partitioned:
    """Edge l, with the workers `groups[l]`, gets what `edges_rule` gives to the l-th of so many workers.

    Classes for the edges and iid for the workers makes workers of one edge alike and edges different; iid for the edges
    and classes for the workers the reverse. Shares of iid edges are proportional to their numbers of workers; every
    other rule treats edges alike, however many workers they have.

    >>> from pathlib import Path
    >>> from hiermo.data.partition.classes import Classes
    >>> from hiermo.data.sources.synthetic import Synthetic
    >>> data = Synthetic(samples=80, classes=4).load(Path())
    >>> two_level(data, Classes(per_worker=2), Iid(), groups=[[0, 1], [2, 3]]).counts().tolist()
    [[0, 0, 10, 10], [0, 0, 10, 10], [11, 9, 0, 0], [9, 11, 0, 0]]
    """
    check(dataset)
    for rule in (edges_rule, workers_rule):
        check_values(rule)
    _check_groups(groups, len(dataset.train_y))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no worker holds class")  # it knows no edges: said below instead
        shares = _among_edges(dataset, edges_rule, groups, seed)
        held = {
            worker: part
            for edge, group in enumerate(groups)
            for worker, part in zip(
                group, _among_workers(dataset, workers_rule, edge, group, shares[edge], seed), strict=True
            )
        }
    parts = tuple(held[worker] for worker in range(len(held)))
    _warn_of_unused(dataset, shares, [np.concatenate([held[worker] for worker in group]) for group in groups])
    return Partitioned(dataset, parts, own_tests(dataset, parts) if is_by_owner(workers_rule) else None)


def _check_groups(groups: Groups, n: int) -> None:
    workers = [worker for group in groups for worker in group]
    if sorted(workers) != list(range(len(workers))) or not all(map(len, groups)) or not workers:
        raise UserError("groups of workers must be non-empty and hold each worker 0, 1, 2, ... exactly once")
    if len(workers) > n:
        raise UserError(f"{len(workers)} workers cannot share {n} training samples; use fewer")
    if len(groups) == 1:
        warnings.warn("data.edges divides nothing: all workers are under one node", stacklevel=3)


def _among_edges(dataset: Dataset, rule: PartitionRule, groups: Groups, seed: int) -> list[Part]:
    """The samples of each edge."""
    seen = seen_by(rule, dataset)
    if isinstance(rule, Iid):
        each = rule.split(seen, sum(map(len, groups)), seed)
        return [np.sort(np.concatenate([each[worker] for worker in group])) for group in groups]
    try:
        shares = _split(rule, seen, range(len(groups)), seed)
    except UserError as error:  # the rule speaks of workers: here they are edges
        said = re.sub(r"\bworker(s?)\b", r"edge\1", str(error)).replace("data.partition", "data.edges")
        raise UserError(said if "data.edges" in said else f"data.edges: {said}") from None
    for edge, (group, share) in enumerate(zip(groups, shares, strict=True)):
        if len(share) < len(group):
            raise UserError(
                f"data.edges gives edge {edge} {len(share)} samples for its {len(group)} workers; "
                "use fewer workers, another seed or a rule with more even shares"
            )
    return shares


def _among_workers(
    dataset: Dataset, rule: PartitionRule, edge: int, group: Sequence[int], share: Part, seed: int
) -> list[Part]:
    """The samples of each worker of an edge."""
    seen = seen_by(rule, dataset)[share]
    if not is_by_owner(rule):  # without the classes that the edge lacks: a rule might deal them out
        seen = np.unique(seen, return_inverse=True)[1].astype(np.int64)
    own_seed = int(stream(seed, "two-level", edge).bit_generator.random_raw()) >> 1
    try:
        return [share[part] for part in _split(rule, seen, group, own_seed)]
    except UserError as error:
        raise UserError(f"the share of edge {edge}: {error}") from None


def _split(rule: PartitionRule, seen: Labels, workers: Sequence[int], seed: int) -> list[Part]:
    parts = [np.asarray(part) for part in rule.split(seen, len(workers), seed)]
    if wrong := wrong_parts(parts, workers, len(seen)):
        raise UserError(f"partition {type(rule).__name__} among {len(workers)} workers: {wrong}")
    return [part.astype(np.intp, copy=False) for part in parts]


def _warn_of_unused(dataset: Dataset, shares: Sequence[Part], used: Sequence[Part]) -> None:
    """Names the classes that a rule left out; a rule that takes fewer samples of a class was asked to."""

    def missing(whole: Labels, rest: Labels) -> str:
        return ", ".join(map(str, np.setdiff1d(whole, rest).tolist()))

    y = dataset.train_y
    left = [f"no edge holds class {lost}"] if (lost := missing(y, y[np.concatenate(shares)])) else []
    for edge, (share, mine) in enumerate(zip(shares, used, strict=True)):
        if lost := missing(y[share], y[mine]):
            left.append(f"no worker of edge {edge} holds class {lost}")
    if left:
        warnings.warn(
            f"{'; '.join(left)}: these samples are not used in training; "
            "the partition classes with cover = true gives every class to someone",
            stacklevel=3,
        )
