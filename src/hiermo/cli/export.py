"""`hiermo export`."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A run directory.")],
    to: Annotated[Path, typer.Option(metavar="FILE", help="What to write: NAME.safetensors or NAME.onnx.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the cloud model of a run to a file, and tell how to load it in plain PyTorch or with ONNX."""
    from hiermo.experiment.export import export as write

    about, lines = write(directory, to, force=force)
    accuracy = f", accuracy {float(about['accuracy']):.2%}" if "accuracy" in about else ""
    typer.echo(f"wrote {to}: {about['algorithm']} after {about['iterations']} iterations{accuracy}; load it with\n")
    typer.echo(lines)
