"""`extends = "paper/cnn-mnist"`: a recipe that says only in what it differs from another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hiermo.core.errors import UserError

NAMED_BY = {"model": "name", "partition": "kind", "edges": "kind", "schedule": "kind"}  # of which kind a table is
WHOLE = ("tree", "delays", "until")  # their keys go together
DEEPEST = 8  # recipes one behind the other


def with_inherited(
    raw: dict[str, Any], path: Path, find: Callable[[str], Path], read: Callable[[Path], dict[str, Any]]
) -> dict[str, Any]:
    """The recipe with all that it takes over; `extends` names a shipped recipe, or a file beside this one."""
    behind: list[tuple[dict[str, Any], Path]] = [(raw, path)]
    while (base := behind[-1][0].get("extends")) is not None:
        last = behind[-1][1]
        if not isinstance(base, str):
            raise UserError(f"{last}: extends must be the name or the file of a recipe, not {base!r}")
        if len(behind) > DEEPEST:
            raise UserError(f"{last}: extends = {base!r}: more than {DEEPEST} recipes one behind the other")
        try:
            found = beside if (beside := last.parent / base).is_file() else find(base)
        except UserError as error:
            raise UserError(f"{last}: extends: {error}") from None
        if any(found.resolve() == known.resolve() for _, known in behind):
            raise UserError(f"{last}: extends = {base!r} leads back to {found.name}")
        behind.append((read(found), found))
    whole: dict[str, Any] = {}
    for said, _ in reversed(behind):
        whole = merged(whole, {key: value for key, value in said.items() if key != "extends"})
    return whole


def merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Tables key by key; a list, a tree, or a table of another kind takes the place of the one before.

    >>> merged({"model": {"name": "cnn", "hidden": [9]}, "train": {"batch": 64}}, {"model": {"name": "mlp"}})
    {'model': {'name': 'mlp'}, 'train': {'batch': 64}}
    """
    found = dict(base)
    for key, value in own.items():
        before = base.get(key)
        name = NAMED_BY.get(key, "")
        other = (
            isinstance(value, dict) and name in value and isinstance(before, dict) and before.get(name) != value[name]
        )
        both = isinstance(value, dict) and isinstance(before, dict) and key not in WHOLE and not other
        found[key] = merged(before, value) if both and isinstance(before, dict) else value
    return found
