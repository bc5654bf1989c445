"""The live page in a real browser, while a real run goes on."""

import subprocess
import sys
from threading import Thread
from time import monotonic

import pytest
import tomli_w

from browser import chromium_page
from cli.tiny_recipe import tiny
from hiermo.report.page.live import LiveStore
from hiermo.report.page.server import PageServer
from page_stores import TWO, trained

__all__ = ["chromium_page"]
POINTS = "(() => { const plot = document.querySelector('[id$=-plot]'); return plot?.data?.at(-1)?.x.length ?? 0; })()"

RANGE = "document.querySelector('[id$=-plot]')._fullLayout.xaxis.range"
ZOOMED = "document.querySelector('[id$=-plot]')._fullLayout.xaxis.autorange !== true"


@pytest.fixture
def served(tmp_path):
    store = tmp_path / "runs"
    store.mkdir()
    server = PageServer(LiveStore([store]))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield store, server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def opened(chromium_page, served):
    page = chromium_page.context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(served[1].address)
    page.wait_for_selector("#live:not([hidden])")
    yield page
    page.close()


def until(page, true, patience_s=60):
    """Asked from outside: the page's own policy forbids to make code out of texts, which playwright's waiting does."""
    end = monotonic() + patience_s
    while not page.evaluate(true):
        assert monotonic() < end, f"never: {true}"
        page.wait_for_timeout(50)


def test_it_grows_with_a_run_and_keeps_what_was_chosen(opened, served, tmp_path):
    store, server = served
    assert "There is no run here yet." in opened.locator("body").inner_text()
    opened.evaluate("window.loadedOnce = true")
    recipe = tmp_path / "r.toml"
    recipe.write_text(tomli_w.dumps(tiny(train={"iterations": 40_000}, evaluate={"every": 200})))
    words = [sys.executable, "-m", "hiermo", "run", str(recipe), "--out", str(store / "a")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            until(opened, f"{POINTS} > 1")
            opened.get_by_label("simulated seconds", exact=True).first.check()
            box = opened.locator("[id$=-plot] .nsewdrag").first.bounding_box()
            for move, share in ((opened.mouse.move, 0.3), (opened.mouse.move, 0.6)):  # a zoom by dragging
                move(box["x"] + share * box["width"], box["y"] + 60, steps=4)
                opened.mouse.down() if share == 0.3 else opened.mouse.up()
            opened.locator("[id$=-axis-simulated_seconds]").focus()
            opened.wait_for_timeout(100)
            first, zoomed = opened.evaluate(POINTS), opened.evaluate(RANGE)
            until(opened, f"{POINTS} > {first}")
            assert run.poll() is None, "the run ended before it was seen growing"
            assert "running" in opened.locator("body").inner_text()
        finally:
            run.terminate()
    assert opened.evaluate("window.loadedOnce") is True
    assert opened.evaluate(RANGE) == zoomed and opened.evaluate(ZOOMED), "the zoom was lost"
    assert opened.locator("[id$=-plot] .xtitle").text_content() == "simulated seconds"
    assert opened.evaluate("document.activeElement.id").endswith("-axis-simulated_seconds")
    assert "live: updated" in opened.locator("#live").inner_text()
    assert opened.said == []
    assert all(url.startswith(server.address) for url in opened.asked if not url.startswith(("data:", "blob:")))


def test_new_runs_appear_and_the_end_of_the_server_is_said(opened, served):
    store, server = served
    trained(store / "one", seeds=(0,), algorithm=TWO)
    until(opened, "document.querySelectorAll('.series input').length === 2")
    opened.get_by_label("HierMo", exact=True).uncheck()
    trained(store / "two", seeds=(0,), algorithm={"name": "HierFAVG", "label": "again", "eta": 0.01})
    until(opened, "document.querySelectorAll('.series input').length === 3")
    assert not opened.get_by_label("HierMo", exact=True).is_checked()
    assert opened.said == []
    server.shutdown()
    server.server_close()
    until(opened, "document.getElementById('live').classList.contains('gone')")
    assert "the server has stopped" in opened.locator("#live").inner_text()
    assert len(opened.said) <= 3  # the browser's own word for each request that nobody answers
