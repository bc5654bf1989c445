"""Two runs side by side: in what their recipes, their provenance and their results differ."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hiermo.core.errors import UserError
from hiermo.experiment.store import StoredRun, flat, identity

MEASURES = ("accuracy", "loss", "iterations", "cloud_rounds", "simulated_seconds", "bytes", "seconds")
# differs between any two starts, and says nothing of what was run; the seed is the recipe's
OF_THE_MOMENT = ("started", "process.pid", "process.since", "seed")

Sides = dict[str, tuple[Any, Any]]  # key -> what is on either side


class Pair(NamedTuple):
    """What is compared with what."""

    name: str
    a: StoredRun
    b: StoredRun

    @property
    def recipe(self) -> Sides:
        """The keys that differ."""
        return _differing(self.a.keys, self.b.keys)

    @property
    def provenance(self) -> Sides:
        """Versions, commit, machine, of the last start of each."""
        return _differing(_start(self.a), _start(self.b))

    @property
    def result(self) -> Sides:
        """Whether they ended, and what was measured last."""
        left, right = self.a.row(), self.b.row()
        own = [name for name in left if name in right and name.startswith(("accuracy_", "loss_", "train_"))]
        return {name: (left[name], right[name]) for name in ("condition", *MEASURES, *own)}

    @property
    def same_bits(self) -> bool | None:
        """Whether they ended with the same model, to the bit; None where one of them has not ended."""
        ends = [(run.result or {}).get("model_sha256") for run in (self.a, self.b)]
        return None if None in ends else ends[0] == ends[1]


class Paired(NamedTuple):
    """The pairs of two folders, and the runs that have no other."""

    pairs: list[Pair]
    only_a: list[StoredRun]
    only_b: list[StoredRun]


def paired(a: Path, of_a: Sequence[StoredRun], b: Path, of_b: Sequence[StoredRun]) -> Paired:
    """One run with one run, whatever they are called; else those that stand at the same place in both folders."""
    for path, runs in ((a, of_a), (b, of_b)):
        if not runs:
            raise UserError(f"{path}: holds no run that can be read")
    if len(of_a) == len(of_b) == 1:
        return Paired([Pair(of_a[0].label, of_a[0], of_b[0])], [], [])
    left, right = (
        {run.path.relative_to(path).as_posix(): run for run in runs} for path, runs in ((a, of_a), (b, of_b))
    )
    pairs = [Pair(name, left[name], right[name]) for name in left if name in right]
    if not pairs:
        raise UserError(f"{a} and {b} have no run of the same name: {_some(left)}; {_some(right)}; name two runs")
    alone = [[run for name, run in own.items() if name not in other] for own, other in ((left, right), (right, left))]
    return Paired(pairs, alone[0], alone[1])


def difference(left: Any, right: Any) -> float | None:
    """By how much the second is more."""
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in (left, right)):
        return None
    found = right - left
    return found if abs(found) < float("inf") else None  # neither infinite nor undefined


def _some(names: dict[str, StoredRun], most: int = 5) -> str:
    told = ", ".join(list(names)[:most]) if "." not in names else "a single run"
    return told + (f" and {len(names) - most} more" if len(names) > most else "")


def _start(run: StoredRun) -> dict[str, Any]:
    told = flat(run.starts[-1]) if run.starts else {}
    return {key: value for key, value in told.items() if key not in OF_THE_MOMENT}


def _differing(left: dict[str, Any], right: dict[str, Any]) -> Sides:
    keys = dict.fromkeys((*left, *right))
    return {key: (left.get(key), right.get(key)) for key in keys if identity(left.get(key)) != identity(right.get(key))}
