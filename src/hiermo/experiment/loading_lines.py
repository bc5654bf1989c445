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
    """Python that loads the file; without hiermo, unless the model is one that only hiermo can make."""
    inputs = _inputs(shape, seen)
    if to.suffix == ".onnx":
        return (
            "import onnxruntime\n\n"
            f"session = onnxruntime.InferenceSession({json.dumps(str(to))})\n"
            f'(outputs,) = session.run(None, {{"input": inputs}})  # {inputs}'
        )
    imports, made = _construction(model, module, shape, classes)
    return (
        f"{imports}\nfrom safetensors.torch import load_file\n\n"
        f"model = {made}\n"
        f"model.load_state_dict(load_file({json.dumps(str(to))}))\n"
        f"model.eval()  # {inputs}"
    )


def _construction(model: Part, module: nn.Module, shape: tuple[int, ...], classes: int) -> tuple[str, str]:
    """(an import, an expression) that make such a module."""
    made = model.made
    if isinstance(made, Imported):
        home, _, name = model.name.partition(":")
        return f"from {home} import {name}", f"{name}({_words(made.call(shape, classes))})"
    if plain := written(module):
        return "from torch import nn", plain
    usual = {each.name: each.default for each in fields(made) if each.default is not MISSING}
    chosen = {key: value for key, value in model.values().items() if key not in usual or value != usual[key]}
    words = _words({"shape": shape, "classes": classes, **chosen})
    return "import hiermo", f'hiermo.make_model("{model.name}", {words})()'


def _words(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _inputs(shape: tuple[int, ...], seen: dict[str, Any]) -> str:
    """What the model takes, in words."""
    value = "pixels / 255" if seen["divided_by"] == 255 else "values"
    if "mean" in seen:
        value = f"({value} - mean) / deviation, which the file's metadata has as `input`"
    return f"inputs: float32 [n, {', '.join(map(str, shape))}], {value}"
