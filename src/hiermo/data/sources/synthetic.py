"""Gaussian blobs, one per class: a data set of any size, without a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count, Range, Weight, check_values
from hiermo.data.dataset import Dataset
from hiermo.data.randomness import order, stream


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Standard normal class means, and samples around them with standard deviation `noise`; classes of equal size.

    Its own `seed` makes the data, whatever the seed of the run. Of several `owners` each has equally many samples, also
    of each class, and all its class means are moved by one vector of its own, `heterogeneity` times standard normal:
    owners differ in what inputs look like, not in how many of a class they have. All owners are in the test set.
    """

    summary: ClassVar[str] = "Gaussian blobs, made on the spot"
    samples: Count = 2000
    features: Count = 20
    classes: Annotated[int, Range(ge=2)] = 10
    noise: Annotated[float, Range(ge=0)] = 1.0
    test_samples: Count = 500
    seed: int = 0
    heterogeneity: Weight = 0.0
    owners: Count | None = None  # None: the samples belong to nobody

    def find(self, directory: Path) -> Path | None:
        """The directory itself: there is no file to be absent."""
        return directory

    def load(self, directory: Path) -> Dataset:
        check_values(self)
        self._check_owners()
        means = stream(self.seed, "synthetic", "means").standard_normal((self.classes, self.features))
        train_x, train_y, owners = self._draw("train", self.samples, means)
        test_x, test_y, test_owners = self._draw("test", self.test_samples, means)
        return Dataset("synthetic", train_x, train_y, test_x, test_y, self.classes, owners, test_owners)

    def _check_owners(self) -> None:
        if self.owners is None and self.heterogeneity > 0:
            raise UserError(
                f"data.heterogeneity = {self.heterogeneity}: there is nobody to differ; "
                "set data.owners to a number, and data.partition to natural"
            )
        if self.owners is not None and self.owners > self.samples:
            raise UserError(f"data.owners = {self.owners} cannot share data.samples = {self.samples}; ask for fewer")

    def _draw(
        self, part: str, n: int, means: NDArray[np.float64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64] | None]:
        """Samples, their labels and their owners."""
        place = order(self.seed, "synthetic", part, "labels", n=n)
        y = place % self.classes
        noise = stream(self.seed, "synthetic", part, "noise").standard_normal((n, self.features))
        if self.owners is None:
            return (means[y] + self.noise * noise).astype(np.float32), y, None
        owner = place * self.owners // n  # neighbours in place have all labels in turn, so every owner has
        moved = stream(self.seed, "synthetic", "owners").standard_normal((self.owners, self.features))
        return (means[y] + self.heterogeneity * moved[owner] + self.noise * noise).astype(np.float32), y, owner
