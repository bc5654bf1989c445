"""What is done to samples on their way into the model: scaled, normalised, and in training shifted and mirrored.

Samples stay as they are stored, uint8 where they are images, until their batch is made. All of it is batched tensor
operations; the draws are a function of (seed, worker, t).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
import torch
from torch import Tensor
from torch.nn.functional import pad

from hiermo.core.errors import UserError
from hiermo.data.randomness import stream

CHUNK = 256  # samples that are measured at a time: their copies stay in cache


@dataclass(frozen=True)
class Draws:
    """What happens to each of B images."""

    down: Tensor  # [B] shift of the window, 0 to 2 * crop
    right: Tensor
    mirrored: Tensor


class Inputs:
    """From stored samples to what a model sees.

    `normalise` takes mean and deviation per channel (per feature, where samples are plain vectors) from `train_x`.
    `crop` shifts training images by up to so many pixels in each direction, `flip` mirrors half of them.
    """

    def __init__(
        self, train_x: Tensor, dtype: torch.dtype, *, normalise: bool = False, crop: int = 0, flip: bool = False
    ) -> None:
        if (crop or flip) and train_x.ndim != 4:
            key = "crop" if crop else "flip"
            raise UserError(f"input.{key} is for images [channels, height, width]; this data is {shape_of(train_x)}")
        if crop >= min(train_x.shape[2:], default=1):
            raise UserError(f"input.crop = {crop} would shift images of {shape_of(train_x)} out of sight; use less")
        self.dtype, self.crop, self.flip = dtype, crop, flip
        self.pixels = train_x.dtype == torch.uint8
        self.normalised: tuple[Tensor, Tensor] | None = _measured(train_x) if normalise else None  # mean, deviation
        if self.normalised is not None:
            across = (-1,) + (1,) * (train_x.ndim - 2)
            mean, deviation = (each.view(across) for each in self.normalised)
            self._shift = mean.to(train_x.device, dtype)
            self._scale = (1 / deviation).to(train_x.device, dtype)

    @property
    def augments(self) -> bool:
        return bool(self.crop or self.flip)

    @property
    def factor(self) -> float | None:
        """What stored numbers are multiplied by, where that is all that is done to them."""
        return None if self.normalised is not None else 1 / 255 if self.pixels else 1.0

    def scaled(self, x: Tensor) -> Tensor:
        """A batch as the model sees it; pixels mean themselves / 255."""
        seen = x.to(self.dtype).div_(255) if self.pixels else x.to(self.dtype)
        return seen if self.normalised is None else (seen - self._shift).mul_(self._scale)

    def draw(self, seed: int, workers: Sequence[int], t: int, batch: int) -> Draws:
        """For the batches of `workers`, one after the other."""
        raw = np.concatenate([_raw(seed, worker, t, batch) for worker in workers], axis=1)  # [3, B]
        window = np.uint64(2 * self.crop + 1)
        down, right = (torch.as_tensor((row % window).astype(np.int64)) for row in raw[:2])
        mirrored = torch.as_tensor((raw[2] >> np.uint64(63)).astype(bool))
        return Draws(down, right, mirrored & self.flip)

    def augmented(self, x: Tensor, draws: Draws) -> Tensor:
        """Images `[B, c, h, w]`, each out of its own window of the image with a margin of zeros."""
        n, channels, height, width = x.shape
        rows = draws.down[:, None] + torch.arange(height)  # [B, h]
        columns = torch.arange(width).expand(n, width)
        columns = draws.right[:, None] + torch.where(draws.mirrored[:, None], width - 1 - columns, columns)
        wide = pad(x, (self.crop,) * 4) if self.crop else x
        return wide[
            torch.arange(n)[:, None, None, None].to(x.device),
            torch.arange(channels)[None, :, None, None].to(x.device),
            rows[:, None, :, None].to(x.device),
            columns[:, None, None, :].to(x.device),
        ]

    def about(self) -> dict[str, Any]:
        """For those who feed an exported model."""
        divisor = 255 if self.pixels else 1
        if self.normalised is None:
            return {"divided_by": divisor}
        mean, deviation = self.normalised
        return {"divided_by": divisor, "mean": mean.tolist(), "deviation": deviation.tolist()}


def _raw(seed: int, worker: int, t: int, batch: int) -> NDArray[np.uint64]:
    raw = np.asarray(stream(seed, "augment", worker, t).bit_generator.random_raw(3 * batch))
    return raw.reshape(3, batch)


def _measured(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation per channel, in float64; a channel that never changes keeps its size."""
    mean, variance = _of_pixels(x) if x.dtype == torch.uint8 else _of_numbers(x)
    return mean, torch.where(variance > 0, variance, torch.ones_like(variance)).sqrt()


def _of_pixels(x: Tensor) -> tuple[Tensor, Tensor]:
    """By counting how often each value occurs: exact, and several times faster than sums of converted numbers."""
    counts = np.zeros((x.shape[1], 256), np.int64)
    for k in range(0, len(x), CHUNK):
        part = x[k : k + CHUNK].cpu().numpy()
        for channel in range(len(counts)):
            counts[channel] += np.bincount(part[:, channel].ravel(), minlength=256)
    shares, values = counts / counts.sum(1, keepdims=True), np.arange(256) / 255
    mean = shares @ values
    return torch.from_numpy(mean), torch.from_numpy((shares * (values - mean[:, None]) ** 2).sum(1))


def _of_numbers(x: Tensor) -> tuple[Tensor, Tensor]:
    over = [k for k in range(x.ndim) if k != 1]
    n = x.numel() // x.shape[1]
    starts = range(0, len(x), CHUNK)
    mean = torch.stack([x[k : k + CHUNK].double().sum(over) for k in starts]).sum(0) / n
    wide = mean.view((-1,) + (1,) * (x.ndim - 2))
    square = torch.stack([(x[k : k + CHUNK].double() - wide).square().sum(over) for k in starts]).sum(0)
    return mean.cpu(), square.cpu() / n


def shape_of(x: Tensor) -> list[int]:
    return list(x.shape[1:])
