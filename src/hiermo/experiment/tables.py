"""The tables of a recipe whose keys are fixed."""

from dataclasses import dataclass
from typing import Annotated, Literal

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count, Location, Range, Rate, Seconds, Weight
from hiermo.topology.tree import Tree


@dataclass(frozen=True, kw_only=True)
class TreeTable:
    """`[tree]`: one of the ways to say who is under whom."""

    edges: Count | None = None
    workers_per_edge: Count | tuple[Count, ...] | None = None
    workers: Count | None = None  # directly under the cloud: two tiers
    branching: tuple[Count, ...] | None = None  # children per node, from the cloud downwards
    groups: tuple[tuple[int, ...], ...] | None = None  # the workers of each edge
    parents: tuple[tuple[int, ...], ...] | None = None  # any depth, from the workers upwards
    flatten: bool = False  # two-tier algorithms get the flattened tree and the product of the periods
    assign: Literal["given", "similar", "mixed", "random"] = "given"  # which worker's data goes under which edge

    def build(self) -> Tree:
        ways = {
            "edges": lambda: Tree.regular(edges=self.edges or 0, workers_per_edge=self._per_edge()),
            "workers": lambda: Tree.branching(self.workers or 0),
            "branching": lambda: Tree.branching(*self.branching or ()),
            "groups": lambda: Tree.from_groups(self.groups or ()),
            "parents": lambda: Tree.from_parents(*self.parents or ()),
        }
        given = [name for name in ways if getattr(self, name) is not None]
        if len(given) != 1:
            raise UserError(f"tree: give exactly one of {', '.join(ways)}, not {' and '.join(given) or 'none'}")
        if self.workers_per_edge is not None and given != ["edges"]:
            raise UserError(f"tree.workers_per_edge goes with tree.edges, not with tree.{given[0]}")
        return ways[given[0]]()

    def _per_edge(self) -> int | tuple[int, ...]:
        if self.workers_per_edge is None:
            raise UserError("tree.workers_per_edge is missing: it goes with tree.edges")
        return self.workers_per_edge


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """`[data]`, but the source and who holds what."""

    share: Annotated[float, Range(gt=0, le=1)] = 1.0  # every worker keeps a fixed sample of what it holds, this much


@dataclass(frozen=True, kw_only=True)
class PeriodsTable:
    """`[periods]`: iterations per edge round, edge rounds per cloud round."""

    tau: Count
    pi: Count | None = None


@dataclass(frozen=True, kw_only=True)
class WeightsTable:
    """`model.weights` and `model.skip`: where the model starts from."""

    weights: Location | None = None  # a safetensors file; without one, the model's own initialisation
    skip: tuple[str, ...] = ()  # patterns of the tensors that are not taken from it, as "fc.*"


@dataclass(frozen=True, kw_only=True)
class InputTable:
    """`[input]`: what is done to samples on their way into the model."""

    normalise: bool = False  # to mean 0 and deviation 1 per channel, as measured on the training set
    crop: Annotated[int, Range(ge=0)] = 0  # training images are shifted by up to so many pixels, zeros come in
    flip: bool = False  # half of the training images are mirrored left to right


@dataclass(frozen=True, kw_only=True)
class TrainTable:
    """`[train]`."""

    iterations: Count
    batch: Count = 64
    seed: Annotated[int, Range(ge=0)] = 0
    weight_decay: Weight = 0.0  # added to the gradient, before any momentum
    clip_norm: Rate | None = None  # longer gradients of a worker's batch are shortened to this
    until: dict[str, float] | None = None  # stop at the first evaluation that meets all, e.g. { accuracy = 0.95 }


@dataclass(frozen=True, kw_only=True)
class EvaluateTable:
    """`[evaluate]`."""

    every: Count = 1  # cloud rounds
    test: Count | None = None  # on a fixed sample of so many of the test set; without it, on all
    train: bool | Count = False  # also on the training set: true, or a fixed sample of so many
    batch: Count = 1000
    per: tuple[Literal["class", "worker", "edge"], ...] = ()  # measure each of them too, the worst and the spread


@dataclass(frozen=True, kw_only=True)
class EngineTable:
    """`[engine]`."""

    name: Literal["stacked", "pernode"] = "stacked"
    device: str = "cpu"
    dtype: Literal["float32", "float64"] = "float32"
    gradients: Literal["auto", "batched", "pooled"] = "auto"  # several workers as one, or one per thread
    convolutions: Literal["fast", "direct"] = "fast"  # with fewer multiplications where that is possible; or torch's
    threads: Count | None = None  # as many as torch would use
    checkpoint_s: Seconds = 10.0  # at least this long between two checkpoints
