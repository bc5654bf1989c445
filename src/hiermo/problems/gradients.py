"""Gradients of a module at a flat vector: of one worker, or of a block of workers as one batched computation."""

from collections.abc import Callable
from copy import deepcopy
from threading import local

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from hiermo.models.flat import Flat, in_type_of

PerSample = Callable[[Tensor, Tensor], Tensor]  # (outputs [n, k], targets [n]) -> losses [n]
Mean = Callable[[Tensor, Tensor], Tensor]  # -> one number, the mean over the batch


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, targets, reduction="none")


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean over the outputs; labels are taken as one-hot."""
    if not targets.is_floating_point():
        targets = functional.one_hot(targets, outputs.shape[-1]).to(outputs.dtype)
    return (outputs - targets.view_as(outputs)).square().mean(-1)


LOSSES: dict[str, PerSample] = {"cross_entropy": cross_entropy, "mse": squared_error}

ELEMENTWISE = (nn.Identity, nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU)
BLOCK_PARAMETERS = 200_000  # above it a worker's own arithmetic fills a core
ALIGNED = 32  # numbers, two vector registers: kernels choose by the address, and loops leave the rest to other code


class OneWorker:
    """The gradient of one worker, for any module; safe to call from several threads.

    It computes on a copy of the model: products of matrices have other bits at other places in memory.
    """

    def __init__(self, module: nn.Module, flat: Flat, loss: Mean) -> None:
        self.module, self.flat, self.loss = module, flat, loss
        self._here = local()

    def __call__(self, inputs: Tensor, targets: Tensor, x: Tensor, result: Tensor, buffers: Tensor | None) -> None:
        """Writes into `result`; running statistics move in place where they are given."""
        own = self.flat.parameters.views(x.clone())
        values = {name: view.detach().requires_grad_() for name, view in own.items()}
        state = values | self.statistics(buffers)  # where a module assigns a buffer, the call puts the new one in here
        outputs = functional_call(self.own_module(training=True), state, (inputs,))
        found = torch.autograd.grad(self.loss(outputs, targets), list(values.values()), materialize_grads=True)
        torch.cat([piece.reshape(-1) for piece in found], out=result)
        if buffers is not None:
            for name, view in self.flat.buffers.views(buffers).items():
                view.copy_(state[name].detach())

    def outputs(self, inputs: Tensor, x: Tensor, buffers: Tensor | None) -> Tensor:
        """Of the module in evaluation mode."""
        values = self.flat.parameters.views(x) | self.statistics(buffers)
        with torch.no_grad():
            found: Tensor = functional_call(self.own_module(training=False), values, (inputs,))
        return found

    def own_module(self, *, training: bool) -> nn.Module:
        """A copy per thread: a functional call swaps the weights inside the module."""
        name = "trains" if training else "judges"
        if not hasattr(self._here, name):
            setattr(self._here, name, deepcopy(self.module).train(training))
        module: nn.Module = getattr(self._here, name)
        return module

    def statistics(self, buffers: Tensor | None) -> dict[str, Tensor]:
        """Copies, in the types of the module, for one pass to write into."""
        own = dict(self.module.named_buffers())
        if buffers is None:
            return {name: tensor.clone() for name, tensor in own.items()}
        return {name: in_type_of(own[name], view) for name, view in self.flat.buffers.views(buffers).items()}


class Block:
    """Gradients of a block of workers: their layers as batched matrix products.

    A worker's gradient has the same bits whatever block it is computed in: it is a matrix product of its own, the loss
    is a sum divided by its own batch, and every matrix of every worker begins at a multiple of `ALIGNED`.
    """

    def __init__(self, module: nn.Module, flat: Flat, loss: PerSample) -> None:
        self.flat, self.loss = flat, loss
        self.layers = layers_of(module)
        self.names = {id(tensor): name for name, tensor in module.named_parameters()}  # a tied one has one name

    @staticmethod
    def fits(module: nn.Module, flat: Flat, sample: tuple[int, ...], batch: int) -> bool:
        """Whether a module is a small stack of fully connected layers: a fixed rule, never a timing."""
        layers = layers_of(module)
        plain = all(type(layer) in (nn.Linear, nn.Flatten, *ELEMENTWISE) and not hooked(layer) for layer in layers)
        flat_first = len(sample) == 1 or (bool(layers) and isinstance(layers[0], nn.Flatten))
        flattened = all((f.start_dim, f.end_dim) == (1, -1) for f in layers if isinstance(f, nn.Flatten))
        widths = {(f.in_features, f.out_features) for f in layers if isinstance(f, nn.Linear)}
        products = {a * b for a, b in widths} | {batch * width for pair in widths for width in pair}
        aligned = batch > 1 and min(map(min, widths), default=0) > 1 and not any(n % ALIGNED for n in products)
        trainable = all(p.requires_grad for p in module.parameters())
        small = flat.parameters.size <= BLOCK_PARAMETERS
        return plain and flat_first and flattened and aligned and trainable and small

    def __call__(self, inputs: Tensor, targets: Tensor, x: Tensor, result: Tensor) -> None:
        """inputs `[m, B, ...]`, targets `[m, B]`, x and result `[m, d]`."""
        own = self.flat.parameters.views(x)
        values = {
            name: view.clone(memory_format=torch.contiguous_format).requires_grad_() for name, view in own.items()
        }
        h = inputs
        for layer in self.layers:
            if isinstance(layer, nn.Flatten):
                h = h.flatten(2)
            elif isinstance(layer, nn.Linear):
                weight = values[self.names[id(layer.weight)]].transpose(1, 2)
                bias = None if layer.bias is None else values[self.names[id(layer.bias)]][:, None, :]
                h = torch.bmm(h, weight) if bias is None else torch.baddbmm(bias, h, weight)
            else:
                h = layer(h)
        loss = self.loss(h.flatten(0, 1), targets.flatten(0, 1)).sum() / targets.shape[1]
        found = torch.autograd.grad(loss, list(values.values()), materialize_grads=True)
        for view, piece in zip(self.flat.parameters.views(result).values(), found, strict=True):
            view.copy_(piece)


def layers_of(module: nn.Module) -> list[nn.Module]:
    """In their order, those used twice twice."""
    everything = module.named_modules(remove_duplicate=False)
    return [layer for _, layer in everything if type(layer) is not nn.Sequential]


def hooked(layer: nn.Module) -> bool:
    """Whether something happens beside the layer's own computation, as with `torch.nn.utils.spectral_norm`."""
    return bool(layer._forward_pre_hooks or layer._forward_hooks)
