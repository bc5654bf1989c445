"""Any torch module, at an import path: a class, or a function that makes one."""

from collections.abc import Mapping
from inspect import isclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hiermo.core.errors import HiermoError, UserError
from hiermo.core.signature import call_faults, parameters

if TYPE_CHECKING:
    from torch import nn

LOSSES = ("cross_entropy", "mse")


class Imported(NamedTuple):
    """What stands at the path, and the keyword arguments to call it with.

    Arguments called `shape` (of one sample) and `classes` are filled in from the data where they are not given. It is
    trained with cross-entropy unless its attribute `loss` says "mse".
    """

    target: Any
    arguments: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(getattr(self.target, "__qualname__", repr(self.target)))

    @property
    def summary(self) -> str:
        said = (getattr(self.target, "__doc__", None) or "").strip()
        return said.splitlines()[0] if said else f"{self.name} of module {getattr(self.target, '__module__', '?')}"

    @property
    def loss(self) -> str:
        wanted = getattr(self.target, "loss", None)
        return wanted if isinstance(wanted, str) else LOSSES[0]

    def values(self) -> dict[str, Any]:
        return dict(self.arguments)

    def faults(self, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
        """(argument, what is wrong) for each that the target would not take; "" where the target itself is wrong."""
        if not callable(self.target) or (hasattr(self.target, "state_dict") and not isclass(self.target)):
            return [("", f"{self.name} is neither a class of torch.nn.Module nor a function that makes one")]
        found = []
        if self.loss not in LOSSES:
            found.append(("", f"{self.name} asks for loss = '{self.loss}'; known are {', '.join(LOSSES)}"))
        filled = ("shape", "classes")
        return found + call_faults(parameters(self.target), self.name, arguments, "an argument", filled)

    def call(self, shape: tuple[int, ...], classes: int) -> dict[str, Any]:
        """The keyword arguments of the call that makes the module."""
        taken = parameters(self.target)
        filled = {name: value for name, value in (("shape", shape), ("classes", classes)) if name in taken}
        return filled | dict(self.arguments)

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        words = self.call(shape, classes)
        written = f"{self.name}({', '.join(f'{name}={value!r}' for name, value in words.items())})"
        try:
            module = self.target(**words)
        except HiermoError:
            raise
        except Exception as error:  # whatever somebody else's module does
            raise UserError(f"model: {written} raised {type(error).__name__}: {error}") from error
        if not isinstance(module, nn.Module):
            raise UserError(f"model: {written} is a {type(module).__name__}, not a torch.nn.Module")
        return module
