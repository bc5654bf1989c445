"""The site that `make docs` builds: whole, without warnings, and without a request to anyone else."""

from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
import os
from pathlib import Path
import re
import subprocess
import sys
from threading import Thread
from urllib.parse import unquote, urlsplit

from page_blocks import ROOT
import pytest

from browser import chromium_page  # noqa: F401  # a fixture

LOOKED_AT = (
    "index.html",
    "start.html",
    "concepts.html",
    "recipe.html",
    "command-line.html",
    "reference.html",
    "theory.html",
    "performance.html",
    "algorithms/HierMo.html",
    "reproduction/hieropt.html",
)
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        folder,
    ]  # quiet, it would not be strict
    # no proxy leads anywhere: whatever wanted to fetch something would fail
    alone = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **alone, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


class Page(HTMLParser):
    """What a page links to, what it fetches by itself, and the anchors in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = {""}
        self.styles = ""
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        self.anchors |= {said[key] for key in ("id", "name") if said.get(key)}
        self.styles += said.get("style") or ""
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])
        elif FETCHED.get(tag) in said and said.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(said[FETCHED[tag]])


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {file: Page(file) for file in site.rglob("*.html")}


def test_nothing_is_fetched_from_elsewhere(site, pages):
    for file, page in pages.items():
        outside = [each for each in page.fetched if "//" in each.split("?")[0] and not each.startswith("data:")]
        assert not outside, f"{file}: {outside}"
        assert "url(" not in page.styles
    for sheet in site.rglob("*.css"):
        asked = re.findall(r"(?:@import\s*|url\()[\"']?(?:https?:)?//[^\"')]*", sheet.read_text(encoding="utf-8"))
        assert not asked, f"{sheet}: {asked}"


def test_every_link_leads_somewhere(site, pages):
    known = {file.resolve(): page.anchors for file, page in pages.items()}
    for file, page in pages.items():
        if file.name == "404.html":
            continue  # it does not know where it is: its links are from the root of a server
        for link in (*page.links, *page.fetched):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data", "mailto"):
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file.resolve()
            if target.is_dir():
                target /= "index.html"
            assert target.is_file(), f"{file.relative_to(site)}: {link}"
            anchor = unquote(parts.fragment)
            assert not anchor or anchor in known.get(target, {anchor}), f"{file.relative_to(site)}: {link}"


def test_no_source_is_left_in_it(site):
    assert not [file for file in site.rglob("*") if file.suffix in (".py", ".toml", ".txt", ".md")]


@pytest.fixture(scope="module")
def address(site) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Visit:
    """A fresh page, what it asks for, and what it complains of."""

    def __init__(self, page):
        self.page, self.asked, self.said = page, [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.said.append(message.text) if message.type in COMPLAINTS else None)
        page.on("pageerror", lambda error: self.said.append(str(error)))

    def check(self, home: str) -> None:
        assert self.said == []
        assert [url for url in self.asked if not url.startswith((home, "data:", "about:"))] == []


COMPLAINTS = ("error", "warning")


@pytest.fixture
def visit(chromium_page):  # noqa: F811
    """Makes visits; what one of them chose, as dark or light, the next does not know."""
    made = []

    def begin(width: int = 1400, scheme: str = "light") -> Visit:
        viewport = {"width": width, "height": 800}
        made.append(chromium_page.context.browser.new_context(viewport=viewport, color_scheme=scheme))
        return Visit(made[-1].new_page())

    yield begin
    for context in made:
        context.close()


@pytest.mark.parametrize(("width", "scheme", "shown"), [(360, "dark", "slate"), (1400, "light", "default")])
def test_pages_open_without_a_complaint_and_fit(visit, address, width, scheme, shown):
    visited = visit(width, scheme)
    page = visited.page
    for name in LOOKED_AT:
        page.goto(address + name, wait_until="load")
        assert page.locator("h1").count() == 1, name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)") == [], name
        assert page.evaluate("document.body.dataset.mdColorScheme") == shown
    visited.check(address)


@pytest.mark.parametrize("place", ["server", "disk"])
def test_the_search_finds(visit, address, site, place):
    home = address if place == "server" else f"{site.as_uri()}/"
    visited = visit()
    page = visited.page
    page.goto(f"{home}index.html")
    page.locator("input[name=query]").click()
    page.keyboard.type("dirichlet", delay=20)
    page.locator(".md-search-result__link[href*='#dirichlet']").first.click(timeout=15000)
    page.wait_for_url("**/non-iid.html?h=dirichlet#dirichlet", wait_until="commit")
    visited.check(home)
