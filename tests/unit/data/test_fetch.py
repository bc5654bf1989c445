"""Fetching from a real server that cuts, stalls, lies and refuses."""

from dataclasses import dataclass, replace
import gzip
import hashlib
from pathlib import Path
import random
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from hiermo.core.errors import UserError
from hiermo.data.download import Download
from hiermo.data.obtain.fetch import Patience, fetch
from hiermo.data.obtain.fetchable import Fetchable, fetchable
from hiermo.data.obtain.listener import Listener
from hiermo.data.obtain.part import Part
from hiermo.data.obtain.transfer import Pace
from loopback import How, serving

BYTES = random.Random(0).randbytes(1_000_000)
OTHER = random.Random(1).randbytes(1_000_000)
HALF = len(BYTES) // 2
QUICK = Patience(timeout_s=20, attempts=3, pause_s=0.01)
HASTY = replace(QUICK, timeout_s=0.5)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Finds its set where the file is, and can read it if it is the right one."""

    file: str = "small/digits.bin"

    def find(self, directory):
        return directory / "small" if (directory / self.file).is_file() else None

    def load(self, directory):
        if (directory / self.file).read_bytes() != BYTES:
            raise UserError("data set small: it cannot be read")


class Heard(Listener):
    """Remembers everything."""

    def __init__(self):
        self.notes, self.steps = [], []

    def progress(self, doing, file, done, total):
        self.steps.append((doing, file, done, total))

    def note(self, sentence):
        self.notes.append(sentence)


@pytest.fixture
def site(monkeypatch):
    monkeypatch.delenv("HIERMO_MIRROR", raising=False)
    with serving() as started:
        yield started


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def small(*urls, content=BYTES, checksum=None, contents=None):
    file = Download(name="digits.bin", urls=urls, checksum=sha256(content) if checksum is None else checksum)
    return Fetchable(name="small", folder="small", downloads=(file,), contents=contents or {}, source=Reader())


def left(directory):
    """Every file below, without the lock."""
    files = (file.relative_to(directory) for file in directory.rglob("*") if file.is_file())
    return sorted(str(file) for file in files if file.suffix != ".lock")


def test_a_file_comes_once(site, tmp_path):
    wanted, heard = small(site.put("a/digits.bin", BYTES)), Heard()
    assert fetch(wanted, tmp_path / "data", heard, QUICK)
    assert (tmp_path / "data/small/digits.bin").read_bytes() == BYTES
    assert left(tmp_path) == ["data/small/digits.bin"]
    assert heard.steps[0] == ("fetching", "digits.bin", 0, len(BYTES))
    assert heard.steps[-1] == ("fetching", "digits.bin", len(BYTES), len(BYTES))
    assert [step[2] for step in heard.steps] == sorted(step[2] for step in heard.steps)
    assert not heard.notes
    assert not fetch(wanted, tmp_path / "data", heard, QUICK)
    assert len(site.asked) == 1


def test_a_wrong_file_in_place_is_replaced(site, tmp_path):
    (tmp_path / "small").mkdir()
    (tmp_path / "small/digits.bin").write_bytes(BYTES[:-1])
    (tmp_path / "small/mine.txt").write_text("mine")
    assert fetch(small(site.put("digits.bin", BYTES)), tmp_path, patience=QUICK)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    assert left(tmp_path) == ["small/digits.bin", "small/mine.txt"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (How(cut=HALF), "the connection broke off after 500000 of 1000000 bytes"),
        (How(stall=HALF), "nothing came for 0.5 s"),
    ],
)
def test_a_broken_download_goes_on(site, tmp_path, how, why):
    heard = Heard()
    assert fetch(small(site.put("digits.bin", BYTES, how)), tmp_path, heard, HASTY)
    first, second = site.asked
    assert (first.range, first.sent) == (None, HALF)
    assert (second.range, second.sent) == (f"bytes={HALF}-", len(BYTES) - HALF)
    assert second.if_range
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    assert heard.notes == [f"{site.url('digits.bin')}: {why}; trying again"]


def test_a_stall_before_the_first_byte(site, tmp_path):
    address = site.put("digits.bin", BYTES, How(stall=0))
    began = time.monotonic()
    assert fetch(small(address), tmp_path, patience=HASTY)
    assert 0.5 < time.monotonic() - began < 10


CRAWLING = How(pace=(10_000, 0.1))  # 10 s for all of it
IMPATIENT = replace(QUICK, pace=Pace(after_s=0.15, slowest=5_000_000))


def test_a_slow_server_is_left_for_a_mirror_which_brings_the_rest(site, tmp_path):
    slow, mirror = site.put("slow/digits.bin", BYTES, CRAWLING), site.put("mirror/digits.bin", BYTES)
    heard = Heard()
    assert fetch(small(slow, mirror), tmp_path, heard, IMPATIENT)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    (rest,) = site.of("mirror/digits.bin")
    begin = int(rest.range.removeprefix("bytes=").removesuffix("-"))
    assert 0 < begin < HALF and rest.sent == len(BYTES) - begin
    assert len(heard.notes) == 1 and "is slow, " in heard.notes[0] and " kB a second" in heard.notes[0]


def test_a_slow_server_is_gone_back_to_where_no_other_has_the_file(site, tmp_path):
    slow, gone = site.put("slow/digits.bin", BYTES, CRAWLING), site.url("gone/digits.bin")
    assert fetch(small(slow, gone), tmp_path, patience=IMPATIENT)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    first, last = site.of("slow/digits.bin")
    assert first.range is None and last.range is not None


def test_the_only_server_may_be_slow(site, tmp_path):
    assert fetch(small(site.put("digits.bin", BYTES, How(pace=(200_000, 0.1)))), tmp_path, patience=IMPATIENT)
    assert len(site.asked) == 1


def test_a_server_that_ignores_ranges_starts_again(site, tmp_path):
    assert fetch(small(site.put("digits.bin", BYTES, How(cut=HALF), How(ranges=False))), tmp_path, patience=QUICK)
    assert [(each.range, each.sent) for each in site.asked] == [(None, HALF), (f"bytes={HALF}-", len(BYTES))]
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES


@pytest.mark.parametrize("tag", [True, False])
def test_a_file_that_changed_is_not_glued(site, tmp_path, tag):
    """The second answer is of another version: with a tag the server says so, without one the checksum does."""
    always = How(tag=tag)
    address = site.put("digits.bin", OTHER, How(content=BYTES, cut=HALF, tag=tag), always=always)
    assert fetch(small(address, content=OTHER), tmp_path, patience=QUICK)
    assert (tmp_path / "small/digits.bin").read_bytes() == OTHER
    assert [each.sent for each in site.asked] == ([HALF, len(OTHER)] if tag else [HALF, HALF, len(OTHER)])


@pytest.mark.parametrize(
    "told", ["bytes 0-499999/1000000", "bytes 500000-999999/1000001", "bytes 500001-999999/1000000", "pages 1-2/3"]
)
def test_a_range_that_does_not_fit_starts_again(site, tmp_path, told):
    address = site.put("digits.bin", BYTES, How(cut=HALF), How(content_range=told))
    heard = Heard()
    assert fetch(small(address), tmp_path, heard, QUICK)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    assert [each.range for each in site.asked] == [None, f"bytes={HALF}-", None]
    assert "the file has changed since its first part was fetched" in heard.notes[-1]


def test_a_file_that_became_shorter_starts_again(site, tmp_path):
    address = site.put("digits.bin", BYTES[:100], How(content=BYTES, cut=HALF, tag=False), always=How(tag=False))
    assert fetch(small(address, content=BYTES[:100]), tmp_path, patience=QUICK)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES[:100]


def test_a_wrong_file_sends_to_the_next_mirror(site, tmp_path):
    wrong, right = site.put("a/digits.bin", OTHER), site.put("b/digits.bin", BYTES)
    heard = Heard()
    assert fetch(small(wrong, right), tmp_path, heard, QUICK)
    assert [each.path for each in site.asked] == ["a/digits.bin", "b/digits.bin"]
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    (note,) = heard.notes
    assert note.startswith(f"{wrong}: its digits.bin has sha256 ")


def test_all_wrong_places_nothing(site, tmp_path):
    one, other = site.put("a/digits.bin", OTHER), site.put("b/digits.bin", BYTES[:-1])
    with pytest.raises(UserError) as refused:
        fetch(small(one, other), tmp_path, patience=QUICK)
    sentence = str(refused.value)
    assert sentence.startswith("data set small: digits.bin could not be fetched (")
    assert f"{one}: its digits.bin has sha256" in sentence
    assert f"{other}: its digits.bin has sha256" in sentence
    assert "(999999 bytes: damaged, cut short, or other)" in sentence
    assert sentence.endswith("hand it over with: hiermo data import small PATH")
    assert "\n" not in sentence
    assert left(tmp_path) == []
    assert [each.sent for each in site.asked] == [len(OTHER), len(BYTES) - 1]
    assert sorted(each.name for each in tmp_path.iterdir()) == [".small.lock"]


@pytest.mark.parametrize(("status", "attempts"), [(404, 1), (403, 1), (500, 3), (503, 3), (429, 3)])
def test_only_what_may_change_is_asked_again(site, tmp_path, status, attempts):
    refusing = site.put("a/digits.bin", BYTES, always=How(status=status))
    heard = Heard()
    assert fetch(small(refusing, site.put("b/digits.bin", BYTES)), tmp_path, heard, QUICK)
    assert [each.path for each in site.asked] == ["a/digits.bin"] * attempts + ["b/digits.bin"]
    assert f"{refusing}: {status} " in heard.notes[-1]
    assert left(tmp_path) == ["small/digits.bin"]


def test_nobody_answers(tmp_path):
    with serving() as gone:
        address = gone.url("digits.bin")
    with pytest.raises(UserError, match=rf"{address}: Connection refused \(3 attempts\)"):
        fetch(small(address), tmp_path, patience=QUICK)


def test_pauses_double_up_to_a_bound(site, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    refusing = site.put("digits.bin", BYTES, always=How(status=500))
    with pytest.raises(UserError, match=r"500 Internal Server Error \(5 attempts\)"):
        fetch(small(refusing), tmp_path, patience=Patience(attempts=5, pause_s=1, longest_pause_s=3))
    assert pauses == [1, 2, 3, 3]


def test_a_length_that_was_not_told(site, tmp_path):
    """Cut short, it looks like the end; the checksum knows better."""
    address = site.put("digits.bin", BYTES, How(length=False, cut=HALF), How(length=False))
    heard = Heard()
    assert fetch(small(address), tmp_path, heard, QUICK)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    assert "500000 bytes: damaged, cut short, or other" in heard.notes[0]
    assert heard.steps[0] == ("fetching", "digits.bin", 0, None)


def test_always_cut_short_without_a_length(site, tmp_path):
    address = site.put("digits.bin", BYTES, always=How(length=False, cut=HALF))
    with pytest.raises(UserError, match=r"its digits.bin has sha256 .* \(500000 bytes: .*\) \(3 attempts\)"):
        fetch(small(address), tmp_path, patience=QUICK)
    assert left(tmp_path) == []


@pytest.mark.parametrize("then", [(), (How(chunked=True, cut=HALF),)])
def test_chunks(site, tmp_path, then):
    address = site.put("digits.bin", BYTES, *then, always=How(chunked=True))
    assert fetch(small(address), tmp_path, patience=QUICK)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES


def test_a_bad_line_gets_there_in_the_end(site, tmp_path):
    """Ten cuts and three attempts: an attempt that brings something does not count."""
    tenth = len(BYTES) // 10
    address = site.put("digits.bin", BYTES, *(How(cut=tenth) for _ in range(9)))
    assert fetch(small(address), tmp_path, patience=QUICK)
    assert [each.sent for each in site.asked] == [tenth] * 10


def test_the_same_half_time_and_again_does_not(site, tmp_path):
    address = site.put("digits.bin", BYTES, always=How(cut=HALF, ranges=False))
    with pytest.raises(UserError, match=r"broke off after 500000 of 1000000 bytes \(3 attempts\)"):
        fetch(small(address), tmp_path, patience=QUICK)
    assert len(site.asked) == 3
    assert left(tmp_path) == ["small.part/downloads/digits.bin.part", "small.part/downloads/digits.bin.part.json"]


def test_nor_does_a_byte_at_a_time(site, tmp_path):
    address = site.put("digits.bin", BYTES, always=How(cut=1))
    with pytest.raises(UserError, match=r"broke off after 3 of 1000000 bytes \(3 attempts\)"):
        fetch(small(address), tmp_path, patience=QUICK)


def test_a_mirror_goes_on_with_what_another_began(site, tmp_path):
    first = site.put("a/digits.bin", BYTES, How(cut=HALF), always=How(status=404))
    assert fetch(small(first, site.put("b/digits.bin", BYTES)), tmp_path, patience=QUICK)
    assert site.of("b/digits.bin")[0].sent == len(BYTES) - HALF
    assert site.of("b/digits.bin")[0].if_range is None
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES


def test_without_a_checksum_it_begins_anew(site, tmp_path):
    first = site.put("a/digits.bin", OTHER, How(cut=HALF), always=How(status=404))
    assert fetch(small(first, site.put("b/digits.bin", BYTES), checksum=""), tmp_path, patience=QUICK)
    assert site.of("b/digits.bin")[0].sent == len(BYTES)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES


def test_the_contents_judge_where_the_file_has_no_checksum(site, tmp_path):
    wrong, right = site.put("a/digits.bin", OTHER), site.put("b/digits.bin", BYTES)
    wanted = small(wrong, right, checksum="", contents={"digits.bin": sha256(BYTES)})
    assert fetch(wanted, tmp_path, patience=QUICK)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES


@pytest.mark.parametrize("facts", [None, "", "{", "[]", '{"url": "x"}', '{"url": "x", "version": "", "size": "many"}'])
def test_a_part_of_unknown_origin_is_not_used(site, tmp_path, facts):
    part = Part(tmp_path / "small.part/downloads/digits.bin")
    part.path.parent.mkdir(parents=True)
    part.path.write_bytes(BYTES[:HALF])
    if facts is not None:
        part.path.with_name("digits.bin.part.json").write_text(facts)
    assert fetch(small(site.put("digits.bin", BYTES)), tmp_path, patience=QUICK)
    assert [each.range for each in site.asked] == [None]
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES


def test_a_damaged_part_is_found_out(site, tmp_path):
    address = site.put("digits.bin", BYTES, How(cut=HALF), always=How(status=500))
    with pytest.raises(UserError):
        fetch(small(address), tmp_path, patience=QUICK)
    part = tmp_path / "small.part/downloads/digits.bin.part"
    part.write_bytes(OTHER[:HALF])
    site.put("digits.bin", BYTES)
    assert fetch(small(address), tmp_path, patience=QUICK)
    assert [each.sent for each in site.asked[-2:]] == [HALF, len(BYTES)]
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES


def test_redirections_lead_to_http_only(site, tmp_path):
    (tmp_path / "digits.bin").write_bytes(BYTES)
    there = site.put("there/digits.bin", BYTES)
    urls = [
        site.put(f"{k}/digits.bin", b"", always=How(status=302, location=location))
        for k, location in enumerate((f"file://{tmp_path}/digits.bin", "ftp://127.0.0.1/digits.bin", there))
    ]
    heard = Heard()
    assert fetch(small(*urls), tmp_path / "data", heard, QUICK)
    assert len(heard.notes) == 2
    assert "not allowed" in heard.notes[0] and "ftp" in heard.notes[1]
    assert len(site.of("there/digits.bin")) == 1


def test_other_addresses_are_not_opened(tmp_path):
    (tmp_path / "digits.bin").write_bytes(BYTES)
    with pytest.raises(UserError, match="could not be fetched"):
        fetch(small(f"file://{tmp_path}/digits.bin", f"{tmp_path}/digits.bin"), tmp_path / "data", patience=QUICK)


def test_a_mirror_of_ones_own_is_tried_first(site, tmp_path, monkeypatch):
    monkeypatch.setenv("HIERMO_MIRROR", f"{site.address}/data/")
    site.put("data/small/two words.bin", BYTES)
    official = site.put("official/digits.bin", BYTES)
    file = Download(name="two words.bin", urls=(official,), checksum=sha256(BYTES))
    wanted = replace(small(), downloads=(file,), source=Reader(file="small/two words.bin"))
    assert fetch(wanted, tmp_path, patience=QUICK)
    assert [each.path for each in site.asked] == ["data/small/two words.bin"]
    assert fetch(small(official), tmp_path, patience=QUICK)
    assert [each.path for each in site.asked[1:]] == ["data/small/digits.bin", "official/digits.bin"]


@pytest.mark.parametrize("mirror", ["ftp://host/data", "/data", "https://me:secret@host/data"])
def test_a_mirror_that_will_not_do(tmp_path, monkeypatch, mirror):
    monkeypatch.setenv("HIERMO_MIRROR", mirror)
    with pytest.raises(UserError, match="HIERMO_MIRROR must begin with https:// or http:// and hold no password") as no:
        fetch(small(), tmp_path, patience=QUICK)
    assert "secret" not in str(no.value)


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_fetch import small
from hiermo.data.obtain.fetch import fetch
fetch(small(sys.argv[1]), Path(sys.argv[2]))
"""


