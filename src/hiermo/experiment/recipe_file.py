"""Recipes on disk: found by path or by the name of a shipped one, changed with `-s key=value`, read and written."""

from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
import tomllib
from typing import Any

import tomli_w

from hiermo.algorithms import ALGORITHMS
from hiermo.core.errors import UserError
from hiermo.core.parameter import options, suggestion
from hiermo.experiment.recipe import TABLES, Recipe, parse, to_dict


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


def load(name: str, settings: Iterable[str] = (), seed: int | None = None) -> Recipe:
    """Read, change, validate; errors name the file."""
    path = find(name)
    raw = read(path)
    for setting in settings:
        override(raw, setting)
    if seed is not None:
        raw.setdefault("train", {})["seed"] = seed
    try:
        return parse(raw, name=path.stem, folders=(path.resolve().parent, Path.cwd()))
    except UserError as error:
        raise UserError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not valid TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def write(recipe: Recipe) -> str:
    """The resolved recipe as TOML: every default written out; reading it again gives the same recipe."""
    return tomli_w.dumps(to_dict(recipe))


def override(raw: dict[str, Any], setting: str) -> None:
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
    value = _value(text.strip())
    if path[0] == "algorithm" and len(path) > 1:
        _override_algorithms(raw, path[1:], value, setting)
        return
    if path[0] not in TABLES and len(path) > 1:
        raise UserError(f"-s {setting}: there is no table '{path[0]}'{suggestion(path[0], TABLES)}")
    table = raw
    for depth, part in enumerate(path[:-1]):
        inner = table.setdefault(part, {})
        if part == "partition" and isinstance(inner, str):
            inner = {"kind": inner}
        if part == "periods" and isinstance(inner, list):
            inner = dict(zip(("tau", "pi"), inner, strict=False))
        if not isinstance(inner, dict):
            raise UserError(f"-s {setting}: {'.'.join(path[: depth + 1])} is not a table")
        table[part] = inner
        table = inner
    table[path[-1]] = value


def _override_algorithms(raw: dict[str, Any], path: list[str], value: Any, setting: str) -> None:
    """`algorithm.gamma` in each that has it, `algorithm.HierMo.gamma` in one."""
    listed = raw.get("algorithm", [])
    tables = [table for table in (listed if isinstance(listed, list) else [listed]) if isinstance(table, dict)]
    label, name = (None, path[0]) if len(path) == 1 else (".".join(path[:-1]), path[-1])
    if label is not None:
        labels = [str(t.get("label", t.get("name", ""))) for t in tables]
        if label not in labels:
            raise UserError(f"-s {setting}: the recipe has no algorithm '{label}'{suggestion(label, labels)}")
        tables = [table for table, own in zip(tables, labels, strict=True) if own == label]
    elif name not in ("name", "label"):
        tables = [table for table in tables if name in table or name in _options(table)]
    if not tables:
        raise UserError(f"-s {setting}: no algorithm of the recipe has '{name}'")
    for table in tables:
        table[name] = value


def _options(table: dict[str, Any]) -> dict[str, Any]:
    name = str(table.get("name", ""))
    return options(ALGORITHMS.get(name)) if name in ALGORITHMS.names() else {}


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def extended(recipe: Recipe, iterations: int) -> Recipe:
    """The same recipe with another horizon, checked."""
    raw = to_dict(replace(recipe, train=replace(recipe.train, iterations=iterations)))
    return parse(raw, name=recipe.name, folders=tuple(map(Path, recipe.import_from)))
