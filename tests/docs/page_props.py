"""Files that pages speak of as the reader's own: they are put into the folder when a line first names them."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
import shutil

EXAMPLES = Path(__file__).parents[2] / "examples"
TRACE = "node,kind,seconds,bytes\nworker,compute,0.2,\nworker,up,0.4,13306960\nworker,up,0.003,0\nedge,compute,0.01,\n"
MINE = '''
from hiermo import HierFAVG
import torch

class MyAlgorithm(HierFAVG):
    """One of my own."""

class Net(torch.nn.Sequential):
    def __init__(self, shape, classes, width):
        super().__init__(torch.nn.Flatten(), torch.nn.Linear(784, width), torch.nn.Linear(width, classes))
'''


def _trace(file: Path) -> None:
    file.write_text(TRACE)


def _recipe(file: Path) -> None:
    starter = (files("hiermo.experiment") / "starter.toml").read_text()
    file.write_text(starter.replace('name = "starter"\n', ""))  # it is called as its file is


def _module(file: Path) -> None:
    file.write_text(MINE)


def _example(file: Path) -> None:
    shutil.copy(EXAMPLES / file.name, file)


def _weights(file: Path) -> None:
    import torch

    torch.save({"fc.bias": torch.zeros(10)}, file)


PROPS: dict[str, Callable[[Path], None]] = {
    "my.csv": _trace,
    "measured.csv": _trace,
    "my.toml": _recipe,
    "my_file.py": _module,
    "my_data.py": lambda file: shutil.copy(EXAMPLES / "own-data/my_data.py", file),
    "own_model.py": _example,
    "own_model.toml": _example,
    "resnet18.pth": _weights,
}


def put(folder: Path, text: str) -> None:
    """What `text` names, as a file or, up to its colon, as an import path."""
    for name, make in PROPS.items():
        named = name in text or f"{Path(name).stem}:" in text or f"import {Path(name).stem}" in text
        if named and not (folder / name).exists():
            make(folder / name)
    if "own_model.toml" in text:
        put(folder, "own_model.py")
