"""What is wrong with a recipe, all of it at once."""

from typing import Any

from hiermo.core.errors import UserError
from hiermo.core.parameter import faults, locations
from hiermo.experiment.located import Folders, located


def frozen(value: Any) -> Any:
    """Lists of TOML as tuples."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


class Faults:
    """Collects what is wrong, so that a user sees all of it at once."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def add(self, key: str, what: str, joint: str = "") -> None:
        self.faults.append(f"{key}{joint} {what}")

    def table(self, key: str, value: Any) -> dict[str, Any] | None:
        """The value, or None with the fault noted."""
        if isinstance(value, dict):
            return value
        self.add(key, f"must be a table, not {value!r}")
        return None

    def make(self, kind: Any, key: str, raw: dict[str, Any], folders: Folders = ()) -> Any:
        """The table as a `kind`, its paths looked for in `folders`; or None with the faults noted."""
        values = self.table(key, raw.get(key, {}))
        if values is None:
            return None
        wrong = faults(kind, values)
        for name, what in wrong:
            in_recipe = what.replace(f"a parameter of {kind.__name__}", f"a key of [{key}]")
            self.add(f"{key}.{name}", in_recipe.replace(f": {kind.__name__} needs it", ""))
        if wrong:
            return None
        paths = locations(kind)
        return kind(
            **{name: located(value, folders) if name in paths else frozen(value) for name, value in values.items()}
        )

    def raise_if_any(self) -> None:
        if self.faults:
            raise UserError("\n".join(self.faults))