def child(address, directory):
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    return subprocess.Popen([sys.executable, "-c", CHILD, address, directory, *paths], stderr=subprocess.PIPE)


def test_a_killed_process_loses_nothing(site, tmp_path):
    address = site.put("digits.bin", BYTES, How(stall=300_000))
    process = child(address, tmp_path)
    part = tmp_path / "small.part/downloads/digits.bin.part"
    deadline = time.monotonic() + 30
    while not (part.is_file() and part.stat().st_size > 200_000):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    held = part.stat().st_size
    assert 200_000 < held < len(BYTES)
    assert left(tmp_path) == ["small.part/downloads/digits.bin.part", "small.part/downloads/digits.bin.part.json"]
    assert fetch(small(address), tmp_path, patience=QUICK)
    assert (site.asked[-1].range, site.asked[-1].sent) == (f"bytes={held}-", len(BYTES) - held)
    assert (tmp_path / "small/digits.bin").read_bytes() == BYTES
    assert left(tmp_path) == ["small/digits.bin"]


def test_killed_between_the_last_byte_and_the_name(site, tmp_path):
    """A whole part needs no request."""
    address = site.put("digits.bin", BYTES, How(cut=HALF), always=How(status=500))
    with pytest.raises(UserError):
        fetch(small(address), tmp_path, patience=QUICK)
    (tmp_path / "small.part/downloads/digits.bin.part").write_bytes(BYTES)
    asked = len(site.asked)
    assert fetch(small(address), tmp_path, patience=QUICK)
    assert len(site.asked) == asked
    assert left(tmp_path) == ["small/digits.bin"]


