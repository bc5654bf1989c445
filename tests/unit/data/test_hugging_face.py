"""Hugging Face data sets on disk: saved ones, files and folders; the hub out of reach; columns of every kind."""

import io
from pathlib import Path
import sys

import numpy as np
from PIL import Image
import pytest

from hiermo.core.errors import UserError
from hiermo.data.sources.hugging_face import HuggingFace

datasets = pytest.importorskip("datasets", reason="the extra huggingface is not installed")

ROWS = {"a": list(range(20)), "b": [k / 2 for k in range(20)], "label": ["xy"[k % 2] for k in range(20)]}
PIXELS = np.random.default_rng(0).integers(0, 256, (20, 4, 5), dtype=np.uint8)


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No network, no progress bars, and nothing from or to the user's cache."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def load(path, **options):
    return HuggingFace(path=str(path), **options).load(Path())


def table(**columns):
    return datasets.Dataset.from_dict({**ROWS, **columns})


def check_whole(data):
    x = np.concatenate([data.train_x, data.test_x])
    y = np.concatenate([data.train_y, data.test_y])
    order = np.argsort(x[:, 0])
    np.testing.assert_array_equal(x[order], [[k, k / 2] for k in range(20)])
    assert y[order].tolist() == [0, 1] * 10
    assert (data.class_names, data.train_x.dtype, data.train_y.dtype) == (("x", "y"), np.float32, np.int64)


def save(kind, path):
    if kind == "saved":
        table().save_to_disk(path)
    elif kind == "saved dict":
        datasets.DatasetDict(train=table()).save_to_disk(path)
    else:
        path.mkdir()
        getattr(table(), f"to_{kind}")(path / f"t.{kind}")


@pytest.mark.parametrize("kind", ["saved", "saved dict", "parquet", "csv", "json"])
def test_folders(tmp_path, kind):
    folder = tmp_path / "d"
    save(kind, folder)
    assert HuggingFace(path=str(folder)).find(Path()) == folder
    data = load(folder)
    check_whole(data)
    assert (data.name, len(data.test_y), data.owners) == ("d", 4, None)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_files(tmp_path, kind):
    getattr(table(), f"to_{kind}")(tmp_path / f"t.{kind}")
    check_whole(load(tmp_path / f"t.{kind}"))


def test_splits(tmp_path):
    parts = datasets.DatasetDict(train=table(), test=table().select([0, 1]), other=table().select([2, 3, 4]))
    parts.save_to_disk(tmp_path / "d")
    data = load(tmp_path / "d")
    assert (len(data.train_y), len(data.test_y)) == (20, 2)
    assert len(load(tmp_path / "d", test_split="other").test_y) == 3
    assert len(load(tmp_path / "d", split="other").train_y) == 3
    with pytest.raises(UserError, match=r"data.split: .*d has no split 'trian'; did you mean 'train'"):
        load(tmp_path / "d", split="trian")
    with pytest.raises(
        UserError, match=r"data.test_split: .*d has no split 'validation'; known are other, test, train"
    ):
        load(tmp_path / "d", test_split="validation")


def test_a_test_split_of_another_name(tmp_path):
    datasets.DatasetDict(train=table(), valid=table().select([2, 3, 4])).save_to_disk(tmp_path / "d")
    assert len(load(tmp_path / "d").test_y) == 4
    assert len(load(tmp_path / "d", test_split="valid").test_y) == 3


def test_splits_by_file_name(tmp_path):
    (tmp_path / "d").mkdir()
    table().to_csv(tmp_path / "d" / "train.csv")
    table().select([0, 1, 2]).to_csv(tmp_path / "d" / "test.csv")
    data = load(tmp_path / "d")
    assert (len(data.train_y), len(data.test_y)) == (20, 3)


def test_class_labels_keep_their_order_and_number(tmp_path):
    features = datasets.Features(a=datasets.Value("float64"), label=datasets.ClassLabel(names=["z", "y", "x"]))
    datasets.Dataset.from_dict({"a": [1.0] * 10, "label": [0, 1] * 5}, features).save_to_disk(tmp_path / "d")
    data = load(tmp_path / "d")
    assert (data.classes, data.class_names, set(data.train_y)) == (3, ("z", "y", "x"), {0, 1})
    datasets.Dataset.from_dict({"a": [1.0] * 3, "label": [0, 1, -1]}, features).save_to_disk(tmp_path / "e")
    with pytest.raises(UserError, match=r"e, split train: sample 2 has no label; choose another split"):
        load(tmp_path / "e")


