"""What an algorithm's events take: bytes of its messages, and how many gradients its hooks ask for."""

from typing import Any

import numpy as np

from hiermo.clock.ledger import messages_of
from hiermo.clock.timeline import Costs
from hiermo.core.algorithm import Algorithm
from hiermo.core.problem import ModelSize
from hiermo.core.record import of, pick


def costs_of(algorithm: Algorithm, tiers: int, model: ModelSize) -> Costs:
    """`algorithm` is bound.

    >>> from hiermo.algorithms.mime import Mime
    >>> costs = costs_of(Mime(), 2, ModelSize(parameters=10))
    >>> costs.up, costs.down, costs.asked, costs.told, costs.gradients
    ((40,), (80,), (40,), (40,), 2)
    """
    links = messages_of(algorithm, tiers)
    calls = gradient_calls(algorithm)
    return Costs(
        up=tuple(each.up.bytes(model) for each in links),
        down=tuple(each.down.bytes(model) for each in links),
        asked=tuple(each.asked.bytes(model) for each in links),
        told=tuple(each.told.bytes(model) for each in links),
        gradients=calls["step"],
        full=np.asarray(model.batches, float),
        full_on_sending=calls["send"] > 0,
    )


def work_of(algorithm: Algorithm, tree: Any, model: ModelSize, tier: int) -> float:
    """Floating-point operations of a gradient of one batch, or of a merge of all children of a node."""
    if tier == 0:
        return model.flops
    vectors = messages_of(algorithm, len(tree.counts))[tier - 1].up.vectors
    children = tree.counts[tier - 1] / tree.counts[tier]
    return float(2 * vectors * model.parameters * children)  # a product and a sum for every number that comes in


def gradient_calls(algorithm: Algorithm) -> dict[str, int]:
    """How often an iteration asks for a gradient, and sending for a full one: seen by trying it."""
    calls = {"step": 0, "send": 0}

    def counted(hook: str) -> Any:
        def gradient(x: Any) -> Any:
            calls[hook] += 1
            return 0 * x

        return gradient

    records = algorithm.init(np.zeros(2))
    w, down = of(records, 0), pick(of(algorithm.down, 0), of(records, 1))
    algorithm.step(w, down, counted("step"))
    algorithm.send(w, down, counted("send"))
    return calls
