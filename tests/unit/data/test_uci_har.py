"""UCI-HAR from small trees in the authors' form, good and bad."""

import shutil

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import check
from hiermo.data.reading.decoded import progress
from hiermo.data.sources import uci_har
from hiermo.data.sources.uci_har import CHANNELS, FILES, TREE, UciHar

LABELS = {"train": [5, 1, 6, 2, 3], "test": [4, 4, 1]}
SUBJECTS = {"train": [7, 1, 30, 7, 3], "test": [2, 9, 2]}


def value(part, channel, row, step):
    sign = -1 if step % 2 else 1
    return sign * ((part == "test") * 1000 + channel * 100 + row * 10 + step / 13)


def line(values):
    """As the authors wrote it: 16 characters a value, three digits of exponent."""
    words = (f"{each:.7e}" for each in values)
    return "".join(f"{word[:-2] + '0' + word[-2:]:>16}" for word in words) + "\r\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data directory with five training and three test windows."""
    tree = tmp_path_factory.mktemp("har") / "uci-har" / TREE
    for part, labels in LABELS.items():
        (tree / part / "Inertial Signals").mkdir(parents=True)
        (tree / part / f"y_{part}.txt").write_text("".join(f"{label}\n" for label in labels))
        (tree / part / f"subject_{part}.txt").write_text("".join(f"{subject}\n" for subject in SUBJECTS[part]))
        for k, channel in enumerate(CHANNELS):
            rows = [line(value(part, k, row, step) for step in range(128)) for row in range(len(labels))]
            (tree / part / "Inertial Signals" / f"{channel}_{part}.txt").write_text("".join(rows), newline="")
    return tree.parents[1]


@pytest.fixture
def directory(made, tmp_path):
    return shutil.copytree(made, tmp_path / "data")


def test_samples_labels_and_owners(directory):
    assert UciHar().find(directory) == directory / "uci-har" / TREE
    data = UciHar().load(directory)
    check(data)
    for part, x in (("train", data.train_x), ("test", data.test_x)):
        expected = [
            [[value(part, k, row, step) for step in range(128)] for k in range(9)] for row in range(len(LABELS[part]))
        ]
        assert x.dtype == np.float32
        assert x.shape == (len(LABELS[part]), 9, 128)
        np.testing.assert_allclose(x, expected, rtol=1e-7)  # eight digits are written
    assert data.train_y.tolist() == [4, 0, 5, 1, 2]
    assert data.test_y.tolist() == [3, 3, 0]
    assert data.owners.tolist() == [2, 0, 3, 2, 1]  # subjects 1, 3, 7, 30
    assert data.test_owners is None
    assert (data.name, data.classes, data.class_names[3]) == ("uci-har", 6, "SITTING")


def test_channels_are_in_the_documented_order():
    assert CHANNELS[:4] == ("body_acc_x", "body_acc_y", "body_acc_z", "body_gyro_x")
    assert CHANNELS[6:] == ("total_acc_x", "total_acc_y", "total_acc_z")


def test_numbers_are_rounded_once(directory):
    """Halfway between two float32 but for the last digit: through a float32 of fewer digits it would fall down."""
    file = directory / "uci-har" / TREE / "train" / "Inertial Signals" / "body_acc_x_train.txt"
    exact = 1 + 2.0**-24 + 2.0**-40
    first, rest = file.read_text().split("\n", 1)
    file.write_text(" ".join([repr(exact), *first.split()[1:]]) + "\n" + rest)
    assert UciHar().load(directory).train_x[0, 0, 0] == np.float32(1) + np.float32(2.0**-23)


def test_line_ends_of_unix(directory):
    expected = UciHar().load(directory).train_x.copy()
    for file in directory.rglob("*.txt"):
        file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n"))
    np.testing.assert_array_equal(UciHar().load(directory).train_x, expected)


