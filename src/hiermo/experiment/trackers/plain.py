"""Recipes, results and evaluations as flat names and plain values, which is all that trackers know."""

from collections.abc import Mapping
import json
from typing import Any

from hiermo.experiment.stored_run import flat

Scalar = str | int | float | bool

LONGEST_TEXT = 500  # what every MLflow server takes; a tree of a million workers is in the run's recipe.toml
# Trackers draw a chart for every name: one for each of ten classes helps, one for each of a thousand workers does not,
# and the worst and the spread are there too.
LONGEST_LIST = 20


def scalars(table: dict[str, Any]) -> dict[str, Scalar]:
    """Tables by dotted keys; lists as JSON.

    >>> scalars({"periods": {"tau": 10, "pi": 2}, "tree": {"groups": [[0, 1], [2]]}})
    {'periods.tau': 10, 'periods.pi': 2, 'tree.groups': '[[0, 1], [2]]'}
    """
    return {key: _scalar(value) for key, value in flat(table).items() if value is not None}


def _scalar(value: Any) -> Scalar:
    if isinstance(value, (bool, int, float)):
        return value
    return _short(value if isinstance(value, str) else json.dumps(value, default=str))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def numbers(line: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an evaluation; a short list becomes one for each of its members, a long one is left out.

    >>> numbers({"loss": 0.5, "accuracy_per_class": [0.25, None, 1.0]})
    {'loss': 0.5, 'accuracy_per_class/0': 0.25, 'accuracy_per_class/2': 1.0}
    """
    found: dict[str, Any] = {}
    for name, value in line.items():
        if isinstance(value, list):
            found |= {f"{name}/{k}": each for k, each in enumerate(value)} if len(value) <= LONGEST_LIST else {}
        else:
            found[name] = value
    return {name: value for name, value in found.items() if type(value) in (int, float)}