def test_what_came_whole_is_not_fetched_again(site, tmp_path):
    """Of two files one is there: the set is not placed, and the next attempt asks for the other alone."""
    more = Download(name="more.bin", urls=(site.put("more.bin", b"", How(status=404)),), checksum=sha256(OTHER))
    wanted = small(site.put("digits.bin", BYTES))
    wanted = replace(wanted, downloads=(*wanted.downloads, more))
    with pytest.raises(UserError, match=r"more\.bin could not be fetched"):
        fetch(wanted, tmp_path, patience=QUICK)
    assert left(tmp_path) == ["small.part/downloads/digits.bin"]
    site.put("more.bin", OTHER)
    assert fetch(wanted, tmp_path, patience=QUICK)
    assert [each.path for each in site.asked] == ["digits.bin", "more.bin", "more.bin"]
    assert left(tmp_path) == ["small/digits.bin", "small/more.bin"]


def test_two_at_once_fetch_it_once(site, tmp_path):
    address = site.put("digits.bin", BYTES, always=How(pace=(100_000, 0.1)))
    heard, new = [Heard(), Heard()], []
    both = [threading.Thread(target=lambda h=h: new.append(fetch(small(address), tmp_path, h))) for h in heard]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert sorted(new) == [False, True]
    assert len(site.asked) == 1
    assert [note for h in heard for note in h.notes] == [
        "another process is fetching or importing small; waiting for it"
    ]


