"""Gaussian blobs, one per class: a data set of any size, without a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from hiermo.core.parameter import Count, Range, check_values
from hiermo.data.dataset import Dataset
from hiermo.data.randomness import order, stream


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Standard normal class means, and samples around them with standard deviation `noise`; classes of equal size.

    Its own `seed` makes the data, whatever the seed of the run.
    """

    summary: ClassVar[str] = "Gaussian blobs, made on the spot"
    samples: Count = 2000
    features: Count = 20
    classes: Annotated[int, Range(ge=2)] = 10
    noise: Annotated[float, Range(ge=0)] = 1.0
    test_samples: Count = 500
    seed: int = 0

    def find(self, directory: Path) -> Path | None:
        """The directory itself: there is no file to be absent."""
        return directory

    def load(self, directory: Path) -> Dataset:
        check_values(self)
        means = stream(self.seed, "synthetic", "means").standard_normal((self.classes, self.features))
        train_x, train_y = self._draw("train", self.samples, means)
        test_x, test_y = self._draw("test", self.test_samples, means)
        return Dataset("synthetic", train_x, train_y, test_x, test_y, self.classes)

    def _draw(self, part: str, n: int, means: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        y = order(self.seed, "synthetic", part, "labels", n=n) % self.classes
        noise = stream(self.seed, "synthetic", part, "noise").standard_normal((n, self.features))
        return (means[y] + self.noise * noise).astype(np.float32), y
