"""The whole state of a run, at one point of its plan."""

from dataclasses import dataclass
from typing import Any

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.plan import Event
from hiermo.core.record import of


@dataclass(frozen=True, eq=False)
class State:
    """Every tier's record and where the run stands; a run can go on from it.

    `tiers[k]` is a record whose fields are `[n, d]`, one row per node of tier k, workers first.
    """

    tiers: tuple[Any, ...]
    down: Any  # last message received, one row per node of tier 1: siblings share it
    buffers: tuple[Any, ...] | None  # running statistics of the model, per tier; None where it has none
    t: int  # iterations done
    rounds: int  # cloud merges done
    position: int  # events of the plan done, since `start`
    start: int  # iteration at which these periods began, a cloud merge
    periods: tuple[int, ...]
    seed: int
    event: Event | None = None  # the last one
    elapsed: Any = None  # simulated seconds, bytes and worker-steps so far, where the run has a clock
    before: Any = None  # the same when these periods began, where there were others before

    @property
    def model(self) -> Any:
        """The flat cloud vector `[d]`."""
        return self.tiers[-1].x[0]

    @property
    def model_buffers(self) -> Any:
        """The cloud's running statistics `[b]`, or None."""
        return None if self.buffers is None else self.buffers[-1][0]

    def __repr__(self) -> str:
        return f"State(t={self.t}, rounds={self.rounds}, periods={self.periods}, tiers={len(self.tiers)})"


PLACE = ("t", "rounds", "position", "start", "periods", "seed")


def to_arrays(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """(name -> array, place in the run): what a checkpoint stores."""
    arrays = {f"tier{k}.{name}": value for k, tier in enumerate(state.tiers) for name, value in tier._asdict().items()}
    arrays |= {f"down.{name}": value for name, value in state.down._asdict().items()}
    arrays |= {f"buffers{k}": value for k, value in enumerate(state.buffers or ())}
    return arrays, {name: getattr(state, name) for name in PLACE}


def from_arrays(algorithm: Algorithm, x: Any, tiers: int, arrays: dict[str, Any], place: dict[str, Any]) -> State:
    """The state that `to_arrays` took apart; `x` is any model of the right kind."""

    def record(kind: Any, prefix: str) -> Any:
        try:
            return kind(*(arrays[f"{prefix}.{name}"] for name in kind._fields))
        except KeyError as error:
            raise UserError(f"this state lacks {error}: it was saved by another algorithm") from None

    kinds = tuple(type(each) for each in algorithm.init(x))
    buffers = tuple(arrays[f"buffers{k}"] for k in range(tiers)) if "buffers0" in arrays else None
    return State(
        tiers=tuple(record(of(kinds, k), f"tier{k}") for k in range(tiers)),
        down=record(of(algorithm.down, 0), "down"),
        buffers=buffers,
        **{**place, "periods": tuple(place["periods"])},
    )
