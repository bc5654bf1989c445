"""Taking over what the user has on disk: verified before anything is placed, copied, and named where it is wrong."""

from dataclasses import dataclass, replace
import gzip
import hashlib
import io
import os
from pathlib import Path
import struct
import tarfile

import numpy as np
import pytest

from hiermo.core.errors import UserError
from hiermo.data.dataset import Dataset
from hiermo.data.download import Download
from hiermo.data.obtain.fetchable import Fetchable, fetchable
from hiermo.data.obtain.import_files import import_files
from hiermo.data.obtain.listener import Listener
from hiermo.data.sources.mnist import FILES, Mnist

PLAIN = {
    f"{part}-{kind}": struct.pack(f">{1 + len(shape)}I", 0x800 + len(shape), n, *shape[1:]) + bytes(n * pixels)
    for part, n in (("train", 7), ("t10k", 3))
    for kind, shape, pixels in (("images-idx3-ubyte", (n, 28, 28), 784), ("labels-idx1-ubyte", (n,), 1))
}
PACKED = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in PLAIN.items()}


def md5(content):
    return f"md5:{hashlib.md5(content).hexdigest()}"


DIGITS = Fetchable(
    name="mnist",
    folder="mnist",
    downloads=tuple(Download(name=name, urls=(), checksum=md5(content)) for name, content in PACKED.items()),
    contents={name: md5(content) for name, content in PACKED.items()},
    source=Mnist(),
)


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def found(folder):
    files = (file for file in folder.rglob("*") if not file.is_dir())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files if file.suffix != ".lock"}


class Heard(Listener):
    def __init__(self):
        self.notes = []

    def note(self, sentence):
        self.notes.append(sentence)


def refused(wanted, path, data):
    """The sentence; and nothing is placed, and nothing is left."""
    before = found(data)
    with pytest.raises(UserError) as no:
        import_files(wanted, path, data)
    assert found(data) == before
    assert not list(data.glob("*.part"))
    assert str(no.value).startswith(f"data set {wanted.name}: ")
    assert "\n" not in str(no.value)
    return str(no.value).removeprefix(f"data set {wanted.name}: ")


@pytest.fixture
def mine(tmp_path):
    return tmp_path / "mine"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize("below", ["", "raw/", "a/b/c/"])
def test_files_are_found_wherever_they_lie(mine, data, below):
    write(mine, {f"{below}{name}": content for name, content in PACKED.items()} | {"other.txt": b"other"})
    before = found(mine)
    import_files(DIGITS, mine, data)
    assert found(data / "mnist") == PACKED
    assert found(mine) == before  # copied, not moved
    assert len(Mnist().load(data).train_y) == 7


def test_links_to_files_are_followed(mine, data):
    write(mine, {f"blobs/{k}": content for k, content in enumerate(PACKED.values())})
    (mine / "set").mkdir()
    for k, name in enumerate(PACKED):
        (mine / "set" / name).symlink_to(mine / f"blobs/{k}")
    import_files(DIGITS, mine / "set", data)
    assert found(data / "mnist") == PACKED
    assert not any(file.is_symlink() for file in (data / "mnist").iterdir())


def test_the_right_one_of_several(mine, data):
    name = "train-labels-idx1-ubyte.gz"
    write(mine, PACKED | {f"old/{name}": b"old", f"young/{name}": b"young"})
    import_files(DIGITS, mine, data)
    assert found(data / "mnist") == PACKED


@pytest.mark.parametrize(
    "unpacked", [list(PLAIN), ["train-images-idx3-ubyte"]], ids=["all are unpacked", "one is unpacked"]
)
def test_unpacked_files_are_judged_by_the_reader(mine, data, unpacked):
    files = {name: content for name, content in PACKED.items() if name.removesuffix(".gz") not in unpacked}
    files |= {name: PLAIN[name] for name in unpacked}
    write(mine, files)
    heard = Heard()
    import_files(DIGITS, mine, data, heard)
    assert found(data / "mnist") == files
    assert len(Mnist().load(data).train_y) == 7
    assert heard.notes == ["mnist has 7 training samples here; the whole set has 60000"]


