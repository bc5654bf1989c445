"""Tiny-ImageNet from a small tree in the authors' form, good and bad."""

from io import BytesIO
import shutil

import numpy as np
from PIL import Image
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import check
from hiermo.data.reading.decoded import progress
from hiermo.data.sources import tiny_imagenet
from hiermo.data.sources.tiny_imagenet import TREE, TinyImageNet

WNIDS = ("n02", "n01", "n10")  # in no order, as in the original
NUMBERS = (0, 2, 9, 10)  # by name, 10 would be before 2
VAL = (("val_3", "n01"), ("val_10", "n02"), ("val_0", "n10"), ("val_9", "n02"), ("val_1", "n01"))


def jpeg(red, green, mode="RGB", size=(64, 64), form="JPEG"):
    """Of one colour, which JPEG keeps but for rounding."""
    made = BytesIO()
    Image.new(mode, size, (red, green, 200) if mode == "RGB" else red).save(made, form)
    return made.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Pictures whose red is their class and whose green is their number; the first of all is grey."""
    tree = tmp_path_factory.mktemp("tiny") / "tiny-imagenet" / TREE
    for label, wnid in enumerate(WNIDS):
        folder = tree / "train" / wnid / "images"
        folder.mkdir(parents=True)
        (folder.parent / f"{wnid}_boxes.txt").write_text("not read\n")
        for number in NUMBERS:
            mode = "L" if (label, number) == (0, 0) else "RGB"
            (folder / f"{wnid}_{number}.JPEG").write_bytes(jpeg(50 * label + 20, 20 * number, mode))
    (tree / "val" / "images").mkdir(parents=True)
    for name, wnid in VAL:
        number = int(name.removeprefix("val_"))
        (tree / "val" / "images" / f"{name}.JPEG").write_bytes(jpeg(50 * WNIDS.index(wnid) + 20, 20 * number))
    annotations = "".join(f"{name}.JPEG\t{wnid}\t0\t0\t63\t63\n" for name, wnid in VAL)
    (tree / "val" / "val_annotations.txt").write_text(annotations)
    (tree / "test" / "images").mkdir(parents=True)
    (tree / "test" / "images" / "test_0.JPEG").write_bytes(b"never read")
    (tree / "wnids.txt").write_text("".join(f"{wnid}\n" for wnid in WNIDS))
    (tree / "words.txt").write_text("n00\tentity\nn01\tgoldfish, Carassius auratus\nn02\tcat\nn03\tdog\nn10\tpole\n")
    return tree.parents[1]


@pytest.fixture
def directory(made, tmp_path):
    return shutil.copytree(made, tmp_path / "data")


def colours(x):
    """(class, number) of each picture, from its colour."""
    means = x.astype(float).mean((2, 3))
    return [(round((red - 20) / 50), round(green / 20)) for red, green, _ in means]


def test_pictures_in_the_order_of_classes_and_numbers(directory):
    assert TinyImageNet().find(directory) == directory / "tiny-imagenet" / TREE
    data = TinyImageNet().load(directory)
    check(data)
    assert (data.train_x.shape, data.test_x.shape) == ((12, 3, 64, 64), (5, 3, 64, 64))
    assert (data.train_x.dtype, data.name, data.classes) == (np.uint8, "tiny-imagenet", 3)
    assert data.train_y.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert colours(data.train_x)[1:] == [(label, number) for label in range(3) for number in NUMBERS][1:]
    assert data.test_y.tolist() == [0, 0, 1, 1, 2]
    assert colours(data.test_x) == [(0, 9), (0, 10), (1, 1), (1, 3), (2, 0)]
    assert data.class_names == ("cat", "goldfish, Carassius auratus", "pole")


def test_a_grey_picture_has_three_equal_channels(directory):
    grey = TinyImageNet().load(directory).train_x[0]
    assert (grey == grey[:1]).all()
    assert (abs(grey.astype(int) - 20) <= 1).all()


def test_channels_rows_and_columns(directory):
    """Left half red, upper half bright: seen at the right indices."""
    file = directory / "tiny-imagenet" / TREE / "train" / "n02" / "images" / "n02_0.JPEG"
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[:, :32, 0] = 120
    pixels[:32] += 100
    Image.fromarray(pixels).save(file, "JPEG", quality=100, subsampling=0)
    red, green, blue = TinyImageNet().load(directory).train_x[0].astype(int)
    assert red[:, :32].mean() - red[:, 32:].mean() == pytest.approx(120, abs=2)
    assert green[:32].mean() - green[32:].mean() == pytest.approx(100, abs=2)
    assert blue[:, :32].mean() == pytest.approx(blue[:, 32:].mean(), abs=2)


def test_decoded_once_with_progress(directory, monkeypatch):
    told = []
    token = progress.set(lambda *what: told.append(what))
    try:
        first = TinyImageNet().load(directory)
    finally:
        progress.reset(token)
    assert told[:2] == [(0, 17, "decoding tiny-imagenet"), (17, 17, "decoding tiny-imagenet")]
    monkeypatch.setattr(tiny_imagenet, "Image", None)
    again = TinyImageNet().load(directory)
    for name in ("train_x", "train_y", "test_x", "test_y"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert getattr(again, name).flags.writeable
    assert again.class_names == first.class_names


def test_a_picture_that_changed_is_seen(directory):
    TinyImageNet().load(directory)
    file = directory / "tiny-imagenet" / TREE / "train" / "n10" / "images" / "n10_10.JPEG"
    file.write_bytes(jpeg(220, 0))
    assert colours(TinyImageNet().load(directory).train_x)[-1] == (4, 0)


def test_what_a_file_manager_leaves_is_no_picture(directory):
    (directory / "tiny-imagenet" / TREE / "train" / "n01" / "images" / ".DS_Store").write_bytes(b"x")
    assert len(TinyImageNet().load(directory).train_x) == 12


@pytest.mark.parametrize("name", ["wnids.txt", "words.txt", "train", "val/images", "val/val_annotations.txt"])
def test_what_is_missing_is_named(directory, name):
    tree = directory / "tiny-imagenet" / TREE
    (tree / name).rename(tree / "elsewhere")
    assert TinyImageNet().find(directory) is None
    with pytest.raises(UserError, match=f"data set tiny-imagenet: {name} is not in {tree}; .*data fetch tiny-imagenet"):
        TinyImageNet().load(directory)


GOOD = jpeg(1, 2)


@pytest.mark.parametrize("place", ["train/n01/images/n01_9.JPEG", "val/images/val_0.JPEG"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (GOOD[: len(GOOD) // 2], "cannot be decoded"),
        (GOOD[:-30], "cannot be decoded: image file is truncated"),
        (b"", "cannot be decoded"),
        (b"<html>not found</html>", "cannot be decoded"),
        (jpeg(1, 2, form="PNG"), "cannot be decoded"),
        (jpeg(1, 2, size=(64, 63)), "has 64 x 63 pixels, not 64 x 64"),
        (jpeg(1, 2, size=(500, 375)), "has 500 x 375 pixels, not 64 x 64"),
    ],
)
def test_a_bad_picture_is_named_and_nothing_is_kept(directory, place, content, words):
    file = directory / "tiny-imagenet" / TREE / place
    file.write_bytes(content)
    with pytest.raises(
        UserError, match=f"data set tiny-imagenet: {file} .*{words}.*get it again by.*than {directory}$"
    ):
        TinyImageNet().load(directory)
    assert not list((directory / "decoded").glob("tiny-imagenet-*"))


ANNOTATIONS = "val/val_annotations.txt"


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        (ANNOTATIONS, lambda text: text.replace("val_10.JPEG\t", ""), "in line 2 a class .* wnids.txt: '0'"),
        (ANNOTATIONS, lambda text: text.replace("n10", "n11"), "in line 3 a class that is not in wnids.txt: 'n11'"),
        (ANNOTATIONS, lambda text: text.replace("val_9", "val_8"), r"in line 4 a picture .* not there: 'val_8\.JPEG'"),
        (ANNOTATIONS, lambda text: text + text[:20], r"in line 6 a picture that is twice .*: 'val_3\.JPEG'"),
        (ANNOTATIONS, lambda text: text[: text.index("val_1.")], r"does not say what val_1\.JPEG shows"),
        (ANNOTATIONS, lambda text: "", "does not say what"),
        ("wnids.txt", lambda text: "", "is not one class per line, each once"),
        ("wnids.txt", lambda text: text + "n02\n", "is not one class per line, each once"),
        ("words.txt", lambda text: text.replace("n10", "n11"), "does not say what n10 is"),
    ],
)
def test_a_bad_list_is_named(directory, file, change, words):
    path = directory / "tiny-imagenet" / TREE / file
    path.write_text(change(path.read_text()))
    with pytest.raises(UserError, match=f"data set tiny-imagenet: {path} .*{words}"):
        TinyImageNet().load(directory)


def test_bytes_that_are_no_text(directory):
    path = directory / "tiny-imagenet" / TREE / "wnids.txt"
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(UserError, match=f"{path} cannot be read"):
        TinyImageNet().load(directory)


@pytest.mark.parametrize("name", ["n01_1 (copy).JPEG", "n02_1.JPEG", "n01_.JPEG"])
def test_a_picture_by_another_name(directory, name):
    folder = directory / "tiny-imagenet" / TREE / "train" / "n01" / "images"
    (folder / "n01_0.JPEG").rename(folder / name)
    with pytest.raises(UserError, match=r"is not called n01_NUMBER\.JPEG"):
        TinyImageNet().load(directory)


@pytest.mark.parametrize("whole", [True, False])
def test_a_class_without_pictures(directory, whole):
    folder = directory / "tiny-imagenet" / TREE / "train" / "n01" / "images"
    shutil.rmtree(folder)
    if not whole:
        folder.mkdir()
    with pytest.raises(UserError, match=rf"a picture \(\.JPEG\) is not in {folder}; .*data import tiny-imagenet PATH"):
        TinyImageNet().load(directory)
