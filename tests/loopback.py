"""A real web server on this machine that misbehaves as told."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import os
import re
import threading
import time
from typing import Any
from urllib.parse import unquote


@dataclass
class Asked:
    """One request, and how many bytes of the file were sent for it so far."""

    path: str
    range: str | None
    if_range: str | None
    sent: int = 0


@dataclass(frozen=True, kw_only=True)
class How:
    """What is done to one request; without any of it the server does as it should."""

    status: int = 0  # this instead of the file
    location: str = ""
    cut: int | None = None  # breaks off after so many bytes
    stall: int | None = None  # falls silent after so many bytes
    pace: tuple[int, float] | None = None  # so many bytes, then a pause of seconds
    ranges: bool = True
    length: bool = True
    tag: bool = True
    content: bytes | None = None  # instead of the file
    content_range: str = ""  # instead of the right one
    chunked: bool = False


@dataclass
class Site:
    """The files of the server, what will happen to the next requests for each, and what was asked so far."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    next: dict[str, deque[How]] = field(default_factory=dict)
    always: dict[str, How] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        return f"{self.address}/{path}"

    def put(self, path: str, content: bytes, *then: How, always: How | None = None) -> str:
        self.files[path] = content
        self.next[path] = deque(then)
        self.always[path] = always or How()
        return self.url(path)

    def how(self, path: str) -> How:
        coming = self.next.get(path)
        return coming.popleft() if coming else self.always.get(path, How())

    def of(self, path: str) -> list[Asked]:
        return [each for each in self.asked if each.path == path]


class Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, *words: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(self.path).lstrip("/")
        how = self.site.how(path)
        asked = Asked(path, self.headers.get("Range"), self.headers.get("If-Range"))
        self.site.asked.append(asked)
        with suppress(OSError):  # the client has gone
            for block in self._answer(path, how):
                asked.sent += len(block)  # before it is written, or the client could be done before
                self.wfile.write(block)

    def _answer(self, path: str, how: How) -> Iterator[bytes]:
        content = how.content if how.content is not None else self.site.files.get(path)
        if how.status or content is None:
            self.send_response(how.status or 404)
            if how.location:
                self.send_header("Location", how.location)
            self.end_headers()
            return
        tag = f'"{hashlib.md5(content).hexdigest()}"'
        start = self._start(how, tag)
        if start >= len(content) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            right = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.send_header("Content-Range", how.content_range or right)
        if how.length and not how.chunked:
            self.send_header("Content-Length", str(len(content) - start))
        if how.tag:
            self.send_header("ETag", tag)
        if how.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        yield from self._body(content[start:], how)

    def _start(self, how: How, tag: str) -> int:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if not asked or not how.ranges or self.headers.get("If-Range", tag) != tag:
            return 0
        return int(asked[1])

    def _body(self, body: bytes, how: How) -> Iterator[bytes]:
        if how.chunked:
            self.wfile.write(b"%x\r\n" % len(body))  # and no more than that many, if it is cut
        if how.pace:
            size, pause = how.pace
            for at in range(0, len(body), size):
                yield body[at : at + size]
                time.sleep(pause)
        elif how.stall is not None:
            yield body[: how.stall]
            self.site.open.wait(30)
        else:
            yield body[: how.cut]
        if how.chunked and how.cut is None:
            self.wfile.write(b"\r\n0\r\n\r\n")


@contextmanager
def serving() -> Iterator[Site]:
    before = os.environ.get("no_proxy")
    os.environ["no_proxy"] = "127.0.0.1"
    site = Site("")
    handler: Callable[..., Handler] = type("Bound", (Handler,), {"site": site, "protocol_version": "HTTP/1.1"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        site.open.set()
        server.shutdown()
        server.server_close()
        thread.join()
        os.environ.pop("no_proxy")
        os.environ.update({"no_proxy": before} if before is not None else {})
