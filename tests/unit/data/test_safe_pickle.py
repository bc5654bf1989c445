"""The reader of pickles: arrays go through, code does not."""

import builtins
import functools
import os
import pickle
import struct

import numpy as np
import pytest

from hiermo.data.reading.safe_pickle import Refused, read_pickle

GOOD = {b"data": np.arange(12, dtype=np.uint8).reshape(3, 4), b"labels": [0, 1, 2], b"name": "one", b"share": 0.5}


def text(value):
    """SHORT_BINSTRING, the text of Python 2."""
    return b"U" + struct.pack("<B", len(value)) + value


def number(value):
    return b"K" + struct.pack("<B", value)


def array_of(kind, shape, data, fields=b"NNN", order=b"|"):
    """The opcodes with which numpy 1 and Python 2 wrote an array."""
    made = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + number(0) + b"\x85" + text(b"b") + b"\x87R"
    dtype = b"cnumpy\ndtype\n" + text(kind) + number(0) + number(1) + b"\x87R"
    dtype += b"(" + number(3) + text(order) + fields + b"J\xff\xff\xff\xff" + b"J\xff\xff\xff\xff" + number(0) + b"tb"
    return made + b"(" + number(1) + shape + dtype + b"\x89" + text(data) + b"tb"


def dict_of(value):
    return b"\x80\x02}" + text(b"data") + value + b"s."


@pytest.mark.parametrize("protocol", [3, 4])
def test_arrays_and_plain_values(protocol):
    found = read_pickle(pickle.dumps(GOOD, protocol))
    np.testing.assert_array_equal(found.pop(b"data"), GOOD[b"data"])
    assert found == {b"labels": [0, 1, 2], b"name": "one", b"share": 0.5}


@pytest.mark.parametrize("kind", ["u1", "<i2", ">i4", "<i8", "<f4", ">f8", "?"])
def test_types_and_orders(kind):
    array = np.asfortranarray(np.arange(6).reshape(2, 3).astype(kind))
    found = read_pickle(pickle.dumps({"a": array}, 4))["a"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_as_python_2_wrote_it():
    content = dict_of(array_of(b"u1", number(2) + number(2) + b"\x86", b"\x00\x7f\x80\xff"))
    np.testing.assert_array_equal(read_pickle(content)[b"data"], [[0, 127], [128, 255]])


class Calls:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("nested", [False, True])
def test_code_is_refused_and_not_run(tmp_path, protocol, nested):
    trace = tmp_path / "ran"
    for name, evil in {
        "system": Calls(os.system, f"touch {trace}"),
        "mkdir": Calls(os.mkdir, str(trace)),
        "eval": Calls(builtins.eval, f"open({str(trace)!r}, 'w')"),
        "exec": Calls(builtins.exec, f"open({str(trace)!r}, 'w')"),
        "getattr": Calls(builtins.getattr, "", "join"),
        "partial": Calls(functools.partial, print),
        "load": Calls(np.load, str(trace), "r", True),
        "loads": Calls(pickle.loads, b"N."),
    }.items():
        content = pickle.dumps({"data": [evil] if nested else evil}, protocol)
        with pytest.raises(Refused, match=rf"\.{name} is not admitted"):
            read_pickle(content)
        assert not trace.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy", "ndarray.__class__"),
        ("numpy", "ndarray.tofile"),
        ("numpy", "core.multiarray._reconstruct"),
        ("numpy", "dtype.__init_subclass__"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("numpy.ndarray", ""),
        ("hiermo.data.reading.safe_pickle", "_Array.__setstate__.__globals__"),
        ("builtins", "getattr"),
        ("__builtin__", "eval"),  # what Python 2 called it
        ("copyreg", "_reconstructor"),
        ("_codecs", "encode"),
    ],
)
def test_names_with_dots_lead_nowhere(module, name):
    parts = b"".join(b"\x8c" + struct.pack("<B", len(part)) + part.encode() for part in (module, name))
    with pytest.raises(Refused, match="is not admitted"):
        read_pickle(b"\x80\x04}" + text(b"data") + parts + b"\x93s.")


NDARRAY = b"cnumpy\nndarray\n"


@pytest.mark.parametrize(
    "content",
    [
        dict_of(array_of(b"O", number(1) + b"\x85", b"12345678")),  # pointers
        dict_of(array_of(b"O8", number(1) + b"\x85", b"12345678")),
        dict_of(array_of(b"V8", number(1) + b"\x85", b"12345678")),
        dict_of(array_of(b"u1", number(9) + b"\x85", b"12345678")),  # more than there is
        dict_of(array_of(b"u1", number(7) + b"\x85", b"12345678")),
        dict_of(array_of(b"u1", number(8) + b"\x85", b"12345678", order=b"!")),
        dict_of(array_of(b"u1", number(8) + b"\x85", b"12345678", fields=b"N" + text(b"a") + b"\x85}")),  # records
        dict_of(array_of(b"u1", text(b"x") + b"\x85", b"12345678")),
        dict_of(NDARRAY + b"}" + text(b"values") + number(1) + b"sb"),  # sets an attribute of a class
        dict_of(NDARRAY + b"N}" + text(b"values") + number(1) + b"s\x86b"),
        dict_of(NDARRAY + b")R"),  # an array without content
        dict_of(NDARRAY),
        dict_of(b"cnumpy\ndtype\n" + text(b"u1") + b"\x85R"),
        dict_of(b"]" + b"}" + text(b"x") + number(1) + b"sb"),  # attributes of a list
        dict_of(b"Pname\n"),  # a persistent object
        dict_of(b"\x82\x01"),  # an extension
        dict_of(b"]" * 3000 + b"a" * 2999 + b"\x8f"),
        pickle.dumps([1], 4),
        pickle.dumps(None, 4),
        b"",
        b"<html>not found</html>",
    ],
)
def test_what_is_not_plain_is_refused(content):
    with pytest.raises(Refused):
        read_pickle(content)
    test_as_python_2_wrote_it()  # and leaves no trace


def test_every_truncation_is_refused():
    content = pickle.dumps(GOOD, 4)
    for length in range(len(content)):
        with pytest.raises(Refused):
            read_pickle(content[:length])