def test_the_columns_to_learn_from(tmp_path):
    more = {"v": [[k, -k] for k in range(20)], "text": ["t"] * 20, "who": ["p9", "p10"] * 10, "kind": [3, 4] * 10}
    table(**more).save_to_disk(tmp_path / "d")
    assert load(tmp_path / "d").shape == (5,)
    assert load(tmp_path / "d", x="b").shape == (1,)
    assert load(tmp_path / "d", x="v").shape == (2,)
    data = load(tmp_path / "d", x=("v", "a"), y="kind", owner="who", test_share=0.5)
    np.testing.assert_array_equal(data.train_x[:, 0], -data.train_x[:, 1])
    np.testing.assert_array_equal(data.train_x[:, 0], data.train_x[:, 2])
    np.testing.assert_array_equal(data.train_x[:, 0] % 2, data.train_y)
    np.testing.assert_array_equal(data.owners, data.train_y)
    assert np.bincount(data.test_owners).tolist() == [5, 5]
    assert data.class_names == ("3", "4")


def test_matrices_are_pictures(tmp_path):
    features = datasets.Features(x=datasets.Array2D((4, 5), "uint8"), label=datasets.Value("int64"))
    datasets.Dataset.from_dict({"x": PIXELS, "label": [0, 1] * 10}, features).save_to_disk(tmp_path / "d")
    data = load(tmp_path / "d")
    assert (data.shape, data.train_x.dtype) == ((1, 4, 5), np.uint8)
    assert {x.tobytes() for x in (*data.train_x, *data.test_x)} == {x.tobytes() for x in PIXELS}


def test_bytes_in_a_table_are_numbers(tmp_path):
    features = datasets.Features(x=datasets.Value("uint8"), label=datasets.Value("int64"))
    datasets.Dataset.from_dict({"x": [7] * 10, "label": [0, 1] * 5}, features).save_to_disk(tmp_path / "d")
    assert (load(tmp_path / "d").train_x.dtype, load(tmp_path / "d").train_x[0, 0]) == (np.float32, 7)


def png(pixels):
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "png")
    return {"bytes": content.getvalue(), "path": None}


def with_pictures(pictures, where):
    features = datasets.Features(image=datasets.Image(), label=datasets.Value("int64"), size=datasets.Value("int64"))
    rows = {"image": pictures, "label": [k % 2 for k in range(len(pictures))], "size": [0] * len(pictures)}
    datasets.Dataset.from_dict(rows, features).save_to_disk(where)
    return where


def test_pictures(tmp_path):
    data = load(with_pictures([png(pixels) for pixels in PIXELS], tmp_path / "d"))
    assert (data.shape, data.train_x.dtype) == ((1, 4, 5), np.uint8)
    assert {x.tobytes() for x in (*data.train_x, *data.test_x)} == {x.tobytes() for x in PIXELS}
    assert load(tmp_path / "d", size=(2, 3)).shape == (1, 2, 3)
    assert load(tmp_path / "d", x="size").shape == (1,)


