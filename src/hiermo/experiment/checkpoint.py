"""The whole state of a run in one safetensors file; its place in the run is JSON in the same file's header.

One file, so that tensors and place cannot disagree after a kill.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from hiermo.core.errors import UserError
from hiermo.core.files import write_atomically
from hiermo.engine.state import PLACE, State, to_arrays
from hiermo.experiment.recipe import FORMAT


def save(path: Path, state: State, elapsed_s: float) -> None:
    arrays, place = to_arrays(state)
    host = {name: np.ascontiguousarray(_on_host(array)) for name, array in arrays.items()}
    about = json.dumps({"format": FORMAT, "elapsed_s": elapsed_s, **place})
    write_atomically(path, lambda side: save_file(host, side, {"hiermo": about}))


def load(path: Path) -> tuple[dict[str, Any], dict[str, Any], float]:
    """(arrays, place in the run, seconds of training before it)."""
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("hiermo", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path}: damaged checkpoint: {error}") from None
    if about.get("format") != FORMAT:
        raise UserError(f"{path}: has format {about.get('format')}, and this version of hiermo reads {FORMAT}")
    return arrays, {name: about[name] for name in PLACE}, float(about["elapsed_s"])


def _on_host(array: Any) -> Any:
    return array.detach().cpu().numpy() if hasattr(array, "detach") else array
