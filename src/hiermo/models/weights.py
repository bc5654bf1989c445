"""Weights to start from, out of a safetensors file."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
import torch
from torch import Tensor, nn

from hiermo.core.errors import UserError

PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
SHOWN = 4  # names of one kind in a message: a wrong file has them by the hundred

Tensors = dict[str, Tensor]


def load_weights(module: nn.Module, path: Path | str, skip: Sequence[str] = ()) -> nn.Module:
    """The module with the weights and running statistics of a file, in its own types.

    What matches a pattern of `skip`, such as "fc.*", keeps its initial values. Everything else must be in the file,
    under the module's names and in its shapes, and the file must have nothing else.
    """
    at = f'model.weights = "{path}"'
    own = {name: tensor for name, tensor in module.state_dict().items() if isinstance(tensor, Tensor)}
    found = _read(Path(path), at)
    for pattern in skip:
        if not any(fnmatchcase(name, pattern) for name in (*own, *found)):
            raise UserError(f"model.skip: '{pattern}' matches no tensor of the model, which has {_shown(own)}")
    own, found = _without(skip, own), _without(skip, found)
    _check_agreement(at, own, found)
    cast = {name: tensor.to(own[name].dtype) for name, tensor in found.items()}
    if broken := [name for name, tensor in cast.items() if not tensor.isfinite().all()]:
        raise UserError(f"{at}: there are numbers that are not finite in {_shown(broken)}")
    with torch.no_grad():
        for name, tensor in cast.items():
            own[name].copy_(tensor)
    return module


def _read(path: Path, at: str) -> Tensors:
    if not path.is_file():
        raise UserError(f"{at}: there is no such file")
    if path.suffix in PICKLED:
        raise UserError(
            f"{at} is a pickle, which could run anything when read; make a safetensors file of it, once:\n"
            "import torch, safetensors.torch\n"
            f'safetensors.torch.save_file(torch.load("{path}", weights_only=True), "{path.stem}.safetensors")'
        )
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{at}: damaged, or not a safetensors file: {error}") from None


def _without(skip: Sequence[str], tensors: Tensors) -> Tensors:
    return {name: tensor for name, tensor in tensors.items() if not any(fnmatchcase(name, each) for each in skip)}


def _check_agreement(at: str, own: Tensors, found: Tensors) -> None:
    both = [name for name in found if name in own]
    if own and not both:
        raise UserError(f"{at} is not of this model: it has {_shown(found)}, the model has {_shown(own)}")
    wrong = {
        "it lacks": _missing(own, found),
        "it has more": [name for name in found if name not in own],
        "of another shape or type": [name for name in both if not _fits(own[name], found[name])],
    }
    if told := [f"{what}: {_shown(names)}" for what, names in wrong.items() if names]:
        layers = dict.fromkeys(_layer(name) for names in wrong.values() for name in names)
        raise UserError(
            f"{at} is not of this model ({'; '.join(told)}); to keep the initial values of some, name them, "
            f"as in model.skip = {json.dumps(list(layers)[:SHOWN])}"
        )


def _missing(own: Tensors, found: Tensors) -> list[str]:
    """A tied tensor may be in the file under one of its names; BatchNorm's count of batches came late to PyTorch."""
    held = {own[name].data_ptr() for name in found if name in own}
    names = [name for name in own if name not in found and not name.endswith("num_batches_tracked")]
    return [name for name in names if own[name].data_ptr() not in held]


def _fits(own: Tensor, found: Tensor) -> bool:
    return own.shape == found.shape and own.is_floating_point() == found.is_floating_point()


def _layer(name: str) -> str:
    """The pattern of a layer's tensors: `fc.*` for `fc.weight`."""
    layer, dot, _ = name.rpartition(".")
    return f"{layer}.*" if dot else name


def _shown(names: Iterable[str]) -> str:
    """The first few, and how many more."""
    some = list(names)
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return f"{', '.join(some[:SHOWN])}{more}" if some else "nothing"
