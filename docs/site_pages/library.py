"""The page on the library: every public name, for mkdocstrings to fill in."""

from collections.abc import Iterable

import hiermo
from hiermo.algorithms import ALGORITHMS

HEAD = """# Library

The public names of `hiermo`, from their docstrings. All are imported on first use: `import hiermo` does not wait for
torch.
"""
ALGORITHMS_HEAD = """## Algorithms

Formulas, citations and pictures are on the [pages of the algorithms](algorithms/README.md); here are their parameters.
"""
GROUPS = {
    "Run": ("run", "run_many", "State"),
    "Tree": ("Tree",),
    "Problems": ("Supervised", "Quadratic", "Problem"),
    "Data and models": ("load_data", "Dataset", "Partitioned", "make_model"),
    "Time and absence": ("Clock", "Delays", "Absence"),
    "Write an algorithm": ("Algorithm", "Model", "check_algorithm"),
    "Errors": ("HiermoError", "UserError", "Diverged"),
}


def library_page() -> str:
    algorithms = ALGORITHMS.builtin
    grouped = {*algorithms, *(name for names in GROUPS.values() for name in names)}
    others = [name for name in hiermo.__all__ if name not in grouped and not name.startswith("_")]
    groups = {**GROUPS, "Results": others} if others else GROUPS
    parts = [f"## {title}\n\n{_entries(names)}" for title, names in groups.items()]
    return "\n".join([HEAD, *parts, ALGORITHMS_HEAD, _entries(algorithms)])


def _entries(names: Iterable[str]) -> str:
    return "\n".join(f"::: hiermo.{name}\n" for name in names)
