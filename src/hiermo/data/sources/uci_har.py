"""UCI-HAR: what people were doing, from the raw signals of the phones that they wore."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import warnings

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset
from hiermo.data.download import Download
from hiermo.data.reading.decoded import Arrays, decoded, progress
from hiermo.data.reading.refusals import damaged, missing

TREE = "UCI HAR Dataset"
CHANNELS = tuple(f"{kind}_{axis}" for kind in ("body_acc", "body_gyro", "total_acc") for axis in "xyz")
STEPS = 128  # 2.56 seconds at 50 Hz
CLASSES = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")
SUBJECTS = 30
DIGESTS = {  # SHA-256 of the files that are read
    "train": {
        "body_acc_x": "89f7bf5e360384804439d00f463dd2f717c452c683cac6c0a09b1a191d8ce4a2",
        "body_acc_y": "4775a586a5a1acc6706edee08c685835daea7bc1d9274e7e7e8d660fea173944",
        "body_acc_z": "9155718981ff1331dcd2d30aee545905ffba71af9ece5a08d6dfdeeb7d2ec4fb",
        "body_gyro_x": "423f6806f09059de3c1f443cf1d04a3c3907dc7ee17b5d296ed775b07aa6cde6",
        "body_gyro_y": "42419d8aaefd1a319561998defb167bfa57f7e51d656b6012d5a59c0b10f5260",
        "body_gyro_z": "05bc629faee918b0f5b99cd2e68f860c785889627ec8efeb85c29282f3963988",
        "total_acc_x": "41a7fe1da7b529cc6c2c3d7df97c98752bea74d7a142673dd59c7820fad3b5e6",
        "total_acc_y": "03bd3a80c0c04bf354597ad62920158b4b6605e157d856a1aab9abb357d40c5d",
        "total_acc_z": "5be3b593f88d49bb8f740c1c41379fc928ea8608d706594ebbba81cd800a5a33",
        "y": "415b3357e2e2d5e70a45c781947c6bdd80e0410a579d862eedcd6bbce3c694ef",
        "subject": "66e1e2fbe9b396fa5155f531dc3348c803f503be663e2318772d49947db9153a",
    },
    "test": {
        "body_acc_x": "c07eb8ee8c76eafcd94b42111082700e10f4956b769fbbb0d5413c14f38774fa",
        "body_acc_y": "0ed0057b41f6870b16a6953ef17f6d42bc5542fa304319fb6b7f424dd3380f0b",
        "body_acc_z": "a2b58317137533bdbf2342bf301ae854c15b1168259cc7b582c2dd131e3d81d5",
        "body_gyro_x": "fb4f27f13e4e08055043f34ed52f6d8bbe8ebce7dff9475ff92be03b3d3f607c",
        "body_gyro_y": "d2501166b2b1f645b51f722fcf31f3aa1e9a3edae18d49322612f37b4495cb80",
        "body_gyro_z": "90a18ce534be0dfc616cefdac9874e2ea599ae20421cd161361c2a33f40cfa5e",
        "total_acc_x": "ea71c339c828561bc1dc6f7301a54aeb7e61e6312cb2387ebaea832ffd04203d",
        "total_acc_y": "32692c617b40c16e020bf059a316bd6bf3a63d771f030dfc5fa4003f390b6f67",
        "total_acc_z": "622ddf1d9532fbe340472074ef1edd1a2f58aa332682542bb36a8c03c9ba9e04",
        "y": "2a94cb53ca46b956c1b2aebd4a09a72badd8a8e9ea9cdfe9f31b3306a08666bb",
        "subject": "63b8c577f4a85431c06bd87f6384608c90a9f72f05c7956dd21255dc63515c07",
    },
}


def _path(part: str, name: str) -> str:
    """Of a channel, of the labels (y) or of the subjects."""
    return f"{part}/{'Inertial Signals/' if name in CHANNELS else ''}{name}_{part}.txt"


@dataclass(frozen=True, kw_only=True)
class UciHar:
    """7352 windows of 21 people and 2947 of 9 others, from the folder `uci-har` of the data directory.

    A sample is `[9, 128]`: the acceleration of the body along x, y, z, its angular velocity, and the acceleration with
    gravity. Its owner is who wore the phone: 0..20, in the order of the subjects' numbers. The test samples are other
    people's, so they have no owner among these.
    """

    cites: ClassVar[tuple[str, ...]] = ("uci_har",)
    summary: ClassVar[str] = "UCI-HAR, 6 activities of 30 people from phone sensors, 7352 + 2947, from uci-har/"
    samples: ClassVar[int] = 7352
    folder: ClassVar[str] = "uci-har"
    downloads: ClassVar[tuple[Download, ...]] = (
        Download(
            name="human+activity+recognition+using+smartphones.zip",
            urls=(  # the first is a zip with the second inside
                "https://archive.ics.uci.edu/static/public/240/human+activity+recognition+using+smartphones.zip",
                "https://archive.ics.uci.edu/ml/machine-learning-databases/00240/UCI%20HAR%20Dataset.zip",
            ),
            archive=True,
        ),
    )
    contents: ClassVar[Mapping[str, str]] = {
        f"{TREE}/{_path(part, name)}": f"sha256:{digest}"
        for part, digests in DIGESTS.items()
        for name, digest in digests.items()
    }

    def find(self, directory: Path) -> Path | None:
        """The folder with the authors' tree, if every file that is read is there."""
        tree = directory / self.folder / TREE
        return None if _missing(tree) else tree

    def load(self, directory: Path) -> Dataset:
        tree = directory / self.folder / TREE
        if absent := _missing(tree):
            raise missing("uci-har", absent, tree)
        files = [tree / file for file in FILES]
        found = decoded(directory, "uci-har", files, _Reader(tree=tree, directory=directory).arrays)
        return Dataset("uci-har", classes=len(CLASSES), class_names=CLASSES, **found)


