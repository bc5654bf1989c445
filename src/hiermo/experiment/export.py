"""The cloud model of a run as a file of its own, for plain PyTorch or for ONNX.

The data set is not needed: what the model was made for is in the run's provenance.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.torch import save_file
import torch
from torch import Tensor, nn

from hiermo._version import __version__
from hiermo.core.errors import UserError
from hiermo.core.files import write_atomically
from hiermo.engine.state import State, from_arrays
from hiermo.experiment import checkpoint
from hiermo.experiment.assemble import start_of
from hiermo.experiment.loading_lines import loading_lines
from hiermo.experiment.onnx_file import write_onnx
from hiermo.experiment.recipe import FORMAT, Recipe
from hiermo.experiment.run_directory import RunDirectory, opened
from hiermo.models.flat import Flat
from hiermo.problems.supervised import draw_seed

SUFFIXES = (".safetensors", ".onnx")


class Exported(NamedTuple):
    """What was written, in words, and the Python lines that load it."""

    about: dict[str, str]
    lines: str


def export(path: Path, to: Path, *, force: bool = False) -> Exported:
    """Writes the cloud model of the run at `path` to the file `to`, whose suffix says how."""
    _check_target(to, force)
    directory = _single(path)
    recipe = directory.recipe()
    state = _last_state(directory, recipe)
    entry = _made_for(directory)
    shape, classes = tuple(entry["shape"]), entry["classes"]
    module = _start(recipe, shape, classes)
    flat = Flat(module)
    statistics = () if state.model_buffers is None else state.model_buffers
    if (len(state.model), len(statistics)) != (flat.parameters.size, flat.buffers.size):
        raise UserError(f"{directory.checkpoint_path} is not of this run: it has another model")
    flat.load(module, torch.as_tensor(state.model), torch.as_tensor(statistics)).eval()
    about = _about(directory, recipe, state, entry)
    if to.suffix == ".onnx":
        write_onnx(to, module, shape, about)
    else:
        tensors = {name: _own_copy(directory, name, value) for name, value in module.state_dict().items()}
        # "format" is what other programs look for
        write_atomically(to, lambda side: save_file(tensors, side, {"format": "pt", **about}))
    return Exported(about, loading_lines(to, recipe.model, module, shape, classes, entry["input"]))


def _check_target(to: Path, force: bool) -> None:
    if to.suffix not in SUFFIXES:
        raise UserError(f"--to {to}: the name must end in {' or '.join(SUFFIXES)}")
    if to.is_dir() or not to.parent.is_dir():
        raise UserError(f"--to {to}: {'that is a folder' if to.is_dir() else f'there is no folder {to.parent}'}")
    if to.exists() and not force:
        raise UserError(f"--to {to}: the file exists already; name another, or add --force to overwrite it")


def _single(path: Path) -> RunDirectory:
    found = opened(path)
    if len(found) > 1:
        names = ", ".join(str(each.path) for each in found)
        raise UserError(f"{path} holds {len(found)} runs; name one of them: {names}")
    return found[0]


def _last_state(directory: RunDirectory, recipe: Recipe) -> State:
    """Of the last checkpoint, in numpy arrays."""
    (part,) = recipe.algorithms
    file = directory.checkpoint_path
    if not file.is_file():
        raise UserError(f"{directory.path} has no checkpoint yet; train it first: hiermo resume {directory.path}")
    arrays, place, _ = checkpoint.load(file)
    try:
        # the vector's length plays no part: it makes the records whose fields are looked for
        state = from_arrays(part.made, np.zeros(1), recipe.placed(part)[0].tiers, arrays, place)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    if not state.rounds:
        raise UserError(
            f"{directory.path} has not come to its first cloud merge; go on with it: hiermo resume {directory.path}"
        )
    return state


def _made_for(directory: RunDirectory) -> dict[str, Any]:
    """The last entry of the provenance: shape of a sample, classes, and what was done to the samples."""
    path = directory.provenance_path
    starts = directory.read_json(path).get("starts", []) if path.is_file() else []
    if not starts or not {"shape", "classes", "input"} <= starts[-1].keys():
        raise UserError(f"{path} does not say what data the model was made for; the run is not whole, or too old")
    found: dict[str, Any] = starts[-1]
    return found


def _start(recipe: Recipe, shape: tuple[int, ...], classes: int) -> nn.Module:
    """The module; what is trained will be overwritten, and frozen parameters are as `Supervised` has them."""
    module: nn.Module = recipe.model.made.build(shape, classes)
    if all(parameter.requires_grad for parameter in module.parameters()):
        return module
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw_seed(0, "initial model"))
        return start_of(recipe, shape, classes)


def _own_copy(directory: RunDirectory, name: str, value: Any) -> Tensor:
    """Safetensors takes no memory twice: a tied tensor is written under each of its names, as PyTorch asks for it."""
    if not isinstance(value, Tensor):
        raise UserError(
            f"{directory.path}: the model keeps something that is not a tensor in '{name}'; it cannot be exported"
        )
    return value.detach().clone(memory_format=torch.contiguous_format)


def _about(directory: RunDirectory, recipe: Recipe, state: State, entry: dict[str, Any]) -> dict[str, str]:
    """The metadata of the file: texts, those of lists and tables in JSON."""
    (part,) = recipe.algorithms
    evaluated = [line for line in directory.evaluations() if line["cloud_round"] == state.rounds]
    about = {
        "hiermo": __version__,
        "hiermo_format": FORMAT,
        "model": {"name": recipe.model.name, **recipe.model.values()},
        "shape": entry["shape"],
        "classes": entry["classes"],
        "class_names": entry.get("class_names") or None,
        "input": entry["input"],
        "data": recipe.source.name,
        "algorithm": part.name,
        "seed": recipe.train.seed,
        "iterations": state.t,
        "cloud_rounds": state.rounds,
        "accuracy": evaluated[-1].get("accuracy") if evaluated else None,
        "loss": evaluated[-1]["loss"] if evaluated else None,
    }
    return {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in about.items() if value is not None
    }
