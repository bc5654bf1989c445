"""A torch module as an ONNX file."""

import logging
from pathlib import Path
import warnings

import torch
from torch import nn

from hiermo.core.errors import UserError
from hiermo.core.files import write_atomically


def write_onnx(path: Path, module: nn.Module, shape: tuple[int, ...], about: dict[str, str]) -> None:
    """`input` is a batch of any size, as the module takes it; `output` is what the module returns."""
    try:
        import onnx
        import onnxscript  # noqa: F401 - torch's exporter needs it
    except ImportError as error:
        raise UserError(f"--to {path} needs the package {error.name}: pip install 'hiermo[onnx]'") from None
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it tells of packages that it can do without
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch about torch
            program = torch.onnx.export(
                module,
                (torch.zeros(2, *shape),),
                input_names=["input"],
                output_names=["output"],
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # whatever a module does that ONNX cannot say
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise UserError(f"--to {path}: torch cannot write this model as ONNX: {reason}") from error
    finally:
        logger.setLevel(level)
    assert program is not None
    model = program.model_proto
    onnx.helper.set_model_props(model, about)
    write_atomically(path, lambda side: side.write_bytes(model.SerializeToString()))
