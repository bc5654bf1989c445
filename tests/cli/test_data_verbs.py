"""`hiermo data fetch` and `hiermo data import`, in processes of their own, against a real server."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest

from hiermo.data.sources.mnist import FILES, Mnist
from loopback import How, serving

ONES, TWOS = b"1 1 1\n" * 50_000, b"2 2\n"
MODULE = '''
from dataclasses import dataclass
import hashlib
from typing import ClassVar
from hiermo.data.download import Download

ONES, TWOS = b"1 1 1\\n" * 50_000, b"2 2\\n"
SUMS = {{name: "md5:" + hashlib.md5(content).hexdigest() for name, content in (("ones", ONES), ("twos", TWOS))}}

@dataclass(frozen=True, kw_only=True)
class Small:
    """Two files."""
    folder: ClassVar = "small"
    downloads: ClassVar = tuple(Download(name=n, urls=("{address}/" + n,), checksum=s) for n, s in SUMS.items())
    contents: ClassVar = SUMS

    def find(self, directory):
        return None

    def load(self, directory):
        raise AssertionError
'''
NAME = "sets:Small"


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("HIERMO_MIRROR", raising=False)
    with serving() as started:
        (tmp_path / "sets.py").write_text(MODULE.format(address=started.address))
        started.put("ones", ONES)
        started.put("twos", TWOS)
        yield started


def start(tmp_path, *words):
    command = [sys.executable, "-m", "hiermo", "data", *map(str, words)]
    return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(tmp_path, *words):
    process = start(tmp_path, *words)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode, out, err


def test_fetch(site, tmp_path):
    code, out, err = run(tmp_path, "fetch", NAME)
    assert code == 0, err
    where = tmp_path / "data/small"
    assert out == (
        f'{NAME} is now in {where}\nin a recipe: data.source = "{NAME}", or: hiermo run RECIPE -s data.source={NAME}\n'
    )
    assert (where / "ones").read_bytes() == ONES
    assert "ones" in err and "300.0/300.0 kB" in err  # not a terminal: each bar once, at the end
    code, out, err = run(tmp_path, "fetch", NAME)
    assert (code, out.splitlines()[0], err.strip()) == (0, f"{NAME} was already in {where}", "")
    assert len(site.asked) == 2


def test_what_cannot_be_fetched(site, tmp_path):
    site.put("twos", b"", always=How(status=404))
    code, out, err = run(tmp_path, "fetch", NAME)
    (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (code, out) == (2, "")
    assert error == (
        f"error: data set {NAME}: twos could not be fetched ({site.address}/twos: 404 Not Found); try again later, "
        f"or get it by other means and hand it over with: hiermo data import {NAME} PATH"
    )
    assert not (tmp_path / "data/small").exists()


def test_ctrl_c_leaves_what_came(site, tmp_path):
    site.put("ones", ONES, How(stall=10_000))  # so that it is still under way when the signal comes
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background would ignore it
    process = start(tmp_path, "fetch", NAME)
    signal.signal(signal.SIGINT, before)
    part = tmp_path / "data/small.part/downloads/ones.part"
    deadline = time.monotonic() + 60
    while not (part.is_file() and part.stat().st_size):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == f"interrupted; go on with: hiermo data fetch {NAME}"
    assert "Traceback" not in err
    held = part.stat().st_size
    assert 0 < held < len(ONES)
    assert run(tmp_path, "fetch", NAME)[0] == 0
    assert site.of("ones")[1].range == f"bytes={held}-"
    assert (tmp_path / "data/small/ones").read_bytes() == ONES


def test_import(site, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "ones").write_bytes(ONES)
    code, out, err = run(tmp_path, "import", NAME, "mine")
    assert (code, out) == (2, "")
    assert f"error: data set {NAME}: not in mine: twos; nothing was imported" in err
    assert not (tmp_path / "data/small").exists()
    (mine / "twos").write_bytes(TWOS)
    code, out, err = run(tmp_path, "import", NAME, "mine")
    assert code == 0, err
    assert out.splitlines()[0] == f"{NAME} is now in {tmp_path}/data/small"
    assert not site.asked


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["fetch"], "NAME"),
        (["import", "mnist"], "PATH"),
        (["fetsch", "mnist"], "fetsch"),
        (["fetch", "mnst"], "error: there is no dataset 'mnst'; did you mean 'mnist'"),
        (["fetch", "synthetic"], "error: data set synthetic has nothing to fetch or import: it is ready as it is"),
        (["import", "csv", "."], "error: data set csv has nothing to fetch or import: what it reads is named"),
        (["import", "mnist", "absent"], "error: data set mnist: absent does not exist"),
    ],
)
def test_wrong_words(hiermo, monkeypatch, tmp_path, words, named):
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path))
    ended = hiermo("data", *words)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
    assert "Traceback" not in ended.err


def test_help(hiermo):
    assert all(word in hiermo("data", "--help").out for word in ("fetch", "import"))
    assert all(word in hiermo("data", "fetch", "-h").out for word in ("NAME", "HIERMO_DATA", "HIERMO_MIRROR"))


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("HIERMO_DATA"), reason="HIERMO_DATA is not set")
def test_the_real_digits_from_a_mirror(tmp_path, monkeypatch):
    there = Path(os.environ["HIERMO_DATA"]) / "mnist"
    monkeypatch.setenv("HIERMO_DATA", str(tmp_path))
    with serving() as site:
        monkeypatch.setenv("HIERMO_MIRROR", site.address)
        for name in FILES:
            then = [How(cut=1000)] if "train-labels" in name else []
            site.put(f"mnist/{name}.gz", (there / f"{name}.gz").read_bytes(), *then)
        code, _, err = run(tmp_path, "fetch", "mnist")
    assert code == 0, err
    assert len(Mnist().load(tmp_path).train_y) == Mnist.samples
