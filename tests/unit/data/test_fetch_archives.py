"""Archives: unpacked whole or not at all, and nothing outside."""

from dataclasses import dataclass, replace
import hashlib
import io
import os
import tarfile
import zipfile

import pytest

from hiermo.core.errors import UserError
from hiermo.data.download import Download
from hiermo.data.obtain import unpack as unpacking
from hiermo.data.obtain.fetch import Patience, fetch
from hiermo.data.obtain.fetchable import Fetchable
from hiermo.data.obtain.listener import Listener
from hiermo.data.obtain.unpack import unpack
from loopback import How, serving

QUICK = Patience(timeout_s=20, attempts=2, pause_s=0.01)
FILES = {"tree/one.txt": b"one" * 1000, "tree/deep/two.txt": b"two" * 1000}
DIGESTS = {path: f"md5:{hashlib.md5(content).hexdigest()}" for path, content in FILES.items()}


def tar(files, mode="w:gz"):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for each, content in files.items():
            member = each if isinstance(each, tarfile.TarInfo) else tarfile.TarInfo(each)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def packed(files, method=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for each, content in files.items():
            archive.writestr(each, content)
    return made.getvalue()


def found(folder):
    files = (file for file in folder.rglob("*") if not file.is_dir())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files if file.suffix != ".lock"}


@pytest.mark.parametrize(
    "content",
    [
        tar(FILES),
        tar(FILES, "w"),
        packed(FILES),
        packed({"inner.zip": packed(FILES)}),
        packed({"inner.tgz": tar(FILES)}),
        tar({"inner.tar.gz": tar(FILES)}),
        packed({"__MACOSX/._tree": b"clutter", **FILES}),
    ],
    ids=["tar.gz", "tar", "zip", "zip in zip", "tgz in zip", "tar.gz in tar.gz", "zip from a Mac"],
)
def test_whole(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    unpack(tmp_path / "a", tmp_path / "to")
    assert found(tmp_path / "to") == FILES


def test_an_inner_archive_is_unpacked_where_it_lies(tmp_path):
    (tmp_path / "a.zip").write_bytes(packed({"x/inner.zip": packed(FILES), "x/names.txt": b"n"}))
    unpack(tmp_path / "a.zip", tmp_path / "to")
    assert found(tmp_path / "to/x") == {**FILES, "names.txt": b"n"}


@pytest.mark.parametrize("content", [tar(FILES), packed(FILES)], ids=["tar.gz", "zip"])
def test_progress_ends_at_the_total(tmp_path, content):
    class Heard(Listener):
        steps: list = []  # noqa: RUF012

        def progress(self, *step):
            self.steps.append(step)

    Heard.steps = []
    (tmp_path / "a").write_bytes(content)
    unpack(tmp_path / "a", tmp_path / "to", Heard())
    assert {step[:2] for step in Heard.steps} == {("unpacking", "a")}
    assert Heard.steps[-1][2] == Heard.steps[-1][3]


def member(name, kind=tarfile.REGTYPE, linkname=""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, linkname
    return made


def linked(name):
    made = zipfile.ZipInfo(name)
    made.external_attr = 0o120777 << 16
    return made


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (tar({"../evil": b"x"}), r"'\.\./evil' would lie outside"),
        (tar({"a/../../evil": b"x"}), "would lie outside"),
        (tar({"/evil": b"x"}), "'/evil' would lie outside"),
        (tar({"C:/evil": b"x"}), "would lie outside"),
        (tar({"..\\evil": b"x"}), "would lie outside"),
        (tar({member("link", tarfile.SYMTYPE, "/etc/passwd"): b""}), "'link' is neither a file nor a folder"),
        (tar({member("link", tarfile.SYMTYPE, "tree"): b""}), "'link' is neither"),
        (tar({"a": b"x", member("hard", tarfile.LNKTYPE, "a"): b""}), "'hard' is neither"),
        (tar({member("pipe", tarfile.FIFOTYPE): b""}), "'pipe' is neither"),
        (tar({member("device", tarfile.CHRTYPE): b""}), "'device' is neither"),
        (packed({"../evil": b"x"}), "would lie outside"),
        (packed({"/evil": b"x"}), "would lie outside"),
        (packed({"a/..\\evil": b"x"}), "would lie outside"),
        (packed({linked("link"): b"/etc/passwd"}), "'link' is neither"),
        (packed({"inner.zip": packed({"../evil": b"x"})}), "would lie outside"),
        (packed({"1.zip": packed({"2.zip": packed({"3.zip": packed(FILES)})})}), "archives in archives without end"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value,  # bytes with a time in them differ in each process
)
def test_what_no_data_set_holds_is_refused(tmp_path, content, words):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UserError, match=f"is refused: .*{words}"):
        unpack(tmp_path / "a", tmp_path / "deep/to")
    assert not list(tmp_path.rglob("evil"))
    assert not [file for file in tmp_path.rglob("*") if file.is_symlink()]


ZEROS = bytes(10_000_000)


@pytest.mark.parametrize(
    "content",
    [packed({"a": ZEROS}), tar({"a": ZEROS}), packed({"a.zip": packed({"b": ZEROS})})],
    ids=["zip", "tar.gz", "zip in zip"],
)
def test_a_bomb_is_refused_before_it_goes_off(tmp_path, content):
    assert len(content) < 20_000
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UserError, match="a is refused: it would unpack to more than 1000000 bytes"):
        unpack(tmp_path / "a", tmp_path / "to", most_bytes=1_000_000)
    assert sum(map(len, found(tmp_path / "to").values())) < 20_000