def test_a_full_disk_is_told_and_the_part_is_kept(site, tmp_path):
    address = site.put("digits.bin", BYTES)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        with pytest.raises(UserError, match=r"data set small: .*: File too large; mend that, or let HIERMO_DATA"):
            fetch(small(address), tmp_path, patience=QUICK)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    held = (tmp_path / "small.part/downloads/digits.bin.part").stat().st_size
    assert 0 < held <= 300_000
    assert fetch(small(address), tmp_path, patience=QUICK)
    assert site.asked[-1].range == f"bytes={held}-"


def test_a_directory_that_cannot_be(site, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=rf"data set small: {tmp_path}/file/.*Not a directory; .*HIERMO_DATA"):
        fetch(small(site.put("digits.bin", BYTES)), tmp_path / "file/data", patience=QUICK)


def test_beside_what_a_link_points_to(site, tmp_path):
    """The data directory may be on one disk and the set on another: renames do not cross."""
    (tmp_path / "big/small").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/small").symlink_to(tmp_path / "big/small")
    address = site.put("digits.bin", BYTES, always=How(cut=HALF, ranges=False))
    with pytest.raises(UserError):
        fetch(small(address), tmp_path / "data", patience=QUICK)
    assert (tmp_path / "big/small.part").is_dir()
    site.put("digits.bin", BYTES)
    assert fetch(small(address), tmp_path / "data", patience=QUICK)
    assert left(tmp_path / "big") == ["small/digits.bin"]
    assert (tmp_path / "data/small").is_symlink()


