"""CIFAR-10, UCI-HAR and Tiny-ImageNet as they are published: counts, values read in another way, and a second load.

What is decoded goes into a directory of the test's own, whose sets are links; HIERMO_DATA is only read.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
import time

import numpy as np
from PIL import Image
import pytest

from hiermo.data.reading.safe_pickle import read_pickle
from hiermo.data.sources.cifar10 import BINARY, CLASSES, PYTHON, Cifar10
from hiermo.data.sources.mnist import Mnist
from hiermo.data.sources.tiny_imagenet import TREE as TINY
from hiermo.data.sources.tiny_imagenet import TinyImageNet
from hiermo.data.sources.uci_har import TREE as HAR
from hiermo.data.sources.uci_har import UciHar

REAL = Path(os.environ.get("HIERMO_DATA") or "nowhere")
ARRAYS = ("train_x", "train_y", "test_x", "test_y")


def real(name):
    return pytest.mark.skipif(not (REAL / name).is_dir(), reason=f"HIERMO_DATA has no {name}")


pytestmark = pytest.mark.real_data


@pytest.fixture
def directory():
    with TemporaryDirectory(ignore_cleanup_errors=True) as made:  # removed at once: it becomes large
        for name in ("mnist", "cifar10", "uci-har", "tiny-imagenet"):
            Path(made, name).symlink_to(REAL / name)
        yield Path(made)


def load_twice(source, directory, arrays=ARRAYS):
    """Loads, and loads again from what was kept: the same, in a moment."""
    first = source.load(directory)
    began = time.process_time()
    again = source.load(directory)
    assert time.process_time() - began < 1
    assert len(list((directory / "decoded").glob(f"{source.folder}-*"))) == 1
    for name in arrays:
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    return again


@real("mnist")
def test_mnist_loads_in_a_moment(directory):
    began = time.process_time()
    Mnist().load(directory)
    assert time.process_time() - began < 1


@real("cifar10")
def test_cifar10(directory):
    data = load_twice(Cifar10(), directory)
    assert (data.train_x.shape, data.test_x.shape) == ((50000, 3, 32, 32), (10000, 3, 32, 32))
    assert (np.bincount(data.train_y) == 5000).all()
    assert (np.bincount(data.test_y) == 1000).all()
    # sums of whole numbers: exact, and without a float64 for each of 150 million pixels
    histograms = [np.bincount(data.train_x[:, channel].ravel(), minlength=256) for channel in range(3)]
    levels = np.arange(256) / 255
    means = [np.average(levels, weights=counts) for counts in histograms]
    deviations = [
        np.sqrt(np.average((levels - mean) ** 2, weights=counts))
        for mean, counts in zip(means, histograms, strict=True)
    ]
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)
    assert deviations == pytest.approx([0.2470, 0.2435, 0.2616], abs=1e-4)

    folder = REAL / "cifar10" / PYTHON.folder
    named = read_pickle((folder / "batches.meta").read_bytes())[b"label_names"]
    assert tuple(name.decode() for name in named) == CLASSES
    batch = read_pickle((folder / "data_batch_2").read_bytes())
    np.testing.assert_array_equal(data.train_x[10001, 1, 3], batch[b"data"][1][1024 + 3 * 32 :][:32])
    assert batch[b"filenames"][0].endswith(b".png")
    assert data.train_y[10000:20000].tolist() == batch[b"labels"]
    compare_with_binary(data, directory / "binary")


def compare_with_binary(python, directory):
    """Written from the python version, it is byte by byte what the authors published: their MD5s agree."""
    x = np.concatenate([python.train_x, python.test_x]).reshape(-1, 3072)
    y = np.concatenate([python.train_y, python.test_y]).astype(np.uint8)
    folder = directory / "cifar10" / BINARY.folder
    folder.mkdir(parents=True)
    for k, name in enumerate(BINARY.batches):
        some = slice(10000 * k, 10000 * (k + 1))
        (folder / name).write_bytes(np.concatenate([y[some, None], x[some]], 1).tobytes())
    binary = Cifar10().load(directory)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(binary, name), getattr(python, name))


@real("uci-har")
def test_uci_har(directory):
    data = load_twice(UciHar(), directory, (*ARRAYS, "owners"))
    assert (data.train_x.shape, data.test_x.shape) == ((7352, 9, 128), (2947, 9, 128))
    assert np.bincount(data.train_y).tolist() == [1226, 1073, 986, 1286, 1374, 1407]
    assert np.bincount(data.test_y).tolist() == [496, 471, 420, 491, 532, 537]

    tree = REAL / "uci-har" / HAR
    subjects = [int(line) for line in (tree / "train" / "subject_train.txt").read_text().split()]
    numbers = sorted(set(subjects))
    assert len(numbers) == 21
    assert [numbers[owner] for owner in data.owners] == subjects
    activities = (tree / "activity_labels.txt").read_text().split()
    assert data.class_names == tuple(activities[1::2])

    for k, channel in ((0, "body_acc_x"), (4, "body_gyro_y"), (8, "total_acc_z")):
        for part, x in (("train", data.train_x), ("test", data.test_x)):
            with (tree / part / "Inertial Signals" / f"{channel}_{part}.txt").open() as file:
                rows = [next(file).split() for _ in range(20)]
            np.testing.assert_array_equal(x[:20, k], np.array(rows, np.float64).astype(np.float32))
    # with gravity, and without: they differ by about 1 g
    gravity = np.linalg.norm(data.train_x[:, 6:9] - data.train_x[:, 0:3], axis=1).mean()
    assert gravity == pytest.approx(1, abs=0.05)


@real("tiny-imagenet")
def test_tiny_imagenet(directory):
    """The whole set, 500 and 50 of each class, or an even part of it."""
    data = load_twice(TinyImageNet(), directory)
    train, test = np.bincount(data.train_y), np.bincount(data.test_y)
    assert (len(train), len(test), data.classes) == (200, 200, 200)
    assert (train == train[0]).all()
    assert (test == test[0]).all()
    assert (data.train_x.shape[1:], data.test_x.shape[1:]) == ((3, 64, 64), (3, 64, 64))

    tree = REAL / "tiny-imagenet" / TINY
    wnids = (tree / "wnids.txt").read_text().split()
    assert data.class_names[wnids.index("n01443537")] == "goldfish, Carassius auratus"
    for label, number in ((0, 0), (17, 3), (199, train[0] - 1)):
        file = tree / "train" / wnids[label] / "images" / f"{wnids[label]}_{number}.JPEG"
        pixels = np.array(Image.open(file).convert("RGB"))
        np.testing.assert_array_equal(data.train_x[label * train[0] + number], np.moveaxis(pixels, 2, 0))
    annotated = dict(line.split("\t")[:2] for line in (tree / "val" / "val_annotations.txt").read_text().splitlines())
    first = min((int(name[4:-5]) for name, wnid in annotated.items() if wnid == wnids[5]))
    pixels = np.array(Image.open(tree / "val" / "images" / f"val_{first}.JPEG").convert("RGB"))
    np.testing.assert_array_equal(data.test_x[5 * test[0]], np.moveaxis(pixels, 2, 0))
