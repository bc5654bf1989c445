"""Tiny-ImageNet from the tree of JPEG files that its archive holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import os
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset
from hiermo.data.download import Download
from hiermo.data.reading.decoded import Arrays, decoded, progress
from hiermo.data.reading.refusals import damaged, missing

TREE = "tiny-imagenet-200"
NEEDED = ("wnids.txt", "words.txt", "train", "val/images", "val/val_annotations.txt")
SIDE, SUFFIX = 64, ".JPEG"
Picture = tuple[int, int, str]  # its class, its number, its file: also the order of the samples


@dataclass(frozen=True, kw_only=True)
class TinyImageNet:
    """Photographs in 200 classes, from the folder `tiny-imagenet` of the data directory; part of them will do as well.

    A class is its line in wnids.txt. The test part is what the authors call validation: their test part has no labels.
    """

    cites: ClassVar[tuple[str, ...]] = ("tiny_imagenet", "imagenet")
    summary: ClassVar[str] = "Tiny-ImageNet photographs in 200 classes, 100000 + 10000, from tiny-imagenet/"
    samples: ClassVar[int] = 100000
    folder: ClassVar[str] = "tiny-imagenet"
    downloads: ClassVar[tuple[Download, ...]] = (
        Download(
            name="tiny-imagenet-200.zip",
            urls=(
                "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                "https://zenodo.org/records/10720917/files/tiny-imagenet-200.zip?download=1",
            ),
            checksum="md5:90528d7ca1a48142e341f4ef8d21d0de",
            archive=True,
        ),
    )
    contents: ClassVar[Mapping[str, str]] = {}  # 110000 files: the archive's checksum, and every picture when decoded

    def find(self, directory: Path) -> Path | None:
        """The folder with the authors' tree."""
        tree = directory / self.folder / TREE
        return None if _missing(tree) else tree

    def load(self, directory: Path) -> Dataset:
        tree = directory / self.folder / TREE
        if absent := _missing(tree):
            raise missing("tiny-imagenet", absent, tree)
        reader = _Reader(tree=tree, directory=directory)
        found = decoded(directory, "tiny-imagenet", reader.files(), reader.arrays)
        names = reader.class_names()
        return Dataset("tiny-imagenet", classes=len(names), class_names=names, **found)


def _missing(tree: Path) -> list[str]:
    return [name for name in NEEDED if not (tree / name).exists()]


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Reads the tree, and names a file that is not as it should be."""

    tree: Path
    directory: Path

    def files(self) -> list[str]:
        """What the arrays are made of; as text, for there are a hundred thousand."""
        pictures = [f"{folder}{os.sep}{name}" for folder in self._folders() for name in self._names(folder)]
        return [str(self.tree / "wnids.txt"), str(self.tree / "val" / "val_annotations.txt"), *pictures]

    def arrays(self) -> Arrays:
        """Samples in the order of their classes, then of their pictures' numbers."""
        train, test = sorted(self._train()), sorted(self._val())
        pixels = self._decoded([file for _, _, file in (*train, *test)])
        y = np.array([label for label, _, _ in (*train, *test)], np.int64)
        n = len(train)
        return {"train_x": pixels[:n], "train_y": y[:n], "test_x": pixels[n:], "test_y": y[n:]}

    def class_names(self) -> tuple[str, ...]:
        wanted = dict.fromkeys(self._wnids(), "")
        for line in self._lines("words.txt"):
            wnid, _, words = line.partition("\t")
            if wnid in wanted:
                wanted[wnid] = words
        for wnid, words in wanted.items():
            if not words:
                raise self._damaged(self.tree / "words.txt", f"does not say what {wnid} is")
        return tuple(wanted.values())

    def _wnids(self) -> list[str]:
        found = self._lines("wnids.txt")
        if not found or len(set(found)) != len(found):
            raise self._damaged(self.tree / "wnids.txt", "is not one class per line, each once")
        return found

    def _lines(self, name: str) -> list[str]:
        try:
            return (self.tree / name).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise self._damaged(self.tree / name, f"cannot be read: {error}") from error

    def _folders(self) -> list[Path]:
        return [*(self.tree / "train" / wnid / "images" for wnid in self._wnids()), self.tree / "val" / "images"]

    def _names(self, folder: Path) -> list[str]:
        """Of the pictures in it; what a file manager left there is not one."""
        found = [name for name in os.listdir(folder) if name.endswith(SUFFIX)] if folder.is_dir() else []  # noqa: PTH208
        if not found:
            raise missing("tiny-imagenet", [f"a picture ({SUFFIX})"], folder)
        return found

    def _train(self) -> Iterator[Picture]:
        for label, (wnid, folder) in enumerate(zip(self._wnids(), self._folders(), strict=False)):
            for name in self._names(folder):
                yield label, self._number(folder, name, wnid), f"{folder}{os.sep}{name}"

    def _val(self) -> Iterator[Picture]:
        annotations, folder = self.tree / "val" / "val_annotations.txt", self._folders()[-1]
        labels = {wnid: label for label, wnid in enumerate(self._wnids())}
        unseen = set(self._names(folder))
        for row, line in enumerate(self._lines("val/val_annotations.txt"), start=1):
            name, wnid = [*line.split("\t"), "", ""][:2]
            if wnid not in labels:
                raise self._damaged(annotations, f"has in line {row} a class that is not in wnids.txt: {wnid!r}")
            if name not in unseen:
                raise self._damaged(annotations, f"has in line {row} a picture that is twice or not there: {name!r}")
            unseen.remove(name)
            yield labels[wnid], self._number(folder, name, "val"), f"{folder}{os.sep}{name}"
        if unseen:
            raise self._damaged(annotations, f"does not say what {min(unseen)} shows")

    def _number(self, folder: Path, name: str, stem: str) -> int:
        number = name.removeprefix(f"{stem}_").removesuffix(SUFFIX)
        if not number.isdecimal():
            raise self._damaged(folder / name, f"is not called {stem}_NUMBER{SUFFIX}")
        return int(number)

    def _decoded(self, files: list[str]) -> NDArray[np.uint8]:
        # no threads: Pillow holds the lock of Python for most of the time that so small a picture takes
        pixels = np.empty((len(files), 3, SIDE, SIDE), np.uint8)
        for k, file in enumerate(files):
            if k % 500 == 0:
                progress.get()(k, len(files), "decoding tiny-imagenet")
            pixels[k] = self._pixels(file)
        progress.get()(len(files), len(files), "decoding tiny-imagenet")
        return pixels

    def _pixels(self, file: str) -> NDArray[np.uint8]:
        """`[3, h, w]`, also of a grey picture."""
        try:
            with Image.open(file, formats=("JPEG",)) as image:
                size = image.size
                pixels = np.asarray(image.convert("RGB")) if size == (SIDE, SIDE) else None
        except Exception as error:  # decoders raise errors of all kinds
            raise self._damaged(file, f"cannot be decoded: {error}") from error
        if pixels is None:
            raise self._damaged(file, f"has {size[0]} x {size[1]} pixels, not {SIDE} x {SIDE}")
        return pixels.transpose(2, 0, 1)

    def _damaged(self, file: Path | str, why: str) -> UserError:
        return damaged("tiny-imagenet", file, why, self.directory)
