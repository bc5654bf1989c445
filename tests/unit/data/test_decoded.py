"""The store of decoded arrays: made once, remade when anything changed, never half-used."""

import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
from threading import Thread
import time

from filelock import FileLock
import numpy as np
import pytest
import torch

from hiermo.core.errors import UserError
from hiermo.data.reading import decoded as module
from hiermo.data.reading.decoded import decoded, progress

X = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
Y = np.array([1, 0])


class Set:
    """A data directory with two files, and how often they were decoded."""

    def __init__(self, directory):
        self.directory, self.made = directory, 0
        (directory / "set").mkdir(parents=True)
        self.sources = [directory / "set" / "a.txt", directory / "set" / "b.txt"]
        for file in self.sources:
            file.write_text("as it was")

    def make(self):
        self.made += 1
        return {"x": X, "y": Y}

    def load(self, name="set"):
        found = decoded(self.directory, name, self.sources, self.make)
        np.testing.assert_array_equal(found["x"], X)
        np.testing.assert_array_equal(found["y"], Y)
        return found

    @property
    def places(self):
        return sorted(each for each in (self.directory / "decoded").glob("*-*") if each.is_dir())


@pytest.fixture
def some(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return Set(tmp_path / "data")


def test_made_once(some):
    for _ in range(3):
        found = some.load()
    assert some.made == 1
    assert [place.parent for place in some.places] == [some.directory / "decoded"]
    assert type(found["x"]) is np.ndarray
    assert (found["x"].dtype, found["y"].dtype) == (np.uint8, np.int64)


def test_torch_shares_the_memory_and_the_files_stay(some):
    some.load()
    found = some.load()
    tensor = torch.from_numpy(found["x"])  # would warn of an array that cannot be written to
    tensor[0] = 7
    assert (found["x"][0] == 7).all()
    some.load()
    assert some.made == 1


def test_arrays_are_stored_in_the_order_of_their_indices(some):
    turned = np.arange(6.0).reshape(2, 3).T
    for _ in range(2):
        found = decoded(some.directory, "turned", some.sources, lambda: {"x": turned})["x"]
        np.testing.assert_array_equal(found, turned)
    assert found.flags.c_contiguous


def lengthen(file):
    time_of_change = file.stat().st_mtime_ns
    file.write_text("longer than it was")
    os.utime(file, ns=(0, time_of_change))


@pytest.mark.parametrize(
    "change",
    [
        lengthen,
        lambda file: os.utime(file, ns=(0, file.stat().st_mtime_ns + 1)),
        lambda file: file.rename(file.with_name("c.txt")),
    ],
    ids=["size", "time", "name"],
)
def test_changed_files_are_decoded_again_and_the_old_arrays_go(some, change):
    some.load()
    before = some.places
    change(some.sources[1])
    some.sources = sorted((some.directory / "set").iterdir())
    some.load()
    some.load()
    assert some.made == 2
    assert len(some.places) == 1
    assert some.places != before


def test_one_file_more(some):
    some.load()
    some.sources.append(some.directory / "set" / "c.txt")
    some.sources[-1].touch()
    some.load()
    assert some.made == 2


def test_another_format_is_decoded_again(some, monkeypatch):
    some.load()
    monkeypatch.setattr(module, "FORMAT", module.FORMAT + 1)
    some.load()
    assert some.made == 2


def test_other_sets_are_left_alone(some):
    for name in ("set", "set-5k", "other-set"):
        some.load(name)
    some.sources[0].write_text("changed now")
    some.load()
    assert sorted(place.name[:-17] for place in some.places) == ["other-set", "set", "set-5k"]
    assert some.made == 4


def test_a_directory_that_was_moved(some, tmp_path):
    some.load()
    moved = shutil.copytree(some.directory, tmp_path / "moved")
    some.sources = [moved / file.relative_to(some.directory) for file in some.sources]
    some.directory = moved
    some.load()
    assert some.made == 1


def _index(change):
    def damage(place):
        file = place / "index.json"
        index = json.loads(file.read_text())
        change(index)
        file.write_text(json.dumps(index))

    return damage


def _saved(array):
    return lambda place: np.save(place / "x.npy", array)


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / "x.npy").unlink(),
        lambda place: (place / "x.npy").write_bytes((place / "x.npy").read_bytes()[:-1]),
        lambda place: (place / "x.npy").write_bytes((place / "x.npy").read_bytes() + b"x"),
        lambda place: (place / "x.npy").write_bytes(b""),
        lambda place: (place / "x.npy").write_bytes(b"x" * (place / "x.npy").stat().st_size),
        _saved(X.reshape(3, 2, 4)),  # of the same size
        _saved(X.astype(np.int8)),
        _saved(np.array([None, {}])),
        lambda place: (place / "index.json").unlink(),
        lambda place: (place / "index.json").write_text(""),
        lambda place: (place / "index.json").write_text("[]"),
        lambda place: (place / "index.json").write_text("{}"),
        _index(lambda index: index.update(fingerprint="0" * 64)),
        _index(lambda index: index.update(arrays=[])),
        _index(lambda index: index["arrays"].update(z={"size": 1})),
        _index(lambda index: index["arrays"]["x"].update(size=None)),
    ],
)
def test_damage_is_found_and_mended(some, damage):
    some.load()
    damage(some.places[0])
    some.load()
    assert some.made == 2
    some.load()
    assert some.made == 2