FILES = tuple(_path(part, name) for part in DIGESTS for name in DIGESTS[part])


def _missing(tree: Path) -> list[str]:
    return [file for file in FILES if not (tree / file).is_file()]


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Reads the tree, and names a file that is not as it should be."""

    tree: Path
    directory: Path

    def arrays(self) -> Arrays:
        train_x, train_y, subjects = self._part("train", before=0)
        test_x, test_y, _ = self._part("test", before=len(CHANNELS))
        progress.get()(2 * len(CHANNELS), 2 * len(CHANNELS), "reading uci-har")
        owners = np.unique(subjects, return_inverse=True)[1].astype(np.int64)
        return {"train_x": train_x, "train_y": train_y, "test_x": test_x, "test_y": test_y, "owners": owners}

    def _part(self, part: str, before: int) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
        """Samples, labels and subjects; `before` channels were read before these."""
        y = self._whole(part, "y", most=len(CLASSES)) - 1
        subjects = self._whole(part, "subject", most=SUBJECTS, rows=len(y))
        x = np.empty((len(y), len(CHANNELS), STEPS), np.float32)
        for k, channel in enumerate(CHANNELS):
            progress.get()(before + k, 2 * len(CHANNELS), "reading uci-har")
            x[:, k] = self._table(self.tree / _path(part, channel), columns=STEPS, rows=len(y))
        return x, y, subjects

    def _whole(self, part: str, name: str, most: int, rows: int | None = None) -> NDArray[np.int64]:
        file = self.tree / _path(part, name)
        values = self._table(file, columns=1, rows=rows)[:, 0]
        if not (fine := np.isin(values, np.arange(1, most + 1))).all():
            row = int(np.argmin(fine))
            raise self._damaged(file, f"has {values[row]:g} in row {row + 1}, which is none of 1..{most}")
        return values.astype(np.int64)

    def _table(self, file: Path, columns: int, rows: int | None = None) -> NDArray[np.float32]:
        try:
            with file.open("rb") as content:
                content.seek(max(file.stat().st_size - 1, 0))
                ended = content.read() == b"\n"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it would warn of no rows
                values = np.loadtxt(file, np.float64, comments=None, ndmin=2, encoding="ascii")
        except (OSError, ValueError) as error:
            raise self._damaged(file, f"cannot be read: {error}".partition(";")[0].rstrip(".")) from error
        if not ended or not len(values):
            raise self._damaged(file, "is cut off: its last line does not end")
        if values.shape[1] != columns:
            raise self._damaged(file, f"has rows of {values.shape[1]} values, not {columns}")
        if rows is not None and len(values) != rows:
            raise self._damaged(file, f"has {len(values)} rows where there are {rows} labels")
        with np.errstate(over="ignore"):
            rounded = values.astype(np.float32)
        if not (fine := np.isfinite(rounded).all(1)).all():
            raise self._damaged(file, f"has a value that is not finite in row {np.argmin(fine) + 1}")
        return rounded

    def _damaged(self, file: Path, why: str) -> UserError:
        return damaged("uci-har", file, why, self.directory)
