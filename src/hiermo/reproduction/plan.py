"""From a study to its runs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
import json
from typing import NamedTuple

from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion
from hiermo.experiment.recipe import Recipe, to_dict
from hiermo.experiment.sweep.grid import SAFE, Cell, Planned, cells, planned
from hiermo.reproduction.scale import shortened, slimmed
from hiermo.reproduction.study import Study

FAR = 100_000  # iterations that no time budget reaches


class Size(NamedTuple):
    """How much of a study is run."""

    scale: float = 1.0
    seeds: int | None = None  # the study's own
    iterations: int | None = None
    only: tuple[str, ...] = ()  # labels

    @property
    def suffix(self) -> str:
        """Of file names: results of different sizes are kept apart.

        >>> Size().suffix, Size(scale=0.1).suffix, Size(seeds=1).suffix
        ('', '-scale-0.1', '')
        """
        return f"-scale-{self.scale:g}" if self.scale < 1 else ""


WHOLE = Size()


def cell_name(settings: dict[str, str]) -> str:
    """What is varied, in short: its values; a seed is not among them.

    >>> cell_name({"periods.tau": "10", "periods.pi": "2", "train.seed": "1"})
    '10, 2'
    """
    return ", ".join(value for key, value in settings.items() if key != "train.seed")


def runs_of(study: Study, size: Size = WHOLE, chosen: Iterable[tuple[int, ...]] = ()) -> list[Planned]:
    """All runs, in the order of the study; `chosen` are pairs of periods beside those that are varied."""
    many = size.seeds if size.seeds is not None else study.seeds
    found: dict[str, Planned] = {}
    for cell in (*cells(study.vary, study.together), *map(_pair, chosen)):
        own = [*study.settings, *(f"{key}={value}" for key, value in cell)]
        shorter = _shorter(study, own, size)
        for run in planned(study.recipe, cells(seeds=f"0..{many - 1}"), [*own, *shorter])[1]:
            label, seed = run.recipe.algorithms[0].label, run.recipe.train.seed
            if label not in study.leave_out and (seed == 0 or label not in study.once):
                of = known_by(run.recipe)
                name = ",".join([label, *(value for _, value in cell), f"seed={seed}", of[:8]])
                settings = {**dict(cell), **run.settings}
                found.setdefault(of, replace(run, name=SAFE.sub("_", name), settings=settings, of=of))
    wanted = list(found.values())
    labels = list(dict.fromkeys(run.recipe.algorithms[0].label for run in wanted))
    for label in size.only:
        if label not in labels:
            raise UserError(f"--only {label}: this study has {', '.join(labels)}{suggestion(label, labels)}")
    return [run for run in wanted if not size.only or run.recipe.algorithms[0].label in size.only]


def known_by(recipe: Recipe) -> str:
    """A fingerprint of all that a run depends on; what it is called is not among it."""
    facts = to_dict(recipe)
    for name in ("name", "description"):
        facts.pop(name, None)
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _pair(periods: Sequence[int]) -> Cell:
    return tuple((f"periods.{name}", str(period)) for name, period in zip(("tau", "pi"), periods, strict=True))


def _shorter(study: Study, own: Sequence[str], size: Size) -> list[str]:
    """Settings of the size; under a time budget, runs go on until the longest of them is over."""
    if not study.budgets:
        return shortened(study.recipe, own, size.scale, size.iterations, study.heavy)
    ends = shortened(study.recipe, [*own, f"train.iterations={FAR}"], 1.0, size.iterations, study.heavy)
    longest = f"train.until={{ simulated_seconds = {size.scale * max(study.budgets):g} }}"
    return [*ends, longest, *narrower(study, size)]


def narrower(study: Study, size: Size) -> list[str]:
    """Settings of a scaled-down study under a time budget: of its runs, and of the recipe whose periods are chosen."""
    return slimmed(study.recipe, study.settings, size.scale) if size.scale < 1 else []