def test_what_a_kill_left_is_neither_used_nor_kept(some):
    some.load()
    (place,) = some.places
    for name in (f".{place.name}.part", ".set-0123456789abcdef.part"):
        shutil.copytree(place, place.with_name(name))
    shutil.rmtree(place)
    some.load()
    assert some.made == 2
    assert {each.name for each in place.parent.iterdir()} - {".set.lock"} == {place.name}


def test_an_error_leaves_nothing(some):
    def broken():
        raise UserError("a.txt is not what it was")

    with pytest.raises(UserError, match=r"a\.txt is not"):
        decoded(some.directory, "set", some.sources, broken)
    assert some.places == []
    some.load()  # the lock is free


def test_an_interrupted_write_leaves_nothing(some, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.json, "dump", interrupted)
    with pytest.raises(KeyboardInterrupt):
        some.load()
    assert [each.name for each in (some.directory / "decoded").iterdir()] == [".set.lock"]


def test_files_that_change_while_they_are_read(some):
    def slow():
        some.sources[0].write_text("half of a copy")
        return some.make()

    with pytest.raises(UserError, match="data set set: its files were changed while they were read"):
        decoded(some.directory, "set", some.sources, slow)
    assert some.places == []


def test_a_file_that_vanished(some):
    some.sources[0].unlink()
    with pytest.raises(UserError, match=f"data set set: {some.sources[0]} cannot be read: No such file"):
        some.load()


def test_the_users_cache_where_the_directory_cannot_be_written(some, tmp_path):
    (some.directory / "decoded").write_text("in the way")  # a mode would not stop root
    some.load()
    some.load()
    assert some.made == 1
    (place,) = (tmp_path / "cache" / "hiermo" / "decoded").glob("*/set-*")

    other = Set(tmp_path / "other")
    (other.directory / "decoded").write_text("in the way")
    other.load()
    assert place.is_dir()  # not removed as an older version


def test_what_lies_in_a_directory_that_cannot_be_written_is_used(some):
    some.load()
    (some.directory / "decoded" / ".set.lock").unlink()
    (some.directory / "decoded" / ".set.lock").mkdir()
    some.load()
    assert some.made == 1


def test_no_place_at_all(some, tmp_path):
    (some.directory / "decoded").write_text("in the way")
    (tmp_path / "cache").write_text("in the way")
    some.load()
    some.load()
    assert some.made == 2


def test_a_disk_that_refuses(some):
    some.load()
    (place,) = some.places
    shutil.rmtree(place)
    place.write_text("in the way")
    some.load()
    assert some.made == 2
    assert not place.with_name(f".{place.name}.part").exists()


CHILD = """
import sys, time
from pathlib import Path
import numpy as np
from hiermo.data.reading.decoded import decoded
directory = Path(sys.argv[1])
def make():
    with (directory / "log").open("a") as log:
        log.write("made\\n")
    time.sleep(0.5)
    return {"x": np.arange(1000)}
found = decoded(directory, "set", [directory / "set" / "a.txt"], make)
print(found["x"].sum())
"""


def test_two_processes_decode_once(some):
    command = [sys.executable, "-c", CHILD, some.directory]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [child.communicate()[0] for child in children] == ["499500\n"] * 2
    assert (some.directory / "log").read_text() == "made\n"


def test_progress_also_while_another_process_decodes(some):
    told = []

    def load():
        progress.set(lambda *what: told.append(what))
        some.load()

    (some.directory / "decoded").mkdir()
    with FileLock(some.directory / "decoded" / ".set.lock"):
        waiting = Thread(target=load)
        waiting.start()
        deadline = time.monotonic() + 30
        while not told and time.monotonic() < deadline:
            time.sleep(0.05)
    waiting.join()
    home = Path(some.directory) / "decoded"
    assert told[0] == (0, 1, "waiting for another process that decodes set")
    assert told[-2:] == [(0, 2, f"storing decoded arrays in {home}"), (1, 2, f"storing decoded arrays in {home}")]