def test_a_damaged_unpacked_file_is_named(mine, data):
    write(mine, PLAIN | {"train-images-idx3-ubyte": PLAIN["train-images-idx3-ubyte"][:-1]})
    sentence = refused(DIGITS, mine, data)
    assert sentence.startswith(f"{mine}/train-images-idx3-ubyte has 5487 bytes of data where its header says 5488; ")
    assert sentence.endswith("nothing was imported: get the right files and try again")


@pytest.mark.parametrize(
    "content",
    [b"", PACKED["train-images-idx3-ubyte.gz"][:-1], b"<html></html>"],
    ids=["empty", "cut short", "a page"],
)
def test_a_damaged_file_is_named(mine, data, content):
    write(mine, PACKED | {"train-images-idx3-ubyte.gz": content})
    write(data / "mnist", {"mine.txt": b"mine"})
    sentence = refused(DIGITS, mine, data)
    assert sentence.startswith(f"{mine}/train-images-idx3-ubyte.gz has md5 ")
    assert f"({len(content)} bytes: damaged, cut short, or other)" in sentence


def test_missing_files_are_named(mine, data):
    write(mine, dict(list(PACKED.items())[:2]))
    assert refused(DIGITS, mine, data).startswith(
        f"not in {mine}: t10k-images-idx3-ubyte.gz; t10k-labels-idx1-ubyte.gz; nothing was imported"
    )


def test_missing_and_damaged_at_once(mine, data):
    write(mine, dict(list(PACKED.items())[:2]) | {"t10k-images-idx3-ubyte.gz": b"x"})
    sentence = refused(DIGITS, mine, data)
    assert f"{mine}/t10k-images-idx3-ubyte.gz has md5" in sentence
    assert f"not in {mine}: t10k-labels-idx1-ubyte.gz" in sentence


def test_one_file_of_several(mine, data):
    write(mine, PACKED)
    sentence = refused(DIGITS, mine / "train-images-idx3-ubyte.gz", data)
    assert "train-labels-idx1-ubyte.gz; t10k-images-idx3-ubyte.gz; t10k-labels-idx1-ubyte.gz" in sentence


def test_nothing_there(mine, data):
    mine.mkdir()
    assert refused(DIGITS, mine, data).startswith(f"not in {mine}: train-images-idx3-ubyte.gz; ")
    assert refused(DIGITS, mine / "absent", data) == (
        f"{mine}/absent does not exist; name the folder or the archive that holds it"
    )


def test_what_is_in_place_is_replaced(mine, data):
    write(mine, PACKED)
    wrong = {"train-labels-idx1-ubyte.gz": b"old", "t10k-labels-idx1-ubyte": b"unpacked", "mine.txt": b"mine"}
    write(data / "mnist", wrong)
    import_files(DIGITS, mine, data)
    assert found(data / "mnist") == PACKED | {"mine.txt": b"mine"}


def test_from_its_own_place(data):
    """What is there already, in the wrong folder, may be imported from there."""
    write(data / "mnist/raw", PACKED)
    import_files(DIGITS, data / "mnist", data)
    assert len(Mnist().load(data).train_y) == 7


def test_what_a_kill_left_behind_does_no_harm(mine, data):
    write(mine, PACKED)
    write(data / "mnist.part", {"mnist/mine.txt": b"half", "replaced/x": b"old", "downloads/y.part": b"part"})
    import_files(DIGITS, mine, data)
    assert found(data) == {f"mnist/{name}": content for name, content in PACKED.items()}


