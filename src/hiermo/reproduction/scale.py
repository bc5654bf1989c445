"""Shorter versions of a study: fewer iterations alone, or everything smaller."""

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

from hiermo.core.errors import UserError
from hiermo.experiment import recipe_file

LEAST_SHARE = 0.01  # of a worker's samples
LEAST_TEST, MOST_TEST = 16, 2000  # samples that a scaled-down run is judged on
LEAST_WIDTH = 4  # channels or units of a layer
WIDTHS = ("channels", "hidden")


def shortened(recipe: str, settings: Sequence[str], scale: float, iterations: int | None, heavy: bool) -> list[str]:
    """Settings that make a run of this recipe shorter; what is varied must be among `settings`.

    `iterations` are rounded down to whole cloud rounds. With `scale` below 1 there are fewer iterations, samples per
    worker and samples to judge by, and smaller batches where the model is heavy; where less than one cloud round would
    be left, the rounds are shortened.
    """
    raw = recipe_file.changed(recipe, settings).raw
    periods, wanted = _periods(raw), int(raw["train"]["iterations"])
    if iterations is not None:
        wanted = min(wanted, iterations)
        if wanted < prod(periods):
            raise UserError(f"--iterations {iterations}: a cloud round of this study is {prod(periods)} iterations")
    if scale == 1:
        return [f"train.iterations={wanted // prod(periods) * prod(periods)}"]
    wanted = max(1, round(scale * wanted))
    short = _fitting(periods, wanted)
    found = [f"periods={list(short)}", f"train.iterations={max(1, wanted // prod(short)) * prod(short)}"]
    found += _fewer_samples(raw, scale)
    if heavy:
        found.append(f"train.batch={max(2, round(scale * raw['train'].get('batch', 64)))}")
    return found


def slimmed(recipe: str, settings: Sequence[str], scale: float) -> list[str]:
    """Settings with which `scale` of a time budget goes about as far as the whole of it with the recipe itself.

    Layers are narrower by the root of it, so that computing and messages take about `scale` of their time; periods are
    as they were, for they are what is looked for.
    """
    changed = recipe_file.changed(recipe, settings)
    model = recipe_file.checked(changed.raw, changed.path).model.values()
    found = _fewer_samples(changed.raw, scale)
    for name in WIDTHS:
        if name in model:
            narrow = [max(LEAST_WIDTH, round(sqrt(scale) * width)) for width in model[name]]
            found.append(f"model.{name}={narrow}")
    return found


def _fewer_samples(raw: dict[str, Any], scale: float) -> list[str]:
    """To train on and to judge by."""
    judged = min(MOST_TEST, max(LEAST_TEST, round(10_000 * scale)))
    found = [f"data.share={max(scale, LEAST_SHARE):g}", f"evaluate.test={judged}"]
    return [*found, f"evaluate.train={judged}"] if raw.get("evaluate", {}).get("train") else found


def _periods(raw: dict[str, Any]) -> tuple[int, ...]:
    given = raw["periods"]
    return tuple(given) if isinstance(given, list) else (given["tau"], *([given["pi"]] if "pi" in given else []))


def _fitting(periods: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Periods whose product is at most so much: the lowest is shortened first.

    >>> _fitting((20, 2), 1000), _fitting((20, 2), 8), _fitting((5, 20), 8)
    ((20, 2), (4, 2), (1, 8))
    """
    found = list(periods)
    for k in range(len(found)):
        if prod(found) > most:
            found[k] = max(1, min(found[k], most // (prod(found) // found[k])))
    return tuple(found)
