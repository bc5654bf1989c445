"""From one recipe and lists of values to the recipes of single runs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
import json
import re
from typing import Any

import tomli_w

from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file
from hiermo.experiment.recipe import Recipe, to_dict

SHOWN = 5  # faults of cells that are told; there may be hundreds
LONGEST = 120  # letters of a folder's name
SAFE = re.compile(r"[^\w.,=+\-]+")

Setting = tuple[str, str]  # key and value, as they are written
Cell = tuple[Setting, ...]


@dataclass(frozen=True)
class Planned:
    """One run of a sweep."""

    name: str  # of its folder
    settings: dict[str, str]
    recipe: Recipe  # with one algorithm
    of: str  # a fingerprint: the same for two runs that would train the same and keep the same


def axis(text: str, option: str = "-g") -> list[Setting]:
    """The values of one key.

    >>> axis("periods.tau=10,20"), axis("train.seed=0..2")[-1]
    ([('periods.tau', '10'), ('periods.tau', '20')], ('train.seed', '2'))
    """
    key, equals, values = text.partition("=")
    found = split(values)
    if not equals or not key.strip() or not found:
        raise UserError(f"{option} {text}: write KEY=VALUE,VALUE,..., as in {option} periods.tau=10,20")
    return [(key.strip(), value) for value in found]


def split(values: str) -> list[str]:
    """At commas, but not within brackets and quotes; `0..4` is 0,1,2,3,4.

    >>> split("1e-3, 'a,b', [1,2], {x=1, y=2}, 2..4")
    ['1e-3', "'a,b'", '[1,2]', '{x=1, y=2}', '2', '3', '4']
    """
    parts, deep, quote = [""], 0, ""
    for letter in values:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            deep += (letter in "[{") - (letter in "]}")
        if letter == "," and not deep and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    found: list[str] = []
    for part in filter(None, map(str.strip, parts)):
        ends = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", part)
        found += map(str, range(int(ends[1]), int(ends[2]) + 1)) if ends else [part]
    return found


def cells(grid: Sequence[str] = (), zipped: Sequence[str] = (), seeds: str | None = None) -> list[Cell]:
    """Every combination of the lists; zipped lists advance together and count as one.

    >>> cells(["algorithm.gamma=0.1,0.9"], ["periods.tau=5,10", "periods.pi=4,2"])[1]
    (('algorithm.gamma', '0.1'), ('periods.tau', '10'), ('periods.pi', '2'))
    """
    axes: list[list[Cell]] = [[(setting,) for setting in axis(text)] for text in grid]
    together = [axis(text, "-z") for text in zipped]
    if len({len(each) for each in together}) > 1:
        counts = ", ".join(f"{each[0][0]} has {len(each)}" for each in together)
        raise UserError(f"-z lists advance together and must be as long as each other: {counts}")
    if together:
        axes.append(list(zip(*together, strict=True)))
    if seeds is not None:
        axes.append([(setting,) for setting in axis(f"train.seed={seeds}", "--seeds")])
    keys = [setting[0] for each in axes for setting in each[0]]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        raise UserError(f"{key} is given twice: one list for each key")
    return [tuple(setting for part in parts for setting in part) for parts in product(*axes)]


def planned(
    name: str, chosen: Sequence[Cell], settings: Sequence[str] = (), delays: str | None = None
) -> tuple[Recipe, list[Planned]]:
    """The recipe as it is without the lists, and the runs; all that is wrong is told before any of them begins.

    Runs that come out alike are one: a key that an algorithm does not have makes no difference to it.
    """
    changed = recipe_file.changed(name, settings, delays)
    found: dict[str, Planned] = {}
    faults: dict[str, list[Cell]] = {}  # what is wrong, and with which combinations
    for cell in chosen:
        try:
            whole = changed.recipe(f"{key}={value}" for key, value in cell)
        except UserError as error:
            faults.setdefault(str(error), []).append(cell)
            continue
        for part in whole.algorithms:
            run = whole.single(part)
            facts = to_dict(run)
            said = {key: value for key, value in cell if _matters(key, facts["algorithm"])}
            of = sha256(tomli_w.dumps(facts).encode()).hexdigest()
            found.setdefault(of, Planned("", said, run, of))
    if faults:
        told = [f"{what}{_where(wrong, len(chosen))}" for what, wrong in list(faults.items())[:SHOWN]]
        raise UserError("\n".join([*told, *([f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else [])]))
    runs = list(found.values())
    return whole, [replace(run, name=each) for run, each in zip(runs, _names(runs), strict=True)]


def _where(wrong: Sequence[Cell], tried: int) -> str:
    if not wrong[0]:
        return ""
    more = f", and {len(wrong) - 1} more of {tried} combinations" if len(wrong) > 1 else ""
    return f" (with {' '.join(f'{key}={value}' for key, value in wrong[0])}{more})"


def _matters(key: str, algorithm: dict[str, Any]) -> bool:
    """Whether a setting of an algorithm reached this one."""
    first, _, rest = key.partition(".")
    if first != "algorithm" or not rest:
        return True
    *of, option = rest.split(".")
    return option in algorithm and (not of or ".".join(of) in (algorithm["label"], algorithm["name"]))


def _names(runs: Sequence[Planned]) -> list[str]:
    """Folders: the algorithm and what was varied, in letters that every file system takes."""
    names = []
    for run in runs:
        (part,) = run.recipe.algorithms
        words = [f"{key.rpartition('.')[2]}={_bare(value)}" for key, value in run.settings.items()]
        name = SAFE.sub("_", ",".join([part.label, *words])).strip(".")
        names.append(name)
    alike = Counter(name.lower() for name in names)  # some file systems take them for the same
    return [
        name if alike[name.lower()] == 1 and 0 < len(name) <= LONGEST else f"{name[: LONGEST - 9]}-{run.of[:8]}"
        for name, run in zip(names, runs, strict=True)
    ]


def _bare(value: str) -> str:
    found = recipe_file.value_of(value)
    return found if isinstance(found, str) else value


def fingerprint(runs: Sequence[Planned]) -> str:
    """Of a whole sweep."""
    return sha256(json.dumps(sorted(run.of for run in runs)).encode()).hexdigest()