def test_a_refusal_keeps_what_a_fetch_began(mine, data):
    write(mine, {"x": b""})
    write(data / "mnist.part", {"downloads/y.part": b"part"})
    with pytest.raises(UserError):
        import_files(DIGITS, mine, data)
    assert found(data) == {"mnist.part/downloads/y.part": b"part"}


def test_a_file_that_may_not_be_read(mine, data):
    write(mine, PACKED)
    (mine / "train-images-idx3-ubyte.gz").unlink()
    (mine / "train-images-idx3-ubyte.gz").mkdir()  # root may read everything else
    assert refused(DIGITS, mine, data).startswith(f"not in {mine}: train-images-idx3-ubyte.gz; ")


TREE = {"tree/one.txt": b"1 1 1", "tree/deep/two.txt": b"2 2", "tree/readme.txt": b"read me"}
CONTENTS = {path: md5(TREE[path]) for path in ("tree/one.txt", "tree/deep/two.txt")}


def tar(files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


ARCHIVE = tar(TREE)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads numbers from a tree, or from another form of it."""

    def find(self, directory):
        here = directory / "small"
        return next((here / form for form in ("tree", "other") if (here / form / "one.txt").is_file()), None)

    def load(self, directory):
        file = self.find(directory) / "one.txt"
        try:
            x = np.array([float(word) for word in file.read_text().split()], np.float32)[:, None]
        except ValueError:
            raise UserError(f"data set small: {file} is no list of numbers; fetch it again") from None
        y = np.zeros(len(x), np.int64)
        return Dataset("small", x, y, x, y, 1)


def small(contents=CONTENTS, checksum=None):
    file = Download(
        name="set.tar.gz",
        urls=("https://a/set.tar.gz", "https://b/The%20Set.tgz"),
        checksum=md5(ARCHIVE) if checksum is None else checksum,
        archive=True,
    )
    return Fetchable(name="small", folder="small", downloads=(file,), contents=contents, source=Reader())


@pytest.mark.parametrize("contents", [CONTENTS, {}], ids=["with checksums", "without checksums"])
@pytest.mark.parametrize("checksum", [None, ""])
@pytest.mark.parametrize("name", ["set.tar.gz", "set (1).tar.gz"])
def test_the_official_archive(mine, data, contents, checksum, name):
    write(mine, {name: ARCHIVE})
    import_files(small(contents, checksum), mine / name, data)
    assert found(data / "small") == TREE


@pytest.mark.parametrize("name", ["set.tar.gz", "The Set.tgz"])
def test_a_folder_with_the_archive(mine, data, name):
    write(mine, {f"downloads/{name}": ARCHIVE, "song.mp3": b"la"})
    import_files(small(), mine, data)
    assert found(data / "small") == TREE


@pytest.mark.parametrize("contents", [CONTENTS, {}], ids=["with checksums", "without checksums"])
@pytest.mark.parametrize("where", ["set.tar.gz", ""])
def test_a_damaged_archive_is_named(mine, data, contents, where):
    write(mine, {"set.tar.gz": ARCHIVE[:-5]})
    sentence = refused(small(contents), mine / where, data)
    assert sentence.startswith(f"{mine}/set.tar.gz is not set.tar.gz: it has md5 ")
    assert f"({len(ARCHIVE) - 5} bytes: damaged, cut short, or other)" in sentence


def test_a_damaged_archive_without_a_checksum_is_named(mine, data):
    write(mine, {"set.tar.gz": ARCHIVE[:-5], "less.tar.gz": tar({"tree/one.txt": TREE["tree/one.txt"]})})
    assert "set.tar.gz is cut short, damaged" in refused(small(checksum=""), mine / "set.tar.gz", data)
    assert refused(small(checksum=""), mine / "less.tar.gz", data).startswith(
        f"in {mine}/less.tar.gz: tree/deep/two.txt is missing"
    )


@pytest.mark.parametrize("below", ["", "tree", "tree/deep/.."])
def test_an_unpacked_tree_with_checksums(mine, data, below):
    write(mine, TREE)
    import_files(small(), mine / below, data)
    assert found(data / "small") == {path: TREE[path] for path in CONTENTS}


def test_files_of_one_name_go_by_their_folders(mine, data):
    contents = {"tree/a/data.txt": md5(b"same"), "tree/b/data.txt": md5(b"same")}
    write(mine, {"tree/one.txt": b"1", "tree/a/data.txt": b"same", "tree/b/data.txt": b"other"})
    import_files(small(contents), mine, data)  # b/data.txt is wrong, and a/data.txt has what it should have
    assert found(data / "small") == dict.fromkeys(contents, b"same")


def test_unpacked_files_of_one_name_do_too(mine, data):
    contents = {"tree/one.txt": md5(b"1"), "tree/a/data.txt.gz": md5(b"a"), "tree/b/data.txt.gz": md5(b"b")}
    files = {"tree/one.txt": b"1", "tree/a/data.txt": b"of a", "tree/b/data.txt": b"of b"}
    write(mine, {**files, "data.txt": b"of nobody"})
    import_files(small(contents), mine, data)
    assert found(data / "small") == files


@pytest.mark.parametrize("below", ["", "tree", "tree/deep/.."])
@pytest.mark.parametrize("above", ["", "x/", "x/y/"])
def test_a_tree_without_checksums_is_judged_by_the_reader(mine, data, below, above):
    write(mine, {f"{above}{path}": content for path, content in TREE.items()})
    write(mine, {"song.mp3": b"la", "films/long.mp4": b"..."})
    heard = Heard()
    import_files(small({}), mine / above / below if below else mine, data, heard)
    assert found(data / "small") == TREE  # and not the song
    assert heard.notes == ["reading small once, for it has no checksums in this form"]


def test_a_damaged_tree_without_checksums_is_refused(mine, data):
    write(data / "small", {"tree/one.txt": b"1"})
    write(mine, TREE | {"tree/one.txt": b"one"})
    assert refused(small({}), mine, data).startswith(f"{mine}/tree/one.txt is no list of numbers; nothing was imported")


def test_another_form_is_judged_by_the_reader(mine, data):
    """As the binary version of CIFAR-10: nothing of the declared contents is there, and the source reads it."""
    write(mine, {"other/one.txt": b"1 2 3"})
    import_files(replace(small(), contents={"tree/two.txt": md5(b"2")}), mine, data)
    assert found(data / "small") == {"other/one.txt": b"1 2 3"}


def test_but_not_beside_a_wrong_file_of_the_declared_form(mine, data):
    write(mine, {"tree/one.txt": b"3 3 3", "tree/deep/two.txt": TREE["tree/deep/two.txt"]})
    assert refused(small(), mine, data).startswith(f"{mine}/tree/one.txt has md5 ")


@pytest.mark.parametrize("contents", [CONTENTS, {}], ids=["with checksums", "without checksums"])
def test_a_folder_with_nothing_of_it(mine, data, contents):
    write(mine, {"song.mp3": b"la"})
    sentence = refused(small(contents), mine, data)
    assert "set.tar.gz" in sentence and str(mine) in sentence


def test_a_pipe_in_a_tree_is_refused(mine, data):
    write(mine, TREE)
    os.mkfifo(mine / "tree/pipe")
    assert "tree/pipe cannot be copied: " in refused(small({}), mine, data)


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set")
def test_the_real_digits(mine, data):
    there = Path(os.environ["HIERMO_DATA"]) / "mnist"
    import_files(fetchable("mnist"), there, data)
    assert sorted(found(data / "mnist")) == sorted(f"{name}.gz" for name in FILES)
    write(mine, {name: gzip.decompress((there / f"{name}.gz").read_bytes()) for name in FILES})
    import_files(fetchable("mnist"), mine, data)
    assert len(Mnist().load(data).train_y) == Mnist.samples
