"""Tables of one's own: headers, columns, owners, and every fault with its line and column."""

from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.sources.csv_table import CsvTable

ROWS = "".join(f"{k},{k / 2},{'ab'[k % 2]}\n" for k in range(10))


@pytest.fixture
def load(tmp_path):
    def written_and_loaded(text, **options):
        file = tmp_path / "t.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return CsvTable(path=str(file), **options).load(Path())

    return written_and_loaded


def whole(data):
    """All samples with their labels, sorted."""
    x, y = np.concatenate([data.train_x, data.test_x]), np.concatenate([data.train_y, data.test_y])
    order = np.argsort(x[:, 0])
    return x[order], y[order]


@pytest.mark.parametrize("head", ["", "one,two,class\n", " one , two , class \n", '"one","two","class"\n'])
def test_with_and_without_a_header(load, head):
    data = load(head + ROWS)
    x, y = whole(data)
    np.testing.assert_array_equal(x, [[k, k / 2] for k in range(10)])
    assert y.tolist() == [0, 1] * 5
    assert (data.name, data.classes, data.class_names) == ("t.csv", 2, ("a", "b"))
    assert (data.train_x.dtype, data.train_y.dtype, len(data.test_y)) == (np.float32, np.int64, 2)
    assert data.owners is None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("class,one,two\n" + "".join(f"{'ab'[k % 2]},{k},{k / 2}\n" for k in range(10)), {"label": "class"}),
        ("".join(f"{'ab'[k % 2]},{k},{k / 2}\n" for k in range(10)), {"label": 0}),
        ("".join(f"{k},{'ab'[k % 2]},{k / 2}\n" for k in range(10)), {"label": -2}),
        (ROWS.replace(",", ";"), {"separator": ";"}),
        (ROWS.replace(",", "\t"), {"separator": "\t"}),
        (ROWS.replace(",", ", "), {}),
        (ROWS.replace("a", ' "a"').replace("b", ' "b"'), {}),
        (ROWS.replace("a", " a ").replace("b", "b\t"), {}),
        (ROWS.replace("\n", "\r\n"), {}),
        (ROWS.replace("\n", "\n\n"), {}),
        (ROWS.removesuffix("\n"), {}),
        (b"\xef\xbb\xbf" + ROWS.encode(), {}),
        (",one,two,class\n" + "".join(f"{k},{row}\n" for k, row in enumerate(ROWS.split())), {"ignore": (0,)}),
        ("id,one,two,class\n" + "".join(f"#{k},{row}\n" for k, row in enumerate(ROWS.split())), {"ignore": ("id",)}),
        ("0,1,class\n" + ROWS, {"header": True}),
        ("0,1,class\n" + ROWS, {"label": "class"}),
    ],
)
def test_the_same_table_in_other_words(load, text, options):
    data = load(text, **options)
    x, y = whole(data)
    np.testing.assert_array_equal(x, [[k, k / 2] for k in range(10)])
    assert y.tolist() == [0, 1] * 5
    assert data.class_names == ("a", "b")


def test_numbers_are_classes_in_their_order(load):
    data = load("".join(f"{k},{(k % 2) * 7 + 3}\n" for k in range(10)))
    assert data.class_names == ("3", "10")


def test_a_column_that_says_whose_a_row_is(load):
    text = "who,one,class\n" + "".join(f"{'p10' if k < 4 else 'p9'},{k},{k % 2}\n" for k in range(10))
    data = load(text, owner="who", test_share=0.5)
    assert ((data.train_x[:, 0] < 4) == (data.owners == 1)).all()
    assert ((data.test_x[:, 0] < 4) == (data.test_owners == 1)).all()
    assert np.bincount(data.test_owners).tolist() == [3, 2]
    assert data.shape == (1,)


@pytest.fixture
def workers(tmp_path):
    for k, n in ((1, 4), (2, 6), (10, 8)):
        (tmp_path / f"w{k}.csv").write_text("one,class\n" + "".join(f"{k},{'xyz'[i % 2]}\n" for i in range(n)))
    return tmp_path


def test_a_file_per_worker(workers):
    data = CsvTable(path=f"{workers}/w*.csv", test_share=0.5).load(Path())
    assert sorted(set(zip(data.owners, data.train_x[:, 0], strict=True))) == [(0, 1), (1, 2), (2, 10)]
    assert np.bincount(data.owners).tolist() == np.bincount(data.test_owners).tolist() == [2, 3, 4]


