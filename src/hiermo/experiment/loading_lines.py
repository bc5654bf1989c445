"""The Python lines that load an exported model."""

from dataclasses import MISSING, fields
import json
from pathlib import Path
from typing import Any

from torch import nn

from hiermo.experiment.part import Part
from hiermo.models.imported import Imported
from hiermo.models.written import written


def loading_lines(
    to: Path, model: Part, module: nn.Module, shape: tuple[int, ...], classes: int, seen: dict[str, Any]
) -> str:
    """Three lines that load the file; without hiermo, unless the model is one that only hiermo can make."""
    inputs = _inputs(shape, seen)
    if to.suffix == ".onnx":
        return (
            "import onnxruntime\n\n"
            f"session = onnxruntime.InferenceSession({json.dumps(str(to))})\n"
            f'(outputs,) = session.run(None, {{"input": inputs}})  # {inputs}'
        )
    home, made = _construction(model, module, shape, classes)
    return (
        f"import safetensors.torch, {home}\n\n"
        f"model = {made}\n"
        f"model.eval().load_state_dict(safetensors.torch.load_file({json.dumps(str(to))}))\n"
        f"# {inputs}"
    )


def _construction(model: Part, module: nn.Module, shape: tuple[int, ...], classes: int) -> tuple[str, str]:
    """(a module to import, an expression) that make such a model."""
    made = model.made
    if isinstance(made, Imported):
        home, _, name = model.name.partition(":")
        return home, f"{home}.{name}({_words(made.call(shape, classes))})"
    if plain := written(module):
        return "torch", plain
    usual = {each.name: each.default for each in fields(made) if each.default is not MISSING}
    chosen = {key: value for key, value in model.values().items() if key not in usual or value != usual[key]}
    words = _words({"shape": shape, "classes": classes, **chosen})
    return "hiermo", f'hiermo.make_model("{model.name}", {words})()'


def _words(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _inputs(shape: tuple[int, ...], seen: dict[str, Any]) -> str:
    """What the model takes, in words."""
    value = "pixels / 255" if seen["divided_by"] == 255 else "values"
    if "mean" in seen:
        value = f"({value} - mean) / deviation, which the file's metadata has as `input`"
    return f"inputs: float32 [n, {', '.join(map(str, shape))}], {value}"
