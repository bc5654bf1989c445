"""Recipes on disk: found by path or by the name of a shipped one, changed with `-s key=value`, read and written."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import is_dataclass, replace
from importlib.resources import files
from pathlib import Path
import tomllib
from typing import Any, NamedTuple

import tomli_w

from hiermo.algorithms import ALGORITHMS
from hiermo.clock.delays import load_delays
from hiermo.core.errors import UserError
from hiermo.core.parameter import options, suggestion
from hiermo.experiment.inherited import with_inherited
from hiermo.experiment.part import label_of, named
from hiermo.experiment.recipe import TABLES, Recipe, parse, searched, to_dict

# what may be a name instead of a table
SHORT = {"data": "source", "partition": "kind", "edges": "kind", "schedule": "kind", "model": "name"}


def shipped() -> dict[str, Path]:
    """Name -> file of the recipes inside the package, such as `quick/digits`."""
    root = Path(str(files("hiermo"))) / "recipes"
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.toml"))}


def find(name: str) -> Path:
    """The file of a recipe, by path or by shipped name."""
    if (path := Path(name)).is_file():
        return path
    known = shipped()
    if name in known:
        return known[name]
    raise UserError(f"there is no recipe '{name}', neither a file nor a shipped one{suggestion(name, known)}")


def load(name: str, settings: Iterable[str] = (), seed: int | None = None, delays: str | None = None) -> Recipe:
    """Read, change, validate; errors name the file. `delays` goes before those of the recipe."""
    return changed(name, settings, delays).recipe(() if seed is None else (f"train.seed={seed}",))


class Changed(NamedTuple):
    """What a recipe file says, with some keys changed; not yet checked."""

    raw: dict[str, Any]
    path: Path
    folders: tuple[Path, ...]  # where it looks for files and code

    def recipe(self, settings: Iterable[str] = ()) -> Recipe:
        """With these keys changed as well, checked."""
        raw = deepcopy(self.raw)
        for setting in settings:
            override(raw, setting, searched(raw, self.folders))
        return checked(raw, self.path, self.path.stem, self.folders)


def changed(name: str, settings: Iterable[str] = (), delays: str | None = None) -> Changed:
    path = find(name)
    raw, folders = read_whole(path), (path.resolve().parent, Path.cwd())
    for setting in settings:
        override(raw, setting, searched(raw, folders))
    if delays is not None:
        raw["delays"] = load_delays(delays).table
    return Changed(raw, path, folders)


def checked(
    raw: dict[str, Any], path: Path, name: str = "", folders: Sequence[Path] = (), home: Path | None = None
) -> Recipe:
    """What was read from `path`, as a recipe; errors name the file."""
    try:
        return parse(raw, name, folders, home)
    except UserError as error:
        raise UserError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not valid TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def read_whole(path: Path) -> dict[str, Any]:
    """With what it takes over from the recipe that it extends."""
    return with_inherited(read(path), path, find, read)


def write(recipe: Recipe) -> str:
    """The resolved recipe as TOML: every default written out; reading it again gives the same recipe."""
    return tomli_w.dumps(to_dict(recipe))


def override(raw: dict[str, Any], setting: str, search: tuple[Path, ...] = ()) -> None:
    """One `-s key=value`: the value in TOML, or else a text.

    >>> raw = {"train": {"iterations": 100}, "algorithm": [{"name": "HierMo"}, {"name": "FedAvg"}]}
    >>> override(raw, "train.iterations=200")
    >>> override(raw, "algorithm.gamma=0.9")
    >>> raw["train"], raw["algorithm"]
    ({'iterations': 200}, [{'name': 'HierMo', 'gamma': 0.9}, {'name': 'FedAvg'}])
    """
    key, equals, text = setting.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not equals or not all(path):
        raise UserError(f"-s {setting}: write key=value, as in -s train.iterations=200")
    value = value_of(text.strip())
    if path[0] == "algorithm" and len(path) > 1:
        _override_algorithms(raw, path[1:], value, setting, search)
        return
    if path[0] not in TABLES and len(path) > 1:
        raise UserError(f"-s {setting}: there is no table '{path[0]}'{suggestion(path[0], TABLES)}")
    table = raw
    for depth, part in enumerate(path[:-1]):
        inner = table.setdefault(part, {})
        if part in SHORT:
            inner = named(inner, SHORT[part])
        if part == "periods" and isinstance(inner, list):
            inner = dict(zip(("tau", "pi"), inner, strict=False))
        if not isinstance(inner, dict):
            raise UserError(f"-s {setting}: {'.'.join(path[: depth + 1])} is not a table")
        table[part] = inner
        table = inner
    table[path[-1]] = value


def _override_algorithms(
    raw: dict[str, Any], path: list[str], value: Any, setting: str, search: tuple[Path, ...]
) -> None:
    """`algorithm.gamma` in each that has it, `algorithm.HierMo.gamma` in one, by label or by name."""
    listed = raw.get("algorithm", [])
    several = [named(each, "name") for each in (listed if isinstance(listed, list) else [listed])]
    raw["algorithm"] = several if isinstance(listed, list) else several[0]
    tables = [table for table in several if isinstance(table, dict)]
    label, name = (None, path[0]) if len(path) == 1 else (".".join(path[:-1]), path[-1])
    if label is not None:
        chosen = [t for t in tables if label_of(t) == label] or [t for t in tables if t.get("name") == label]
        if not chosen:
            labels = list(map(label_of, tables))
            raise UserError(f"-s {setting}: the recipe has no algorithm '{label}'{suggestion(label, labels)}")
    else:
        known = [_options(table, search) for table in tables]
        chosen = [t for t, own in zip(tables, known, strict=True) if own is None or name in own]
        if not chosen:
            every = sorted({option for own in known for option in own or ()})
            raise UserError(f"-s {setting}: no algorithm of the recipe has '{name}'{suggestion(name, every)}")
    for table in chosen:
        table[name] = value


def _options(table: dict[str, Any], search: tuple[Path, ...]) -> set[str] | None:
    """The keys that an algorithm's table may have; None where it names no algorithm, which `parse` will tell."""
    try:
        kind = ALGORITHMS.get(str(table.get("name", "")), search)
    except UserError:
        return None
    return {"name", "label", *options(kind)} if is_dataclass(kind) else None


def value_of(text: str) -> Any:
    """As TOML says it, or else a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def extended(recipe: Recipe, iterations: int, home: Path | None = None) -> Recipe:
    """The same recipe with another horizon, checked."""
    raw = to_dict(replace(recipe, train=replace(recipe.train, iterations=iterations)))
    return parse(raw, name=recipe.name, folders=tuple(map(Path, recipe.import_from)), home=home)
