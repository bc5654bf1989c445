"""Names to classes: our own by a table, other packages' by entry point, anyone's by import path."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from pathlib import Path
import sys
from typing import Any

from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion


class Registry:
    """A kind of thing that recipes name (`algorithm`, `model`, ...); nothing is imported before it is asked for."""

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind, self.builtin = kind, dict(builtin)

    def __repr__(self) -> str:
        return f"Registry({self.kind})"

    def names(self) -> list[str]:
        """Our own in their order, then those that installed packages add."""
        return [*self.builtin, *(name for name in self._entry_points() if name not in self.builtin)]

    def get(self, name: str, search: tuple[Path, ...] = ()) -> Any:
        """The class called `name`, or at `module:Class`, looked for in the folders `search` too."""
        if ":" in name:
            return import_path(name, search)
        if name in self.builtin:
            return import_path(self.builtin[name])
        if name in (found := self._entry_points()):
            return found[name].load()
        raise UserError(f"there is no {self.kind} '{name}'{suggestion(name, self.names())}")

    def _entry_points(self) -> dict[str, Any]:
        return {point.name: point for point in entry_points(group=f"hiermo.{self.kind}s")}


def import_path(path: str, search: tuple[Path, ...] = ()) -> Any:
    """What stands at `package.module:Name`.

    >>> import_path("hiermo.topology.tree:Tree").__name__
    'Tree'
    """
    module_name, _, attribute = path.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), attribute)):
        raise UserError(f"'{path}' is not an import path: write package.module:Name")
    try:
        with _importable_from(search):
            module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        where = f" (looked in {', '.join(map(str, search))} too)" if search else ""
        raise UserError(f"'{path}': there is no module '{error.name}'{where}") from None
    if not hasattr(module, attribute):
        raise UserError(f"'{path}': module {module_name} has no '{attribute}'{suggestion(attribute, vars(module))}")
    return getattr(module, attribute)


@contextmanager
def _importable_from(folders: tuple[Path, ...]) -> Iterator[None]:
    """A recipe may name a module that lies beside it: a console script's path does not include that folder."""
    added = [str(folder) for folder in folders if str(folder) not in sys.path]
    sys.path[:0] = added
    invalidate_caches()
    try:
        yield
    finally:
        for folder in added:
            sys.path.remove(folder)