def test_pictures_in_parquet(tmp_path):
    with_pictures([png(pixels) for pixels in PIXELS], tmp_path / "d")
    datasets.load_from_disk(tmp_path / "d").to_parquet(tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet").shape == (1, 4, 5)


@pytest.mark.parametrize(
    ("pictures", "options", "words"),
    [
        ([png(PIXELS[0]), None], {}, "d, split train, sample 1: its picture is missing"),
        (
            [png(PIXELS[0]), {"bytes": b"hello", "path": None}],
            {},
            "d, split train, sample 1 cannot be read as a picture",
        ),
        ([png(PIXELS[0]), png(PIXELS[0, :3])], {}, "sample 0 is 4 x 5 pixels and .*sample 1 is 3 x 5; .*data.size"),
        ([png(PIXELS[0])] * 2, {"x": ("image", "size")}, "image is pictures; choose one of image, size in data.x"),
        ([png(PIXELS[0])] * 2, {"size": (2,)}, r"data.size must be \[height, width\]"),
    ],
)
def test_bad_pictures_are_named(tmp_path, pictures, options, words):
    with pytest.raises(UserError, match=words):
        load(with_pictures(pictures, tmp_path / "d"), **options)


def picture_folder(folder, classes, pixel):
    for c in classes:
        (folder / c).mkdir(parents=True)
        for k in range(4):
            Image.fromarray(np.full((2, 2), pixel, np.uint8)).save(folder / c / f"{k}.png")


def test_a_folder_of_pictures(tmp_path):
    picture_folder(tmp_path / "d", "ab", 7)
    data = load(tmp_path / "d")
    assert (data.class_names, data.shape, len(data.test_y)) == (("a", "b"), (1, 2, 2), 2)


def test_a_folder_per_worker_and_classes_by_name(tmp_path):
    picture_folder(tmp_path / "w2", "ab", 2)
    picture_folder(tmp_path / "w10", "bc", 10)
    data = load(tmp_path / "w*", test_share=0.25)
    assert data.class_names == ("a", "b", "c")
    assert sorted(set(zip(data.owners, data.train_x[:, 0, 0, 0], strict=True))) == [(0, 2), (1, 10)]
    assert sorted(set(zip(data.owners, data.train_y, strict=True))) == [(0, 0), (0, 1), (1, 1), (1, 2)]
    with pytest.raises(UserError, match=r"data.owner and a \* in data.path both say"):
        load(tmp_path / "w*", owner="label")


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({}, {"y": "labe"}, "d, split train has no column 'labe'; did you mean 'label'"),
        ({}, {"x": "c"}, "d, split train has no column 'c'; known are a, b, label"),
        ({}, {"owner": "who"}, "d, split train has no column 'who'"),
        ({"label": ["x"] * 19 + [None]}, {}, "d, split train, column label: sample 19 has no value"),
        ({"a": [1] * 19 + [None]}, {}, "d, split train, column a: sample 19 has a value that is no finite float32"),
        ({"label": [0.5] * 20}, {}, "d, split train, column label: labels must be classes"),
        ({"label": [[1, 2]] * 20}, {}, r"d, split train, column label: labels must be a list \[n\]"),
        (
            {"a": [[1], [1, 2]] * 10},
            {"x": "a"},
            "d, split train, column a: samples must be numbers, not of type object",
        ),
        ({}, {"x": "label", "y": "a"}, "d, split train, column label: samples must be numbers"),
        (
            {"a": ["t"] * 20, "b": ["t"] * 20},
            {},
            "d, split train has neither pictures nor numbers; its columns are a, b",
        ),
    ],
)
def test_bad_columns_are_named(tmp_path, columns, options, words):
    table(**columns).save_to_disk(tmp_path / "d")
    with pytest.raises(UserError, match=words):
        load(tmp_path / "d", **options)


def test_damaged_files_are_named(tmp_path):
    table().save_to_disk(tmp_path / "d")
    (arrow,) = (tmp_path / "d").glob("*.arrow")
    arrow.write_bytes(arrow.read_bytes()[:200])
    with pytest.raises(UserError, match=r"d cannot be read: "):
        load(tmp_path / "d")
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"t.parquet cannot be read: "):
        load(tmp_path / "t.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"empty cannot be read: "):
        load(tmp_path / "empty")


def test_other_formats_are_not_read(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "t.txt").write_text("hello")
    with pytest.raises(
        UserError, match=r"d is of the format text, which is not read; parquet, arrow, csv, json, image"
    ):
        load(tmp_path / "d")
    with pytest.raises(UserError, match=r"t.txt is of a format that is not read; .parquet, .arrow"):
        load(tmp_path / "d" / "t.txt")


@pytest.mark.parametrize("name", ["nobody/nothing", "nothing"])
def test_the_hub_out_of_reach(name):
    assert HuggingFace(path=name).find(Path()) is None
    with pytest.raises(UserError, match=rf"data.path = '{name}' is no file or folder here, nor can it be had from the"):
        load(name)


@pytest.mark.parametrize("path", ["./nothing", "nothing.parquet", "w*", "/nothing/here", "~/nothing here"])
def test_what_is_a_path_is_not_looked_for_on_the_hub(path):
    with pytest.raises(UserError, match=r"data.path = '.*': nothing is there"):
        load(path)


def test_the_library_is_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"needs the package datasets, which is missing: pip install 'hiermo\[hugg"):
        load(tmp_path)