def test_what_can_be_fetched():
    mnist = fetchable("mnist")
    assert [each.name for each in mnist.downloads] == list(mnist.contents)
    assert all(len(each.urls) == 3 and each.urls[0].endswith(f"/{each.name}") for each in mnist.downloads)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mnist-5k", 'nothing to fetch or import: it is ready as it is: write data.source = "mnist-5k" in a recipe'),
        ("synthetic", "it is ready as it is"),
        ("csv", "what it reads is named in the recipe itself, with data.path"),
        ("json:loads", "nothing to fetch"),
        ("minst", "there is no dataset 'minst'; did you mean 'mnist'"),
    ],
)
def test_what_cannot(name, words):
    with pytest.raises(UserError, match=words):
        fetchable(name)


def test_an_unpacked_file_that_the_reader_takes_is_there(site, tmp_path):
    """Of digits.bin instead of digits.bin.gz only the reader can tell whether it is right."""
    packed = gzip.compress(BYTES, mtime=0)
    file = Download(name="digits.bin.gz", urls=(site.put("digits.bin.gz", packed),), checksum=sha256(packed))
    wanted = replace(small(), downloads=(file,))
    (tmp_path / "small").mkdir()
    (tmp_path / "small/digits.bin").write_bytes(BYTES)
    assert not fetch(wanted, tmp_path, patience=QUICK)
    (tmp_path / "small/digits.bin").write_bytes(BYTES[:-1])
    assert fetch(wanted, tmp_path, patience=QUICK)
    assert left(tmp_path) == ["small/digits.bin.gz"]  # the damaged one would be read before it