def test_very_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_FILES", 10)
    (tmp_path / "a").write_bytes(packed({str(k): b"" for k in range(11)}))
    with pytest.raises(UserError, match=r"more than .* or 10 files"):
        unpack(tmp_path / "a", tmp_path / "to")


def damaged(content, at):
    return content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]


NOISE = {"tree/noise": os.urandom(100_000)}  # does not compress: what is damaged is damaged


@pytest.mark.parametrize("make", [tar, packed])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content[:20],
        lambda content: b"",
        lambda content: b"<html>Please log in</html>" * 100,
        lambda content: damaged(content, len(content) // 2),
    ],
)
def test_a_damaged_archive_is_named(tmp_path, make, spoil):
    (tmp_path / "set.zip").write_bytes(spoil(make(NOISE)))
    with pytest.raises(UserError, match=r"set\.zip is cut short, damaged, or neither \.zip nor \.tar\.gz: \S"):
        unpack(tmp_path / "set.zip", tmp_path / "to")


@dataclass(frozen=True, kw_only=True)
class Reader:
    def find(self, directory):
        return directory / "small" if (directory / "small/tree/one.txt").is_file() else None

    def load(self, directory):
        raise AssertionError("checksums are enough")


@pytest.fixture
def site(monkeypatch):
    monkeypatch.delenv("HIERMO_MIRROR", raising=False)
    with serving() as started:
        yield started


def small(*urls, content=None, contents=DIGESTS):
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}" if content else ""
    file = Download(name="set.tar.gz", urls=urls, checksum=checksum, archive=True)
    return Fetchable(name="small", folder="small", downloads=(file,), contents=contents, source=Reader())


@pytest.mark.parametrize("contents", [DIGESTS, {}])
def test_an_archive_is_fetched_and_not_kept(site, tmp_path, contents):
    content = tar(FILES)
    wanted = small(site.put("set.tar.gz", content, How(cut=100)), content=content, contents=contents)
    assert fetch(wanted, tmp_path, patience=QUICK)
    assert found(tmp_path) == {f"small/{path}": each for path, each in FILES.items()}
    assert not fetch(wanted, tmp_path, patience=QUICK)
    assert len(site.asked) == 2


def test_an_incomplete_tree_is_replaced_and_the_rest_stays(site, tmp_path):
    content = tar(FILES)
    (tmp_path / "small/tree").mkdir(parents=True)
    (tmp_path / "small/tree/one.txt").write_bytes(FILES["tree/one.txt"])
    (tmp_path / "small/mine.txt").write_bytes(b"mine")
    assert fetch(small(site.put("set.tar.gz", content), content=content), tmp_path, patience=QUICK)
    assert found(tmp_path / "small") == {**FILES, "mine.txt": b"mine"}


def test_an_archive_without_a_checksum_is_judged_by_what_is_in_it(site, tmp_path):
    """A page to log in, a set with a file less, a set with another file, and then the right one."""
    one = {"tree/one.txt": FILES["tree/one.txt"]}
    contents = [b"<html></html>", tar(one), tar({**FILES, "tree/one.txt": b"other"}), tar(FILES)]
    urls = [site.put(f"{k}/set.tar.gz", content) for k, content in enumerate(contents)]
    heard = []
    listener = Listener()
    listener.note = heard.append
    assert fetch(small(*urls), tmp_path, listener, QUICK)
    assert found(tmp_path / "small") == FILES
    assert "cut short, damaged, or neither" in heard[0]
    assert heard[1].endswith("tree/deep/two.txt is missing")
    assert "tree/one.txt has md5" in heard[2]


def test_what_is_in_place_does_not_help_what_replaces_it(site, tmp_path):
    """The old tree goes as a whole: a file that only it has would be lost."""
    (tmp_path / "small/tree/deep").mkdir(parents=True)
    (tmp_path / "small/tree/deep/two.txt").write_bytes(FILES["tree/deep/two.txt"])
    address = site.put("set.tar.gz", tar({"tree/one.txt": FILES["tree/one.txt"]}))
    with pytest.raises(UserError, match=r"two\.txt is missing"):
        fetch(small(address), tmp_path, patience=QUICK)
    assert found(tmp_path) == {"small/tree/deep/two.txt": FILES["tree/deep/two.txt"]}


def test_contents_that_its_checksum_does_not_promise(site, tmp_path):
    content = tar({"tree/one.txt": b"other"})
    wanted = small(site.put("set.tar.gz", content), content=content)
    with pytest.raises(UserError, match=r"what was fetched is not what it should be: tree/one\.txt has md5 .*two\.txt"):
        fetch(wanted, tmp_path, patience=QUICK)
    assert found(tmp_path) == {}


def test_a_refused_archive_is_named_and_nothing_is_placed(site, tmp_path):
    content = tar({"../evil": b"x"})
    with pytest.raises(UserError, match=r"set\.tar\.gz is refused"):
        fetch(small(site.put("set.tar.gz", content), content=content), tmp_path, patience=QUICK)
    assert not (tmp_path / "small").exists()


def test_files_and_archives_together(site, tmp_path):
    content = tar(FILES)
    extra = Download(name="extra.txt", urls=(site.put("extra.txt", b"extra"),), checksum="")
    wanted = small(site.put("set.tar.gz", content), content=content)
    wanted = replace(wanted, downloads=(*wanted.downloads, extra))
    assert fetch(wanted, tmp_path, patience=QUICK)
    assert found(tmp_path / "small") == {**FILES, "extra.txt": b"extra"}
    (tmp_path / "small/extra.txt").unlink()
    assert fetch(wanted, tmp_path, patience=QUICK)
    assert found(tmp_path / "small") == {**FILES, "extra.txt": b"extra"}
    assert [each.path for each in site.asked] == ["set.tar.gz", "extra.txt", "extra.txt"]
