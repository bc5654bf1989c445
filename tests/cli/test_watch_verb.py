"""`hiermo watch`: on this machine alone, reading alone, ended by Ctrl-C."""

from http.client import HTTPConnection
import json
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
from threading import Thread
from time import sleep

import pytest
import tomli_w

from cli.tiny_recipe import tiny
from hiermo.report.page import live
from hiermo.report.page.live import LiveStore
from hiermo.report.page.server import PageServer
from page_stores import TWO, run_folders, trained


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("watch") / "store", algorithm=TWO)


@pytest.fixture
def served(store):
    with PageServer(LiveStore([store])) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, method="GET", **headers):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers={"Host": f"127.0.0.1:{server.port}", **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_three_things_can_be_asked_for(served):
    status, headers, page = ask(served, "/")
    assert status == 200 and b'<script src="plotly.js">' in page
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert ask(served, "/plotly.js")[0] == 200
    status, headers, body = ask(served, "/data.json")
    assert status == 200 and json.loads(body)["live"] is True
    assert ask(served, "/data.json", **{"If-None-Match": headers["ETag"]})[0] == 304
    assert ask(served, "/", "HEAD")[::2] == (200, b"")
    for path in ("/../recipe.toml", "/etc/passwd", "/data.json/", "/report.html"):
        assert ask(served, path)[0] == 404


def test_only_this_machine_and_only_reading(served):
    assert served.server_address[0] == "127.0.0.1"
    assert ask(served, "/data.json", Host="evil.example")[0] == 403
    assert ask(served, "/data.json", Host=f"evil.example:{served.port}")[0] == 403
    assert ask(served, "/data.json", Host=f"localhost:{served.port}")[0] == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, _ = ask(served, "/data.json", method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_only_what_has_changed_is_read_again(store, tmp_path, monkeypatch):
    monkeypatch.setattr(live, "LEAST_S", 0.0)
    shutil.copytree(store, tmp_path / "s")
    watched = LiveStore([tmp_path / "s"])
    first = watched.told()
    assert watched.reads == 4
    assert watched.told() is first and watched.reads == 4
    runs = run_folders(tmp_path / "s")
    line = (runs[0] / "metrics.jsonl").read_text().splitlines()[-1]
    with (runs[0] / "metrics.jsonl").open("a") as file:
        file.write(line + "\n")
    second = watched.told()
    assert watched.reads == 5 and second.tag != first.tag
    shutil.copytree(runs[0], tmp_path / "s" / "later")
    assert len(watched.told().data["experiments"][0]["runs"]) == 5
    assert watched.reads == 6
    shutil.rmtree(tmp_path / "s" / "later")
    assert len(watched.told().data["experiments"][0]["runs"]) == 4


def test_a_half_written_store_is_shown_as_far_as_it_goes(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "recipe.toml").write_text("half of")
    assert LiveStore([tmp_path]).told().data["unreadable"][0]["path"].endswith("new")


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_the_verb_reads_alone_and_ends_with_ctrl_c(store, sign):
    before = listing(store)
    words = [sys.executable, "-m", "hiermo", "watch", str(store), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", said)[1])
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/data.json")
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read()
        connection.close()
        process.send_signal(sign)
        try:
            _, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0 and "Traceback" not in err
    assert listing(store) == before


def test_a_run_that_is_watched_has_the_same_bits(tmp_path, bits, monkeypatch):
    """Asked for fifty times a second, which is far more often than a page does."""
    monkeypatch.setattr(live, "LEAST_S", 0.0)
    recipe = tmp_path / "r.toml"
    recipe.write_text(tomli_w.dumps(tiny(train={"iterations": 400, "seed": 3})))
    (tmp_path / "runs").mkdir()
    words = [sys.executable, "-m", "hiermo", "run", str(recipe), "--out", str(tmp_path / "runs" / "a")]
    watched, seen = LiveStore([tmp_path / "runs"]), set()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            sleep(0.02)
            for each in watched.told().data["experiments"]:
                seen.update(len(run["points"]["iteration"]) for series in each["series"] for run in series["runs"])
    assert process.returncode == 0
    assert len(seen) > 2, "the run was not seen growing"
    alone = trained(tmp_path / "alone", seeds=(3,), train={"iterations": 400})
    assert bits(tmp_path / "runs" / "a") == bits(alone / "s3")


def test_refusals(hiermo, served):
    assert hiermo("watch", "nowhere", "--no-browser").error == "there is no directory nowhere"
    Path("runs").mkdir()
    assert f"--port {served.port}: " in hiermo("watch", "--port", served.port, "--no-browser").error