def test_the_text_is_read_once(directory, monkeypatch):
    told = []
    token = progress.set(lambda *what: told.append(what))
    try:
        first = UciHar().load(directory)
    finally:
        progress.reset(token)
    assert [done for done, total, what in told if what == "reading uci-har" and total == 18] == list(range(19))
    monkeypatch.setattr(uci_har.np, "loadtxt", None)
    again = UciHar().load(directory)
    for name in ("train_x", "train_y", "test_x", "test_y", "owners"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert getattr(again, name).flags.writeable


@pytest.mark.parametrize("file", [FILES[0], FILES[9], FILES[-1]])
def test_a_missing_file_is_named(directory, file):
    tree = directory / "uci-har" / TREE
    (tree / file).unlink()
    assert UciHar().find(directory) is None
    ways = "`hiermo data fetch uci-har` or `hiermo data import uci-har PATH`, or let HIERMO_DATA"
    with pytest.raises(UserError, match=f"data set uci-har: {file} is not in {tree}; get it by {ways}"):
        UciHar().load(directory)


def test_nothing_there(tmp_path):
    assert UciHar().find(tmp_path) is None
    with pytest.raises(UserError, match=r"body_gyro_x_train\.txt and 18 more is not in .*data fetch uci-har"):
        UciHar().load(tmp_path)


SIGNAL = "train/Inertial Signals/body_gyro_y_train.txt"
GOOD = line(range(128)).encode()


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        (SIGNAL, GOOD * 4, "has 4 rows where there are 5 labels"),
        (SIGNAL, GOOD * 6, "has 6 rows where there are 5 labels"),
        (SIGNAL, GOOD * 4 + line(range(127)).encode(), "cannot be read: .* columns changed from 128 to 127"),
        (SIGNAL, line(range(129)).encode() * 5, "has rows of 129 values, not 128"),
        (SIGNAL, GOOD * 4 + GOOD.replace(b"1.0000000e+000", b"nothing"), "cannot be read: could not convert"),
        (SIGNAL, GOOD * 4 + GOOD.replace(b"1.0000000e+000", b"nan"), "not finite in row 5"),
        (SIGNAL, GOOD.replace(b"1.0000000e+000", b"1e39") + GOOD * 4, "not finite in row 1"),
        (SIGNAL, GOOD * 4 + GOOD[:-2], "is cut off"),
        (SIGNAL, GOOD * 4 + GOOD[:-7], "is cut off"),  # within the last number, which still is one
        (SIGNAL, (GOOD * 5)[:-700], "cannot be read"),
        (SIGNAL, b"", "is cut off"),
        (SIGNAL, b"\n", "is cut off"),
        (SIGNAL, GOOD * 4 + b"\xff" + GOOD, "cannot be read"),
        (SIGNAL, GOOD * 4 + b"# " + GOOD, "cannot be read"),
        (SIGNAL, GOOD * 4 + GOOD.replace(b"  1.0000000e+000", b"\0" * 16), "cannot be read"),
        ("train/y_train.txt", b"5\n1\n6\n2\n7\n", "has 7 in row 5, which is none of 1..6"),
        ("train/y_train.txt", b"5\n1\n0\n2\n3\n", "has 0 in row 3, which is none of 1..6"),
        ("train/y_train.txt", b"5\n1.5\n6\n2\n3\n", "has 1.5 in row 2, which is none of 1..6"),
        ("train/y_train.txt", b"5 1 6 2 3\n", "has rows of 5 values, not 1"),
        ("test/subject_test.txt", b"2\n9\n31\n", "has 31 in row 3, which is none of 1..30"),
        ("test/subject_test.txt", b"2\n9\n", "has 2 rows where there are 3 labels"),
    ],
)
def test_a_bad_file_is_named_and_nothing_is_kept(directory, file, content, words):
    path = directory / "uci-har" / TREE / file
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"data set uci-har: {path} .*{words}.*; get it again by .*than {directory}$"):
        UciHar().load(directory)
    assert not list((directory / "decoded").glob("uci-har-*"))
