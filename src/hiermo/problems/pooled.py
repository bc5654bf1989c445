"""Gradients of a module at a flat vector, one worker at a time on any thread."""

from threading import local
from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hiermo.models.flat import Flat, in_type_of
from hiermo.problems.losses import Mean
from hiermo.problems.rewritten import rewritten

Convolutions = Literal["fast", "direct"]
REGISTER = 64  # bytes; torch's own allocations begin at multiples of it


class OneWorker:
    """The gradient of one worker, for any module; safe to call from several threads.

    Images are handed to it with their channels last, if the module can take them so: pooling and the first convolution
    are several times faster on a CPU. Some cannot, which take activations apart with `view`: see `channels_last`.
    """

    def __init__(self, module: nn.Module, flat: Flat, loss: Mean, convolutions: Convolutions = "fast") -> None:
        self.module, self.flat, self.loss, self.convolutions = module, flat, loss, convolutions
        self.channels_last = True
        self._here = local()

    def __call__(self, inputs: Tensor, targets: Tensor, x: Tensor, result: Tensor, buffers: Tensor | None) -> None:
        """Writes into `result`; running statistics move in place where they are given."""
        if x.data_ptr() % REGISTER:
            x = x.clone()  # products of matrices have other bits at other places in memory
        own = self.flat.parameters.views(x)
        values = {name: self.laid_out(view.detach()).requires_grad_() for name, view in own.items()}
        state = values | self.statistics(buffers)  # where a module assigns a buffer, the call puts the new one in here
        outputs = functional_call(self.own_module(training=True), state, (self.laid_out(inputs),))
        found = torch.autograd.grad(self.loss(outputs, targets), list(values.values()), materialize_grads=True)
        for place, piece in zip(self.flat.parameters.views(result).values(), found, strict=True):
            place.copy_(piece)
        if buffers is not None:
            for name, view in self.flat.buffers.views(buffers).items():
                view.copy_(state[name].detach())

    def outputs(self, inputs: Tensor, x: Tensor, buffers: Tensor | None) -> Tensor:
        """Of the module in evaluation mode."""
        values = self.flat.parameters.views(x) | self.statistics(buffers)
        with torch.no_grad():
            found: Tensor = functional_call(self.own_module(training=False), values, (self.laid_out(inputs),))
        return found

    def laid_out(self, inputs: Tensor) -> Tensor:
        if not self.channels_last or inputs.ndim != 4:
            return inputs
        # not `contiguous`: with one channel an image counts as either, and convolutions would take it for the other
        return torch.empty_like(inputs, memory_format=torch.channels_last).copy_(inputs)

    def own_module(self, *, training: bool) -> nn.Module:
        """A copy per thread: a functional call swaps the weights inside the module."""
        name = "trains" if training else "judges"
        if not hasattr(self._here, name):
            copy = rewritten(self.module, fast_convolutions=self.convolutions == "fast")
            setattr(self._here, name, copy.train(training))
        module: nn.Module = getattr(self._here, name)
        return module

    def statistics(self, buffers: Tensor | None) -> dict[str, Tensor]:
        """Copies, in the types of the module, for one pass to write into."""
        own = dict(self.module.named_buffers())
        if buffers is None:
            return {name: tensor.clone() for name, tensor in own.items()}
        return {name: in_type_of(own[name], view) for name, view in self.flat.buffers.views(buffers).items()}
