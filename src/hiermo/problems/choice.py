"""How gradients are computed: a fixed rule on the model, never a timing: a recipe always gives the same bits."""

from typing import Any, Literal, get_args

from torch import nn

from hiermo.core.errors import UserError
from hiermo.problems.batched import misfit

Gradients = Literal["auto", "batched", "pooled"]
BATCHED_PARAMETERS = 500_000  # up to there it is faster for 4, 16 and 64 workers: benchmarks/batched_or_pooled.py
RULE = f"batched for stacks of fully connected layers with up to {BATCHED_PARAMETERS:,} parameters, else pooled"


def chosen_gradients(
    asked: Gradients, module: nn.Module, loss: Any, sample: tuple[int, ...], batch: int, *, labels: bool
) -> tuple[Literal["batched", "pooled"], str]:
    """The way, and why."""
    if asked not in get_args(Gradients):
        raise UserError(f"engine.gradients must be one of {', '.join(get_args(Gradients))}, not {asked!r}")
    if asked == "pooled":
        return "pooled", "as engine.gradients says"
    reason = misfit(module, sample, batch)
    if not isinstance(loss, str):
        reason = "its loss is a function of its own"
    elif loss == "cross_entropy" and not labels:
        reason = "its targets are not labels"
    if asked == "batched":
        if reason is not None:
            raise UserError(f'engine.gradients = "batched" cannot compute this model: {reason}; use "auto" or "pooled"')
        return "batched", "as engine.gradients says"
    size = sum(parameter.numel() for parameter in module.parameters())
    if reason is None and size > BATCHED_PARAMETERS:
        reason = f"it has {size:,} parameters, more than {BATCHED_PARAMETERS:,}"
    if reason is None:
        return "batched", f"a stack of fully connected layers with {size:,} parameters"
    return "pooled", reason