def test_a_test_file(workers):
    (workers / "test.csv").write_text("one,class\n5,z\n")
    data = CsvTable(path=f"{workers}/w*.csv", test=f"{workers}/test.csv").load(Path())
    assert (data.test_x.tolist(), data.test_y.tolist(), data.class_names) == ([[5.0]], [2], ("x", "y", "z"))
    assert np.bincount(data.owners).tolist() == [4, 6, 8]
    assert data.test_owners is None
    same = CsvTable(path=f"{workers}/w*.csv", test=f"{workers}/w*.csv").load(Path())
    np.testing.assert_array_equal(same.owners, same.test_owners)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("one,kind\n1,x\n", "w1.csv and .*w3.csv have different columns, as 'class' and 'kind'"),
        ("one,two,class\n1,2,x\n", "w1.csv and .*w3.csv have different columns, as 'class' and 'two'"),
        ("one\n1\n", "w1.csv and .*w3.csv have different columns, 2 and 1 of them"),
        ("1,x\n", "w1.csv and .*w3.csv have different columns, one has a header and the other not"),
    ],
)
def test_files_that_do_not_go_together(workers, content, words):
    (workers / "w3.csv").write_text(content)
    with pytest.raises(UserError, match=words):
        CsvTable(path=f"{workers}/w*.csv").load(Path())


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, "t.csv is empty"),
        ("\n\n", {}, "t.csv is empty"),
        ("one,class\n", {}, "t.csv has no row of data"),
        ("one,class\n1,x\n\n2\n", {}, "t.csv, line 4: 1 columns where the first line has 2; .*data.separator"),
        ("one,class\n1,x\n,y\n", {}, "t.csv, line 3, column 'one': a value is missing; .*data.ignore"),
        ("one,class\n1,x\n?,y\n", {}, r"t.csv, line 3, column 'one': '\?' is not a number"),
        ("one,class\n1,x\nnan,y\n", {}, "t.csv, line 3, column 'one': 'nan' is not a number"),
        ("one,class\n1,x\n1e39,y\n", {}, "t.csv, line 3, column 'one': '1e39' is not a number that fits in float32"),
        ("one,class\n1,x\n1_0,y\n", {}, "t.csv, line 3, column 'one': '1_0' is not a number"),
        ("1,x\n2,y\nz,y\n", {}, "t.csv, line 3, column 0: 'z' is not a number"),
        ("one,class\n1,x\n1,\n", {}, "t.csv, line 3, column 'class': a value is missing"),
        ('one,class\n1,"x\ny"\n?,y\n', {}, r"t.csv, line 4, column 'one': '\?'"),
        ("one,class\n1,x\n2,y\n", {"label": "clas"}, "data.label: .*t.csv has no column 'clas'; did you mean 'class'"),
        ("one,class\n1,x\n2,y\n", {"label": 2}, "data.label: .*t.csv has no column 2, for it has 2, counted from 0"),
        ("one,class\n1,x\n2,y\n", {"ignore": ("on",)}, "data.ignore: .*t.csv has no column 'on'; did you mean 'one'"),
        ("one,class\n1,x\n2,y\n", {"ignore": ("one",)}, "t.csv has no column left to learn from beside 'class'"),
        ("one,one,class\n1,2,x\n", {}, "t.csv: two columns are called 'one'"),
        (",one,class\n0,1,x\n", {}, r"t.csv: column 0 has no name; .*data.ignore = \[0\]"),
        ("0,1,class\n1,2,0\n", {}, "t.csv: is line 1 a header\\? .*'class' stands above a number; say data.header"),
        ("?,1,x\n1,2,x\n", {}, r"t.csv: is line 1 a header\? .*'\?' stands above a number; say data.header"),
        ('one,class\n1,"x\n', {}, "t.csv, after line 1: cannot be read: unexpected end of data"),
        (b"one,class\n1,\xe9\n", {}, "t.csv is not text in UTF-8"),
        ("1,2.5\n2,3.5\n", {}, "t.csv, column 1: labels must be classes, and one is 2.5"),
        ("1,x\n2,x\n", {}, "t.csv, column 1: all samples are of the class x"),
        (ROWS, {"separator": "::"}, "data.separator must be a single character"),
        (ROWS, {"separator": "\n"}, "data.separator must be a single character"),
        (ROWS, {"test_share": 1.0}, r"CsvTable: test_share must be in \(0, 1\)"),
        (ROWS, {"test": "*", "owner": 0}, r"data.owner and a \* in data.path or data.test both say"),
    ],
)
def test_a_bad_table_is_named(load, text, options, words):
    with pytest.raises(UserError, match=words) as caught:
        load(text, **options)
    assert "\n" not in str(caught.value)


def test_a_strange_owner(load, tmp_path):
    (tmp_path / "test.csv").write_text("who,one,class\nann,1,x\n")
    with pytest.raises(UserError, match=r"test.csv, column 'class': the owner 'ann' has no training sample"):
        load("who,one,class\nbob,1,x\nbob,2,y\n", owner="who", test=str(tmp_path / "test.csv"))


def test_nothing_there(tmp_path):
    source = CsvTable(path=str(tmp_path / "t.csv"))
    assert source.find(Path()) is None
    with pytest.raises(UserError, match=r"data.path = '.*t.csv': nothing is there"):
        source.load(Path())
    with pytest.raises(UserError, match=r"after line 0: cannot be read: .*directory"):
        CsvTable(path=str(tmp_path)).load(Path())


def test_a_large_table_is_read_in_seconds(load):
    """10000 rows of 20 columns take 0.2 s; the limit is for a slow machine, and time that grows with the square."""
    values = np.random.default_rng(0).standard_normal((10000, 20))
    text = "".join(f"{','.join(map(repr, row))},{k % 10}\n" for k, row in enumerate(values.tolist()))
    start = perf_counter()
    data = load(text)
    assert perf_counter() - start < 5
    assert data.train_x.shape == (8000, 20)
